"""Curation, second: a set of items from the candidates that were kept, stratified, with a seed, and frozen by hash.

What a model decided about candidates holds where no person overrules it. Whether a candidate is taken depends on the
candidates, the seed and the settings, never on the order of a file. Each step draws with a seed of its own: whoever
comes first in one draw would come first in the next.
"""

import hashlib
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cfeval.core.cli_options import Out, Seed
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv, read_jsonl
from cfeval.core.sampling import derive_seed, drawn
from cfeval.datasets.sample import Sample, SamplesFile, content_hash, originals, write_set
from cfeval.edct.stages.curation import Decision, Override

By = Literal["kind", "reference", "none"]
"""The field of a sample that its stratum is named after; none: all are in one."""
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
        candidates: by id.
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
    """Take items; their ids in an order that the seed draws, and what became of every stratum, by name.

    Raises:
        InputError: fewer are left than are wanted.
    """
    free = _thinned(candidates, fate.kept, plan)
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
        items: at most the sum of the sizes.
        sizes: how many each stratum has.
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
            return shares | _rounded(quotas, left)
        shares |= full
        open_ = {name: size for name, size in open_.items() if name not in full}
    return shares


def _rounded(quotas: Mapping[str, Fraction], total: int) -> dict[str, int]:
    whole = {name: floor(quota) for name, quota in quotas.items()}
    by_remainder = sorted(quotas, key=lambda name: (whole[name] - quotas[name], name))
    gains = set(by_remainder[: total - sum(whole.values())])
    return {name: count + (name in gains) for name, count in whole.items()}


def _thinned(candidates: Mapping[str, Sample], kept: Collection[str], plan: Plan) -> set[str]:
    """Of every image at most `per_image` questions."""
    if not plan.per_image:
        return set(kept)
    by_image: dict[str, list[str]] = {}
    for item in kept:
        by_image.setdefault(candidates[item].image.sha256, []).append(item)
    seed = derive_seed(plan.seed, "image")
    return {item for items in by_image.values() for item in drawn(items, seed, plan.per_image)}


def _stratum(sample: Sample, by: By) -> str:
    return "" if by == "none" else str(getattr(sample, by))


def run(
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
    said = None if decisions is None else read_jsonl(decisions, Decision)
    fate = fates(candidates, said, read_csv(overrides, Override) if overrides else ())
    taken, strata = select(candidates, fate, Plan(items, seed, by, equal, per_image))
    image_of = originals(samples)
    write_set(out, {item: content_hash(candidates[item], image_of(candidates[item])) for item in taken})
    _show(strata, "all" if by == "none" else by)
    print(f"{len(taken)} items frozen in {out} (SHA-256 {hashlib.sha256(out.read_bytes()).hexdigest()})")


def _show(strata: Sequence[Stratum], field: str) -> None:
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column(field)
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for stratum in strata:
        table.add_row(Text(stratum.name or "(none)"), *(str(getattr(stratum, column)) for column in COLUMNS))
    table.add_section()
    table.add_row("sum", *(str(sum(getattr(stratum, column) for stratum in strata)) for column in COLUMNS))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
