"""A part of an exam: the kinds in proportion, at least one case of each, drawn by seed."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from cfeval.core.errors import InputError
from cfeval.core.sampling import derive_seed

T = TypeVar("T")


def stratified(
    cases: Sequence[T],
    count: int | None,
    seed: int,
    kind: Callable[[T], str],
    gold: Callable[[T], int],
    name: Callable[[T], str],
) -> list[T]:
    """So many cases in their order: each kind in proportion, at least one of each, and within a kind each gold score.

    The same cases, count and seed give the same part.

    Args:
        cases: all of them.
        count: how many are wanted; None: all.
        seed: of the draw.
        kind: the kind of a case.
        gold: its gold score, so that both scores stay in proportion within a kind.
        name: its id, unique.

    Raises:
        InputError: fewer are wanted than there are kinds, or more than there are cases.
    """
    if count is None:
        return list(cases)
    sizes = Counter(map(kind, cases))
    if not len(sizes) <= count <= len(cases):
        raise InputError(
            f"--cases: {count} cases, but the exam has {len(cases)} of {len(sizes)} kinds and takes at least one of "
            f"each; give a number from {len(sizes)} to {len(cases)}, or leave it out for all"
        )
    quota = _quota(sizes, count)
    taken: set[str] = set()
    for each in sizes:
        ranked = _interleaved([case for case in cases if kind(case) == each], seed, gold, name)
        taken |= {name(case) for case in ranked[: quota[each]]}
    return [case for case in cases if name(case) in taken]


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


def _interleaved(cases: Sequence[T], seed: int, gold: Callable[[T], Any], name: Callable[[T], str]) -> list[T]:
    """The cases of a kind in an order of which every beginning holds each gold score about in proportion."""
    drawn = sorted(cases, key=lambda case: derive_seed(seed, "exam part", name(case)))
    sizes, seen = Counter(map(gold, drawn)), Counter[Any]()
    placed: list[tuple[float, int, T]] = []
    for case in drawn:
        placed.append(((seen[gold(case)] + 0.5) / sizes[gold(case)], len(placed), case))
        seen[gold(case)] += 1
    return [case for _, _, case in sorted(placed, key=lambda entry: entry[:2])]
