"""Which targets the table of comparisons compares, by the parameters alone: before any score is known."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from cfeval.edct.records import Condition

MOST_TARGETS = 12
"""Of a setting: of more, not every two are compared unless that is asked for."""


def settings_of(conditions: Iterable[Condition]) -> list[list[Condition]]:
    """The conditions that differ in their target alone, each once."""
    beside: dict[Condition, list[Condition]] = defaultdict(list)
    for condition in dict.fromkeys(conditions):
        beside[condition.model_copy(update={"vlm": ""})].append(condition)
    return list(beside.values())


def compared_pairs(setting: Sequence[Condition], reference: str | None, every: bool) -> list[tuple[int, int]]:
    """The places of each two conditions of a setting that are compared.

    Args:
        setting: conditions that differ in their target alone.
        reference: the target with which each other one is compared; None: see `MOST_TARGETS`.
        every: compare every two, however many.
    """
    names = [one.vlm for one in setting]
    if every or (reference is None and len(names) <= MOST_TARGETS):
        return list(combinations(range(len(names)), 2))
    if reference is not None and reference not in names:
        return []
    first = 0 if reference is None else names.index(reference)
    return [(first, other) for other in range(len(names)) if other != first]
