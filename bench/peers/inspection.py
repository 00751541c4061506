"""An inspect-ai task with `max_connections` at once; a log of an earlier run that was cut off is retried.

Two turns: the solvers that come with it. `--variant samples` lets all items be open at once (`max_samples`), as many
calls at once as before. The study: a solver of six calls, each with inspect's cache, which is keyed on the messages,
the model and its settings.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from inspect_ai import Task, eval, eval_retry, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from inspect_ai.model import (
    CachePolicy,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver, user_message
from work import JUDGE, TOKENS, VLM, WHY, WRITE, WRITER, items, judging, leave, options

CONFIG = GenerateConfig(max_tokens=TOKENS, seed=1)
FOREVER = CachePolicy(expiry=None)


@task
def two_turns(file: str) -> Task:
    """The question, then the reason in the same conversation."""
    return Task(dataset=dataset(file), solver=[generate(), user_message(WHY), generate()], config=CONFIG)


@task
def study(file: str, prompt: str) -> Task:
    """Six calls an item."""
    return Task(dataset=dataset(file), solver=six_calls(prompt), config=CONFIG)


def dataset(file: str) -> MemoryDataset:
    """The items."""

    def sample(item: object) -> Sample:
        known = vars(item)
        asked = [ChatMessageUser(content=[ContentImage(image=known["image"]), ContentText(text=known["question"])])]
        return Sample(id=known["id"], input=list(asked), metadata={k: known[k] for k in ("edited", "question")})

    return MemoryDataset([sample(item) for item in items(Path(file))])


@solver
def six_calls(prompt: str) -> Solver:
    """Both turns, the instruction, both turns on the edited image, the verdict."""

    async def say(model: str, messages: str | Sequence[ChatMessageUser]) -> str:
        return (await get_model(named(model), config=CONFIG).generate(messages, cache=FOREVER)).completion

    async def turns(state: TaskState, image: str) -> tuple[str, str]:
        model = get_model()
        shown: list[Content] = [ContentImage(image=image), ContentText(text=state.metadata["question"])]
        talk = [ChatMessageUser(content=shown)]
        answer: ModelOutput = await model.generate(talk, cache=FOREVER)
        why = await model.generate([*talk, answer.message, ChatMessageUser(content=WHY)], cache=FOREVER)
        return answer.completion, why.completion

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate  # the models are asked directly, each with the cache
        before, explanation = await turns(state, state.user_prompt.content[0].image)
        state.store.set("instruction", await say(WRITER, WRITE + explanation))
        after, _ = await turns(state, state.metadata["edited"])
        state.store.set("verdict", await say(JUDGE, judging(prompt, explanation, before, after)))
        return state

    return solve


def named(model: str) -> str:
    """A model behind an OpenAI-compatible server, as inspect names it."""
    return f"openai-api/loopback/{model}"


def row(sample: object) -> dict[str, str]:
    """What an item came to."""
    said = [message.text for message in sample.messages if message.role == "assistant"]
    return {"id": str(sample.id), "said": "\n".join(said), "verdict": str(sample.store.get("verdict", ""))}


def main() -> None:
    """Do the work."""
    given = options()
    os.environ |= {"LOOPBACK_BASE_URL": given.base_url, "LOOPBACK_API_KEY": "none"}
    logs = str(given.state / "logs")
    rules = {"max_connections": given.at_once, "display": "none", "log_dir": logs}
    if given.variant == "samples":
        rules["max_samples"] = 10_000
    cut_off = [log for log in list_eval_logs(logs) if read_eval_log(log, header_only=True).status != "success"]
    if cut_off:
        ended: list[EvalLog] = eval_retry(cut_off[0], **rules)
    elif given.work == "turns":
        ended = eval(two_turns(str(given.items)), model=named(VLM), **rules)
    else:
        ended = eval(study(str(given.items), given.judge.read_text(encoding="utf-8")), model=named(VLM), **rules)
    if ended[0].status != "success":
        raise SystemExit(f"inspect: {ended[0].status}: {ended[0].error}")
    leave(given.out, (row(sample) for sample in read_eval_log(ended[0].location).samples or ()))


if __name__ == "__main__":
    main()
