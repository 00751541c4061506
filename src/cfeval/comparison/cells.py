"""Which cells of which tables changed, and whether by more than their intervals."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, get_origin

from cfeval.comparison.sides import Side
from cfeval.tables import names_cvqa, names_edct, names_vce

TABLES = {"edct": names_edct.TABLES, "vce": names_vce.TABLES, "cvqa": names_cvqa.TABLES}
"""The tables of each study."""
_BESIDE = ("_lo", "_hi", "_min", "_max")
"""Endings of columns that belong to a figure and are not told by themselves."""
_LEFT_OUT = ("paper_", "p_")
"""Beginnings of columns that do not change by themselves: what a paper printed, and tests of the figures."""


@dataclass(frozen=True)
class Cell:
    """A figure that changed. `beyond`: each side's figure lies outside the other's interval; None: there is none."""

    column: str
    before: str
    after: str
    difference: float | None = None
    beyond: bool | None = None


@dataclass(frozen=True)
class Row:
    """A row of a table, by its names; `what` is new, gone or changed."""

    table: str
    names: tuple[str, ...]
    what: Literal["new", "gone", "changed"]
    cells: tuple[Cell, ...] = ()


def changed_rows(before: Side, after: Side, study: str) -> Iterator[Row]:
    """The rows of a study's tables that differ, in the order of the tables."""
    folders = [tables_of(side, study) for side in (before, after)]
    for name in TABLES[study]:
        table = f"{study}_{name}"
        old, new = (
            _rows(side, f"{folder}/{table}.csv", study, name)
            for side, folder in zip((before, after), folders, strict=True)
        )
        for names in [*new, *(names for names in old if names not in new)]:
            if names not in old or names not in new:
                yield Row(table, names, "new" if names in new else "gone")
            elif cells := tuple(_cells(old[names], new[names])):
                yield Row(table, names, "changed", cells)


def tables_of(side: Side, study: str) -> str:
    """The folder of a study's tables; older revisions have one for all studies."""
    own = side.at(f"{study}/tables")
    return own if own in side.folders(side.at(study)) else side.at("tables")


def _rows(side: Side, path: str, study: str, name: str) -> dict[tuple[str, ...], dict[str, str]]:
    """The rows of a table by what names them: its leading columns of text."""
    naming = _naming(study, name)
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for row in csv.DictReader(side.lines(path)):
        names = tuple(value for column in naming if (value := row.pop(column, "")))
        found[names] = row
    return found


def _naming(study: str, name: str) -> list[str]:
    fields = TABLES[study][name].row().model_fields
    texts = takewhile(
        lambda item: item[1].annotation is str or get_origin(item[1].annotation) is Literal, fields.items()
    )
    return [column for column, _ in texts]


def _cells(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Cell]:
    for column in [*new, *(column for column in old if column not in new)]:
        before, after = old.get(column, ""), new.get(column, "")
        if before != after and not column.endswith(_BESIDE) and not column.startswith(_LEFT_OUT):
            numbers = _number(before), _number(after)
            difference = None if None in numbers else round(numbers[1] - numbers[0], 6)  # type: ignore[operator]
            yield Cell(column, before, after, difference, _beyond(column, old, new))


def _beyond(column: str, old: Mapping[str, str], new: Mapping[str, str]) -> bool | None:
    places = [[_number(row.get(f"{column}{end}", "")) for end in ("", "_lo", "_hi")] for row in (old, new)]
    if any(number is None for place in places for number in place):
        return None
    (was, was_lo, was_hi), (is_, is_lo, is_hi) = places
    return not (was_lo <= is_ <= was_hi or is_lo <= was <= is_hi)  # type: ignore[operator]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
