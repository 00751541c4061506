"""Cells of the tables of cvqa: who answered, and what changed from original to counterfactual questions."""

from collections.abc import Iterable
from typing import Any

from cfeval.report.tables import cell

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


def arrow(first: float | None, then: float | None) -> str:
    """`0.8380 → 0.7140`."""
    return "" if first is None or then is None else f"{cell(first)} → {cell(then)}"
