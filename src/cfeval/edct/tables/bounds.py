"""The conclusion of each trust card under other bounds than its own, one of them changed at a time.

It is made of the same scores: nothing is asked anew. A conclusion that holds under all of them does not hang on where
the bounds are set.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Annotated

from cfeval.core.records import Binary
from cfeval.edct.faithfulness.card import trust_card
from cfeval.edct.faithfulness.claims import BOUNDS, Bound
from cfeval.edct.faithfulness.from_scores import observe
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025
from cfeval.edct.records import Condition
from cfeval.edct.tables.card import instruments_of
from cfeval.edct.tables.conditions import name_columns, shared
from cfeval.edct.tables.scores import NAMES, NO_CONDITION_NOTE, TableData, condition_of, conditions_under
from cfeval.report.tables import Heading, RenderedTable, Table, TableRow, varying, world_note

STEP = 0.05
STEPS = 3
"""So many steps to either side of each bound are tried, as far as they lie between 0 and 1."""


class BoundRow(Condition, TableRow):
    """The conclusion of a card if one bound were another."""

    bound: Annotated[str, Heading("Bound of")]
    """`FIT`, or a claim: `C` is the background's, `C objects` that of uncited objects."""
    value: Annotated[str, Heading("Value")]
    """What it is set to, in [0, 1]: a name of the row, so that two runs can be compared."""
    steps: int
    """So many steps of .05 from the card's own bound; 0: that itself."""
    conclusion: Annotated[str, Heading("Conclusion")]
    """What the card then concludes."""
    same: Binary
    """1: as with the card's own bounds."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""


_TITLE = "Trust card under other bounds: what the conclusion hangs on"
_READING = (
    "Each cell: from and to which value of this bound, all others kept, the conclusion stays the same, and what it is "
    f"beyond. Tried were {STEPS} steps of {STEP:.2f} to either side; all: the same under each of them."
)


def rows(conditions: Sequence[Condition], material: TableData) -> list[BoundRow]:
    """For each condition of the 2025 protocol the conclusion under every bound that is tried.

    Raises:
        InputError: as for the table `card`.
    """
    among = conditions_under(conditions, "bounds", EDCT_2025, *CONTROLS)
    return [row for condition in among if condition.protocol == EDCT_2025 for row in _rows(condition, material)]


def values_tried(bound: Bound) -> list[float]:
    """The values of a bound that are tried, its own among them, in order."""
    return [value for _, value in _steps(bound)]


def _steps(bound: Bound) -> list[tuple[int, float]]:
    tried = ((step, round(BOUNDS[bound] + step * STEP, 2)) for step in range(-STEPS, STEPS + 1))
    return [(step, value) for step, value in tried if 0 < value < 1]


def _rows(condition: Condition, material: TableData) -> Iterator[BoundRow]:
    items = observe(condition, material)
    conclude = partial(trust_card, items, instruments_of(condition, items, material))
    own = conclude().conclusion
    for bound in BOUNDS:
        for steps, value in _steps(bound):
            conclusion = conclude({**BOUNDS, bound: value}).conclusion if steps else own
            figures = {"bound": bound, "value": f"{value:.2f}", "steps": steps, "conclusion": conclusion}
            figures |= {"same": int(conclusion == own), "test_world": material.is_test(condition.vlm)}
            yield BoundRow.model_validate(condition.model_dump() | figures)


def render(of: Sequence[BoundRow]) -> RenderedTable:
    """The table for readers, a line a card."""
    names = varying(of, NAMES)
    columns = name_columns(names)
    headings = [heading for heading, _ in columns]
    headings += ["Conclusion", *(f"{bound} ({value:.2f})" for bound, value in BOUNDS.items())]
    body = []
    for _, group in groupby(of, condition_of):
        lines = list(group)
        own = next(row.conclusion for row in lines if not row.steps)
        cells = [holds([row for row in lines if row.bound == bound]) for bound in BOUNDS]
        body.append((*(shown(lines[0]) for _, shown in columns), own, *cells))
    notes = (shared(of[0], names), _READING, *world_note(of)) if of else (NO_CONDITION_NOTE,)
    return RenderedTable("edct_bounds", _TITLE, tuple(headings), tuple(body), notes)


def holds(tried: Sequence[BoundRow]) -> str:
    """From and to which value of one bound a conclusion stays the same, and what it is beyond: `0.60 to 0.80, then
    open`.

    Args:
        tried: the rows of a card and bound, in the order of their values.
    """
    own = next(number for number, row in enumerate(tried) if not row.steps)
    first = next((n + 1 for n in range(own, -1, -1) if not tried[n].same), 0)
    last = next((n - 1 for n in range(own, len(tried)) if not tried[n].same), len(tried) - 1)
    if (first, last) == (0, len(tried) - 1):
        return "all"
    below = f"{tried[first - 1].conclusion} below, " if first else ""
    above = f", {tried[last + 1].conclusion} above" if last < len(tried) - 1 else ""
    return f"{below}{tried[first].value} to {tried[last].value}{above}"


TABLE = Table(row=BoundRow, rows=rows, render=render)
