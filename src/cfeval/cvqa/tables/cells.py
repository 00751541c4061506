"""Cells of the tables of cvqa: who answered, and what changed from original to counterfactual questions."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from cfeval.report.columns import Column
from cfeval.report.tables import cell, with_interval

TEST_WORLD_NOTE = "† built-in solver of the test world; it stands for no real model."


def mark(row: Any) -> str:
    """The solver's name, marked where it is of the test world."""
    return f"{row.solver} †" if row.test_world else str(row.solver)


def mark_llm(row: Any) -> str:
    """A solver's language model with the solver's name, marked where it is of the test world."""
    return f"{row.llm} ({row.solver})" + " †" * row.test_world if row.llm else mark(row)


def world(rows: Iterable[Any]) -> tuple[str, ...]:
    """What the mark means, where some row has it."""
    return (TEST_WORLD_NOTE,) if any(row.test_world for row in rows) else ()


NOT_ASKED = {"original": "not asked", "difference": "no drop"}
"""What stands for a figure of the original question where the set has none."""


def side_cell(row: Any, name: str) -> str:
    """A figure with its interval; of an original question that the set does not have, that it was not asked."""
    return NOT_ASKED[name] if row.alone else with_interval(row, name)


def range_cell(row: Any, name: str) -> str:
    """`0.2500 to 0.5000`: a figure over all items, whatever the missing scores are; empty where nothing is missing."""
    ends = range_of(row, name)
    return "" if ends is None else " to ".join(dict.fromkeys(map(cell, ends)))


def range_of(row: Any, name: str) -> tuple[float, float] | None:
    """The least and the most that a figure over all items can be; None where both are the figure."""
    value, least, most = getattr(row, name), getattr(row, f"{name}_min"), getattr(row, f"{name}_max")
    return None if least is None or (value is not None and value == least == most) else (least, most)


def range_columns(rows: Sequence[Any], headings: Mapping[str, str]) -> list[Column]:
    """The columns with the ranges of figures, each where some row has one.

    Args:
        rows: those that readers see.
        headings: of the columns, by the figure's field.
    """
    return [
        (heading, partial(range_cell, name=name))
        for name, heading in headings.items()
        if any(range_cell(row, name) for row in rows)
    ]


def arrow(first: float | None, then: float | None) -> str:
    """`0.8380 → 0.7140`."""
    return "" if first is None or then is None else f"{cell(first)} → {cell(then)}"
