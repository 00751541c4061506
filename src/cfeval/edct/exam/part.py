"""A part of an exam: the kinds in proportion, at least one case of each, drawn by seed."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from cfeval.core.errors import InputError
from cfeval.core.sampling import derive_seed


class Case(Protocol):
    """A case of an exam."""

    @property
    def id(self) -> str:
        """Its id, unique."""

    @property
    def kind(self) -> str:
        """Its kind."""


C = TypeVar("C", bound=Case)


def stratified(cases: Sequence[C], count: int | None, seed: int, gold: Callable[[C], int]) -> list[C]:
    """A part of the cases, in their order: kinds in proportion, at least one of each, and gold scores within a kind.

    The same cases, count and seed give the same part.

    Args:
        cases: all of them.
        count: how many are wanted; None: all.
        seed: of the draw.
        gold: the gold score of a case, so that both scores stay in proportion within a kind.

    Raises:
        InputError: fewer are wanted than there are kinds, or more than there are cases.
    """
    if count is None:
        return list(cases)
    sizes = Counter(case.kind for case in cases)
    if not len(sizes) <= count <= len(cases):
        raise InputError(
            f"--cases: {count} cases, but the exam has {len(cases)} of {len(sizes)} kinds and takes at least one of "
            f"each; give a number from {len(sizes)} to {len(cases)}, or leave it out for all"
        )
    quota = _quota(sizes, count)
    taken: set[str] = set()
    for kind in sizes:
        ranked = _interleaved([case for case in cases if case.kind == kind], seed, gold)
        taken |= {case.id for case in ranked[: quota[kind]]}
    return [case for case in cases if case.id in taken]


def _quota(sizes: Counter[str], count: int) -> dict[str, int]:
    """How many cases of each kind: one, and the rest by largest remainders of what is due beyond it."""
    total = sizes.total()
    due = {kind: max(count * size / total, 1.0) for kind, size in sizes.items()}
    quota = {kind: math.floor(value) for kind, value in due.items()}
    by_remainder = sorted(due, key=lambda kind: (quota[kind] - due[kind], kind))
    while (left := count - sum(quota.values())) != 0:
        step = 1 if left > 0 else -1
        order = by_remainder if step > 0 else by_remainder[::-1]
        able = [kind for kind in order if 1 <= quota[kind] + step <= sizes[kind]]
        for kind in able[: abs(left)]:
            quota[kind] += step
    return quota


def _interleaved(cases: Sequence[C], seed: int, gold: Callable[[C], Any]) -> list[C]:
    """The cases of a kind in an order of which every beginning holds each gold score about in proportion."""
    drawn = sorted(cases, key=lambda case: derive_seed(seed, "exam part", case.id))
    sizes, seen = Counter(map(gold, drawn)), Counter[Any]()
    placed: list[tuple[float, int, C]] = []
    for case in drawn:
        placed.append(((seen[gold(case)] + 0.5) / sizes[gold(case)], len(placed), case))
        seen[gold(case)] += 1
    return [case for _, _, case in sorted(placed, key=lambda entry: entry[:2])]
