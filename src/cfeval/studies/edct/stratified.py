"""Curation: a set of items from the candidates that were kept, stratified, with a seed.

Whether a candidate is taken depends on the candidates, the seed and the settings, never on the order of a file. Each
step draws with a seed of its own: whoever comes first in one draw would come first in the next.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Literal

from cfeval.errors import InputError
from cfeval.io.selection import drawn
from cfeval.records.edct import Sample
from cfeval.seeds import derive
from cfeval.studies.edct.candidates import Fates

By = Literal["kind", "reference", "none"]
"""The field of a sample that its stratum is named after; none: all are in one."""


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
    return drawn(taken, derive(plan.seed, "order"), plan.items), strata


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
    seed = derive(plan.seed, "image")
    return {item for items in by_image.values() for item in drawn(items, seed, plan.per_image)}


def _stratum(sample: Sample, by: By) -> str:
    return "" if by == "none" else str(getattr(sample, by))
