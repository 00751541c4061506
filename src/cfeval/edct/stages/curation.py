"""Curation, first: a model decides about every candidate question whether it suits the study.

EDCT 2025, Section 4, takes "questions likely to elicit descriptive NLEs", chosen by hand; here a model chooses, by
whether an explanation of the answer will describe what the image shows, and people may overrule it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field, model_validator

from cfeval.core.cli_options import Out, PromptFolder, Seed, build, count_valid_records
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Binary, ItemId, Record, Sha256, StageResult, failure
from cfeval.core.sampling import derive_seed
from cfeval.datasets.sample import Sample, SamplesFile
from cfeval.inference.batching import map_requests
from cfeval.inference.chat import ChatModel
from cfeval.inference.parsing import Text, json_objects, object_schema, text_groups
from cfeval.inference.prompts import ParsedReply, PromptTemplate, generate_parsed, prompt
from cfeval.inference.remote.settings import Offline, use_offline_cache


class Decision(StageResult):
    """What a model decided about a candidate (decisions.jsonl); one that failed is undecided."""

    id: ItemId
    question: str
    """The question that was decided about."""
    keep: Binary | None = None
    """1: likely to draw an explanation that describes visible evidence. None: undecided."""
    why: str = ""
    """The model's reason, in one line."""
    completion: str = ""
    """Its reply as it came."""
    calls: tuple[Sha256, ...] = ()

    @model_validator(mode="after")
    def _decided_when_ok(self) -> "Decision":
        if (self.status == "ok") != (self.keep is not None):
            raise ValueError("a decision is there when, and only when, the status is ok")
        return self


class Override(Record):
    """What a person decided about a candidate, whatever the model said (overrides.csv)."""

    id: ItemId
    keep: bool
    """yes or no, 1 or 0."""
    reason: str = Field(min_length=1)
    who: str = Field(min_length=1)


class Judged(BaseModel):
    """A decision and its reason."""

    model_config = ConfigDict(frozen=True)

    reason: Text
    keep: Binary


def read_decision(text: str) -> Judged | None:
    """The decision of a reply: JSON, or lines `Reason:` and `Keep:`; None where there is none or several differ."""
    found = [one for *_, one in json_objects(text, Judged)] + text_groups(text, Judged)
    return found[-1] if len({one.keep for one in found}) == 1 else None


SCHEMA = object_schema(reason={"type": "string"}, keep={"type": "integer", "minimum": 0, "maximum": 1})
"""A reply; the reason comes first, so that the decision follows from it."""
FORM = PromptTemplate("curation", "filter", ("question",), SCHEMA, read_decision)
BATCH = 256


def decisions(samples: Iterable[Sample], model: ChatModel, prompts: str, seed: int) -> Iterator[Decision]:
    """Decide about every candidate, in order; where the model fails, the candidate is undecided and says why.

    `prompts` is a folder of the user's own templates; empty: the package's.
    """
    asked = prompt(FORM, prompts)

    async def decide(sample: Sample) -> ParsedReply[Judged]:
        own = derive_seed(seed, sample.id, "filter")
        return await generate_parsed(model, asked, sample.id, {"question": sample.question}, own)

    for sample, heard in map_requests(samples, lambda sample: sample, decide, BATCH):
        yield _decision(sample, heard)


def _decision(sample: Sample, heard: ParsedReply[Judged]) -> Decision:
    said = {"id": sample.id, "question": sample.question, "completion": heard.completion, "calls": heard.calls}
    if heard.value is None:
        return Decision(**said, **failure(heard.status, "filter", heard.reason))
    return Decision(**said, keep=heard.value.keep, why=" ".join(heard.value.reason.split()))


def run(
    samples: SamplesFile,
    model: Annotated[str, typer.Option(help="The chat model that decides, as JSON: its plugin and options.")],
    seed: Seed,
    out: Out,
    prompts: PromptFolder = "",
    offline: Offline = False,
) -> None:
    """Let a model decide which candidate questions are likely to draw an explanation that describes the image.

    It sees the question alone. Every candidate gets a line with the decision and the reason; one that the model failed
    at is undecided and says why. People may overrule it: see `cfeval edct selection`.
    """
    use_offline_cache(offline)
    total, chat = count_valid_records(samples, Sample), build("chat", model, "--model")
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
