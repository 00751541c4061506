"""Which cells of which tables changed, and whether by more than their intervals; and which items flipped.

Both sides' scores are joined by key, in any order and any number of shards, in flat memory.
"""

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal, get_origin

from pydantic.fields import FieldInfo

from cfeval.core.errors import InputError
from cfeval.cvqa import tables as cvqa_tables
from cfeval.edct import tables as edct_tables
from cfeval.study.outcomes import KINDS, Kind, Outcomes, Story
from cfeval.study.revisions import Side, same
from cfeval.vce import tables as vce_tables

# The tables of each evaluation.
TABLES = {"edct": edct_tables.TABLES, "vce": vce_tables.TABLES, "cvqa": cvqa_tables.TABLES}
# Columns that belong to a figure and are not reported by themselves.
_BOUNDS = ("_lo", "_hi", "_min", "_max")
# Columns that do not change by themselves: what a paper printed, and tests of the figures.
_LEFT_OUT = ("paper_", "p_")
_BOTH = "SELECT a.key, b.outcomes, a.outcomes FROM after a JOIN before b USING (key)"
_ALONE = "SELECT count(*) FROM {0} WHERE key NOT IN (SELECT key FROM {1})"


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


@dataclass(frozen=True)
class Item:
    """An item with another outcome: what became of each metric, and what each side asked and answered."""

    key: str
    became: dict[str, str]
    before: Story = field(default_factory=dict)
    after: Story = field(default_factory=dict)


@dataclass(frozen=True)
class Condition:
    """A condition whose items differ: how many flipped, by metric and by what became of them; the first of them."""

    names: tuple[str, ...]
    what: Literal["new", "gone", "changed"]
    both: int = 0
    new: int = 0
    gone: int = 0
    flipped: int = 0
    became: dict[str, dict[str, int]] = field(default_factory=dict)
    items: tuple[Item, ...] = ()


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
    columns = naming_columns(study, name)
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for row in csv.DictReader(side.lines(path)):
        names = tuple(value for column in columns if (value := row.pop(column, "")))
        rows[names] = row
    return rows


def naming_columns(study: str, name: str) -> list[str]:
    """The columns of a table that name a row: the leading ones that hold text."""

    def is_text(column: tuple[str, FieldInfo]) -> bool:
        return column[1].annotation is str or get_origin(column[1].annotation) is Literal

    return [name for name, _ in takewhile(is_text, TABLES[study][name].row().model_fields.items())]


def _cells(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Cell]:
    for column in [*new, *(column for column in old if column not in new)]:
        before, after = old.get(column, ""), new.get(column, "")
        if before != after and not column.endswith(_BOUNDS) and not column.startswith(_LEFT_OUT):
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


def changed_conditions(
    before: Side, after: Side, study: str, wanted: Callable[[tuple[str, ...]], bool], items: int
) -> Iterator[Condition]:
    """The conditions of a study that differ, by name; of each the first `items` items that flipped."""
    kind, scores = KINDS[study], f"{study}/scores"
    if same(before, after, scores):
        return
    was, now = (_conditions(side, side.at(scores), kind) for side in (before, after))
    for condition in sorted({*was, *now}, key=kind.shown):
        names, old, new = kind.shown(condition), was.get(condition, []), now.get(condition, [])
        if not wanted(names):
            continue
        if not old or not new:
            yield Condition(names, "new" if new else "gone")
        elif [before.content_hash(path) for path in old] != [after.content_hash(path) for path in new]:
            compared = _compared(kind, condition, (before, old), (after, new), items)
            if compared.flipped or compared.new or compared.gone:
                yield compared


def _conditions(side: Side, folder: str, kind: Kind) -> dict[tuple[str, ...], list[str]]:
    """The files of scores in a folder, by the names of their conditions."""
    files: dict[tuple[str, ...], list[str]] = {}
    for path in side.files(folder):
        if condition := kind.condition_of(path.removeprefix(f"{folder}/")):
            files.setdefault(condition, []).append(path)
    return files


def _compared(
    kind: Kind, condition: tuple[str, ...], before: tuple[Side, list[str]], after: tuple[Side, list[str]], items: int
) -> Condition:
    with closing(sqlite3.connect("")) as joined:  # a temporary file: memory does not grow with the items
        for table, (side, files) in (("before", before), ("after", after)):
            joined.execute(f"CREATE TABLE {table} (key TEXT PRIMARY KEY, outcomes TEXT) WITHOUT ROWID")
            joined.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", _outcomes(kind, side, files))
        [both] = joined.execute(f"SELECT count(*) FROM ({_BOTH})").fetchone()
        [new] = joined.execute(_ALONE.format("after", "before")).fetchone()
        [gone] = joined.execute(_ALONE.format("before", "after")).fetchone()
        flipped, became, first = 0, dict[str, Counter[str]](), list[Item]()
        for key, was, now in joined.execute(f"{_BOTH} WHERE a.outcomes != b.outcomes ORDER BY key"):
            changes = _became(json.loads(was), json.loads(now))
            flipped += 1
            for metric, change in changes.items():
                became.setdefault(metric, Counter())[change] += 1
            if len(first) < items:
                first.append(Item(key, changes))
    counts = {metric: dict(sorted(changes.items())) for metric, changes in sorted(became.items())}
    with_stories = tuple(_with_stories(kind, condition, before[0], after[0], first))
    return Condition(kind.shown(condition), "changed", both, new, gone, flipped, counts, with_stories)


def _outcomes(kind: Kind, side: Side, files: list[str]) -> Iterator[tuple[str, str]]:
    for path in files:
        try:
            for row in kind.rows(side.lines(path)):
                yield kind.key(row), json.dumps(kind.outcomes(row), sort_keys=True)
        except (KeyError, ValueError) as error:
            raise InputError(f"{path} of {side.name}: not a file of scores ({error})") from None


def _became(was: Outcomes, now: Outcomes) -> dict[str, str]:
    """What became of each metric; where a side has no score, its status stands for it."""
    metrics = [name for name in dict.fromkeys([*was, *now]) if name] or [""]
    became = {}
    for name in metrics:
        old, new = (outcomes.get(name) or outcomes.get("", "none") for outcomes in (was, now))
        if old != new:
            became[name or "status"] = f"{old} → {new}"
    return became


def _with_stories(
    kind: Kind, condition: tuple[str, ...], before: Side, after: Side, first: list[Item]
) -> Iterator[Item]:
    """Items with what each side asked and answered."""
    keys = [item.key for item in first]
    old, new = (kind.transcript(side, condition, keys) if keys else {} for side in (before, after))
    for item in first:
        yield Item(item.key, item.became, old.get(item.key, {}), new.get(item.key, {}))
