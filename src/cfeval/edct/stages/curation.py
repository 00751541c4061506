"""Curation: a model decides about every candidate question, then a set of items is taken from those that were kept.

EDCT 2025, Section 4, takes "questions likely to elicit descriptive NLEs", chosen by hand; here a model chooses, by
whether an explanation of the answer will describe what the image shows, and people may overrule it.

The selection is stratified, with a seed, and frozen by hash. Whether a candidate is taken depends on the candidates,
the seed and the settings, never on the order of a file. Each step draws with a seed of its own: whoever comes first in
one draw would come first in the next.
"""

import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import BaseModel, ConfigDict, Field, model_validator
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text as RichText

from cfeval.core.cli_options import Out, PromptFolder, Seed, build, count_valid_records
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv, read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Binary, ItemId, Record, Sha256, StageResult, failure
from cfeval.core.sampling import derive_seed, drawn
from cfeval.datasets.sample import Sample, SamplesFile, content_hash, originals, write_set
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
    parsed = [decision for *_, decision in json_objects(text, Judged)] + text_groups(text, Judged)
    return parsed[-1] if len({decision.keep for decision in parsed}) == 1 else None


# A reply; the reason comes first, so that the decision follows from it.
SCHEMA = object_schema(reason={"type": "string"}, keep={"type": "integer", "minimum": 0, "maximum": 1})
FORM = PromptTemplate("curation", "filter", ("question",), SCHEMA, read_decision)
BATCH = 256


def decisions(samples: Iterable[Sample], model: ChatModel, prompts: str, seed: int) -> Iterator[Decision]:
    """Decide about every candidate, in order; where the model fails, the candidate is undecided and says why.

    `prompts` is a folder of the user's own templates; empty: the package's.
    """
    form = prompt(FORM, prompts)

    async def decide(sample: Sample) -> ParsedReply[Judged]:
        own = derive_seed(seed, sample.id, "filter")
        return await generate_parsed(model, form, sample.id, {"question": sample.question}, own)

    for sample, parsed in map_requests(samples, lambda sample: sample, decide, BATCH):
        if parsed.value is None:
            fields = failure(parsed.status, "filter", parsed.reason)
        else:
            fields = {"keep": parsed.value.keep, "why": " ".join(parsed.value.reason.split())}
        replied = {"completion": parsed.completion, "calls": parsed.calls}
        yield Decision(id=sample.id, question=sample.question, **replied, **fields)


