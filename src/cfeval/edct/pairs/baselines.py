"""Conversations about given pairs with a target that gives log-probabilities: those of each answer are kept.

They are the turns of `cfeval.edct.stages.baselines`. A target that gives none is asked by that stage.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cfeval.core.cli_options import Out, PromptFolder, Seed, build, count_valid_records
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.datasets.sample import Sample, SamplesFile, originals
from cfeval.edct.files import VlmSpec, WordingOption, conversation_prompts
from cfeval.edct.pairs.records import PairBaseline
from cfeval.edct.stages.baselines import Prompts, baselines
from cfeval.inference.chat import ChatModel, ChatReply, ChatRequest, ScoredReply
from cfeval.inference.remote.settings import Offline, use_offline_cache

DECIMALS = 6
"""Of log-probabilities in records."""


class Listening:
    """A model of which the beginnings of its first replies are kept, by item."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.heard: dict[str, dict[str, Any]] = {}

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Answer a request."""
        reply = await self.model.generate(request)
        if len(request.turns) == 1 and isinstance(reply, ScoredReply):
            logprobs = {token: round(logprob, DECIMALS) for token, logprob in reply.beginnings}
            self.heard[request.item] = {"first_token": reply.first_token, "logprobs": logprobs}
        return reply


def pair_baselines(
    samples: Iterable[Sample], image_of: Callable[[Sample], Image], model: ChatModel, prompts: Prompts, seed: int
) -> Iterator[PairBaseline]:
    """Ask every question and its reason, in order; see `cfeval.edct.stages.baselines.baselines`."""
    listening = Listening(model)
    for said in baselines(samples, image_of, listening, prompts, seed):
        yield PairBaseline(**said.model_dump(), **listening.heard.pop(said.id, {}))


def run(
    samples: SamplesFile,
    vlm: VlmSpec,
    seed: Seed,
    out: Out,
    prompts: PromptFolder = "",
    wording: WordingOption = "a",
    offline: Offline = False,
) -> None:
    """Ask a target model about both images of given pairs, and keep the log-probabilities of its answers."""
    use_offline_cache(offline)
    total = count_valid_records(samples, Sample)
    model = build("chat", vlm, "--vlm")
    told = Prompts(*conversation_prompts(prompts, wording))
    said = pair_baselines(read_jsonl(samples, Sample), originals(samples), model, told, seed)
    write_jsonl(out, track(said, total, "pair_baselines"))
