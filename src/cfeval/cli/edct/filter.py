"""Let a model decide which candidate questions are likely to draw an explanation that describes the image."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from cfeval.cli.common import Offline, Out, PromptFolder, SamplesFile, Seed, build, heed, sound
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.records.curation import Decision
from cfeval.records.edct import Sample
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
    total, chat = sound(samples, Sample), build("chat", model, "--model")
    made = decisions(read_jsonl(samples, Sample), chat, prompts, seed)
    fates: Counter[tuple[int | None, str]] = Counter()
    write_jsonl(out, _counting(track(made, total, "filter"), fates))
    print(f"{_told(fates)}; decisions in {out}")


def _counting(decisions: Iterable[Decision], fates: Counter[tuple[int | None, str]]) -> Iterator[Decision]:
    for decision in decisions:
        fates[decision.keep, decision.status.value] += 1
        yield decision


def _told(fates: Counter[tuple[int | None, str]]) -> str:
    kept, left = (sum(n for (keep, _), n in fates.items() if keep == fate) for fate in (1, 0))
    why = {status: n for (keep, status), n in sorted(fates.items(), key=str) if keep is None}
    reasons = f" ({', '.join(f'{status} {n}' for status, n in why.items())})" if why else ""
    undecided = sum(why.values())
    return f"{fates.total()} candidates: {kept} kept, {left} left out, {undecided} undecided{reasons}"