def run_curation(
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
    counts: Counter[tuple[int | None, str]] = Counter()

    def counted() -> Iterator[Decision]:
        for decision in track(decisions(read_jsonl(samples, Sample), chat, prompts, seed), total, "filter"):
            counts[decision.keep, decision.status.value] += 1
            yield decision

    write_jsonl(out, counted())
    kept, left = (sum(n for (keep, _), n in counts.items() if keep == fate) for fate in (1, 0))
    why = {status: n for (keep, status), n in sorted(counts.items(), key=str) if keep is None}
    reasons = f" ({', '.join(f'{status} {n}' for status, n in why.items())})" if why else ""
    fate = f"{kept} kept, {left} left out, {sum(why.values())} undecided{reasons}"
    print(f"{counts.total()} candidates: {fate}; decisions in {out}")


# The field of a sample that its stratum is named after; none: all are in one.
By = Literal["kind", "reference", "none"]
COLUMNS = ("there", "undecided", "kept", "free", "taken")


@dataclass(frozen=True)
class Fates:
    """The ids of the candidates that are kept, and of those that nobody decided about; the others are left out."""

    kept: frozenset[str]
    undecided: frozenset[str]


@dataclass(frozen=True)
class Plan:
    """How items are taken.

    `equal`: as many of each stratum, as far as it has them; else in proportion to what each has. `per_image`: at most
    so many questions about one image; 0: as many as there are.
    """

    items: int
    seed: int
    by: By = "kind"
    equal: bool = False
    per_image: int = 0


@dataclass(frozen=True)
class Stratum:
    """What became of the candidates of a stratum; `free` are those kept that `per_image` leaves."""

    name: str
    there: int
    undecided: int
    kept: int
    free: int
    taken: int


def fates(
    candidates: Mapping[str, Sample], decisions: Iterable[Decision] | None, overrides: Iterable[Override] = ()
) -> Fates:
    """What was decided about every candidate; where a person and the model differ, the person is right.

    Args:
        decisions: the model's, one a candidate; without them all are kept.
        overrides: people's.

    Raises:
        InputError: a decision is missing, or one is about no candidate or twice about the same.
    """
    keep: dict[str, bool | None] = dict.fromkeys(candidates, True)
    if decisions is not None:
        keep = _decided(candidates, decisions)
    seen: set[str] = set()
    for override in overrides:
        if override.id not in candidates:
            raise InputError(f"overrides: no candidate '{override.id}'; correct the id or take the line out")
        if override.id in seen:
            raise InputError(f"overrides: '{override.id}' stands there twice; agree on one line")
        seen.add(override.id)
        keep[override.id] = override.keep
    kept, undecided = (frozenset(item for item in keep if keep[item] is fate) for fate in (True, None))
    return Fates(kept, undecided)


def _decided(candidates: Mapping[str, Sample], decisions: Iterable[Decision]) -> dict[str, bool | None]:
    keep: dict[str, bool | None] = {}
    for decision in decisions:
        if decision.id not in candidates or decision.question != candidates[decision.id].question:
            raise InputError(
                f"decisions: '{decision.id}' is no candidate, or its question is another one now; "
                "run the filter on these candidates"
            )
        if decision.id in keep:
            raise InputError(f"decisions: '{decision.id}' stands there twice; run the filter again")
        keep[decision.id] = None if decision.keep is None else bool(decision.keep)
    missing = [item for item in candidates if item not in keep]
    if missing:
        raise InputError(
            f"decisions: none about '{min(missing)}' ({len(missing)} of {len(candidates)} candidates have none); "
            "run the filter on these candidates"
        )
    return keep


def select(candidates: Mapping[str, Sample], fate: Fates, plan: Plan) -> tuple[list[str], list[Stratum]]:
    """Take items; their ids in an order that the seed draws, and what became of every stratum, by name; InputError
    where fewer are left than are wanted.
    """
    free = set(fate.kept)
    if plan.per_image:
        by_image: dict[str, list[str]] = {}
        for item in fate.kept:
            by_image.setdefault(candidates[item].image.sha256, []).append(item)
        seed = derive_seed(plan.seed, "image")
        free = {item for items in by_image.values() for item in drawn(items, seed, plan.per_image)}
    names = sorted({_stratum(sample, plan.by) for sample in candidates.values()})
    inside = {name: {i for i, s in candidates.items() if _stratum(s, plan.by) == name} for name in names}
    if len(free) < plan.items:
        raise InputError(
            f"{len(free)} of {len(candidates)} candidates can be taken, {plan.items} are wanted; "
            "take fewer items, more candidates, or more questions an image"
        )
    shares = allot(plan.items, {name: len(inside[name] & free) for name in names}, plan.equal)
    taken = {item for name in names for item in drawn(inside[name] & free, plan.seed, shares[name])}
    strata = [
        Stratum(name, len(ids), len(ids & fate.undecided), len(ids & fate.kept), len(ids & free), len(ids & taken))
        for name, ids in inside.items()
    ]
    return drawn(taken, derive_seed(plan.seed, "order"), plan.items), strata


def allot(items: int, sizes: Mapping[str, int], equal: bool = False) -> dict[str, int]:
    """How many of each stratum are taken, by the method of largest remainders; of equal ones the first by name gains.

    A stratum that has fewer than its share gives all it has, and the others share what is missing.

    Args:
        equal: every stratum's share is the same; else it follows its size.
    """
    shares: dict[str, int] = {name: 0 for name, size in sizes.items() if not size}
    open_ = {name: size for name, size in sizes.items() if size}
    while open_:
        weights = dict.fromkeys(open_, 1) if equal else open_
        left, total = items - sum(shares.values()), sum(weights.values())
        quotas = {name: Fraction(left * weight, total) for name, weight in weights.items()}
        full = {name: size for name, size in open_.items() if quotas[name] >= size}
        if not full:
            whole = {name: floor(quota) for name, quota in quotas.items()}
            by_remainder = sorted(quotas, key=lambda name: (whole[name] - quotas[name], name))
            gains = set(by_remainder[: left - sum(whole.values())])
            return shares | {name: count + (name in gains) for name, count in whole.items()}
        shares |= full
        open_ = {name: size for name, size in open_.items() if name not in full}
    return shares


def _stratum(sample: Sample, by: By) -> str:
    return "" if by == "none" else str(getattr(sample, by))


def run_selection(
    samples: SamplesFile,
    items: Annotated[int, typer.Option(min=1, help="How many to take.")],
    seed: Seed,
    out: Out,
    decisions: Annotated[
        Path | None,
        typer.Option(help="What `cfeval edct curation` decided (JSONL); without it all candidates are kept."),
    ] = None,
    overrides: Annotated[
        Path | None, typer.Option(help="What people decided instead (CSV: id, keep, reason, who).")
    ] = None,
    by: Annotated[By, typer.Option(help="The field of a sample that strata are made by.")] = "kind",
    equal: Annotated[
        bool, typer.Option("--equal", help="As many of each stratum, instead of in proportion to its size.")
    ] = False,
    per_image: Annotated[int, typer.Option(min=0, help="At most so many questions about an image; 0: any.")] = 0,
) -> None:
    """Take a set of items from the candidates, stratified and with a seed, and freeze it by hash.

    OUT lists the ids, each with the SHA-256 of its question, image and right answer; give it to a dataset's option
    `ids`. The table says of every stratum how many candidates are there, undecided and kept, how many of the kept ones
    --per-image leaves free, and how many are taken. A stratum with fewer than its share gives all, the others make up
    for it. The order of files does not matter.
    """
    candidates = {sample.id: sample for sample in read_jsonl(samples, Sample)}
    decided = None if decisions is None else read_jsonl(decisions, Decision)
    fate = fates(candidates, decided, read_csv(overrides, Override) if overrides else ())
    taken, strata = select(candidates, fate, Plan(items, seed, by, equal, per_image))
    image_of = originals(samples)
    write_set(out, {item: content_hash(candidates[item], image_of(candidates[item])) for item in taken})
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("all" if by == "none" else by)
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for stratum in strata:
        table.add_row(RichText(stratum.name or "(none)"), *(str(getattr(stratum, column)) for column in COLUMNS))
    table.add_section()
    table.add_row("sum", *(str(sum(getattr(stratum, column) for stratum in strata)) for column in COLUMNS))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    print(f"{len(taken)} items frozen in {out} (SHA-256 {hashlib.sha256(out.read_bytes()).hexdigest()})")
