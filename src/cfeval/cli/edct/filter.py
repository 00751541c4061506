"""Let a model decide which candidate questions are likely to draw an explanation that describes the image."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from cfeval.cli.common import Offline, Out, PromptFolder, SamplesFile, Seed, build, heed, samples_by_id
from cfeval.io.progress import track
from cfeval.io.records import write_jsonl
from cfeval.records.curation import Decision
from cfeval.studies.edct.filtering import decisions


def run(
    samples: SamplesFile,
    model: Annotated[str, typer.Option(help="The chat model that decides, as JSON: its backend and options.")],
    seed: Seed,
    out: Out,
    prompts: PromptFolder = "",
    offline: Offline = False,
) -> None:
    """Let a model decide which candidate questions are likely to draw an explanation that describes the image.

    It sees the question alone. Every candidate gets a line with the decision and the reason; one that the model failed
    at is undecided and says why. People may overrule it: see `cfeval edct select`.
    """
    heed(offline)
    candidates = samples_by_id(samples).values()
    chat = build("chat", model, "--model")
    made = decisions(candidates, chat, prompts, seed)
    decided = list(track(made, len(candidates), "filter"))
    write_jsonl(out, decided)
    print(f"{_counted(decided)}; decisions in {out}")


def _counted(decided: Sequence[Decision]) -> str:
    keep = Counter(decision.keep for decision in decided)
    why = Counter(decision.status.value for decision in decided if decision.keep is None)
    reasons = f" ({', '.join(f'{status} {n}' for status, n in sorted(why.items()))})" if why else ""
    return f"{len(decided)} candidates: {keep[1]} kept, {keep[0]} left out, {keep[None]} undecided{reasons}"
