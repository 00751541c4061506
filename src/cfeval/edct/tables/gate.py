"""What a gate lets through, by the fault that was made: the flawed editor's edits, whose faults are known.

A row a fault and setting of dataset, writer, protocol and editor, all targets together. Behind a gate every attempt
counts, the rejected ones too; an editor without one lets through all in which anything was edited.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple

from cfeval.edct.records import Condition, Counterfactual
from cfeval.edct.tables.conditions import name_columns, shared
from cfeval.edct.tables.scores import NO_CONDITION_NOTE, TableData
from cfeval.report.tables import (
    Estimated,
    Heading,
    RenderedTable,
    Table,
    TableRow,
    figures_of,
    intervals,
    laid_out,
    varying,
)
from cfeval.stats.proportions import share, wilson

GOOD = "none"
"""What the flawed editor calls an edit that it made as told."""


class GateRow(TableRow):
    """How many edits with one fault pass."""

    dataset: str
    """The dataset."""
    writer: str
    """The instruction writer."""
    protocol: str
    """The protocol."""
    editor: str
    """The editor, with or without a gate."""
    fault: Annotated[str, Heading("Fault")]
    """What went wrong, as the flawed editor says; none: nothing."""
    n: Annotated[int, Heading("Edits")]
    """Edits that the editor made with this fault, every attempt of an item counted."""
    accepted: Annotated[Estimated, Heading("Accepted")] = None
    """Share of them that passed: of a fault the false-accept rate, of none the share of good edits that are kept."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""


_NAMES = ("dataset", "writer", "protocol", "editor")
_TITLE = "The gate: edits that pass, by what went wrong with them"
_READING = "Fault none: the edit was made as told. Edits of one item, by whatever target, are a cluster."


class KnownEdit(NamedTuple):
    """An edit of which it is known what went wrong: its item, its fault, and whether it passed."""

    item: str
    fault: str
    passed: bool


def known_edits(made: Iterable[Counterfactual]) -> Iterator[KnownEdit]:
    """The edits of which it is known what went wrong: every attempt behind a gate, else what the editor returned."""
    for record in made:
        for attempt in record.attempts:
            if fault := attempt.details.get("fault"):
                yield KnownEdit(record.id, fault, attempt.image == record.image)
        if not record.attempts and (fault := record.details.get("fault")):
            yield KnownEdit(record.id, fault, record.image is not None)


def rows(conditions: Sequence[Condition], material: TableData) -> list[GateRow]:
    """A row for each setting and fault, that of no fault first; none where no edit's fault is known."""
    found: dict[tuple[str, ...], list[KnownEdit]] = defaultdict(list)
    once = {one.model_copy(update={"judge": ""}): one for one in conditions}  # no judge has a part in it
    for condition in once.values():
        names = tuple(getattr(condition, name) for name in _NAMES)
        for edit in known_edits(material.counterfactuals.get(condition, ())):
            found[*names, edit.fault].append(edit)
    settings = list(dict.fromkeys(names[:-1] for names in found))
    ordered = sorted(found, key=lambda names: (settings.index(names[:-1]), names[-1] != GOOD, names[-1]))
    return [_row(names, found[names], material.how.level) for names in ordered]


def _row(names: Sequence[str], edits: Sequence[KnownEdit], level: float) -> GateRow:
    passed = share([float(edit.passed) for edit in edits], [edit.item for edit in edits])
    named = dict(zip((*_NAMES, "fault"), names, strict=True))
    return GateRow.model_validate({**named, "n": len(edits), **figures_of({"accepted": wilson(passed, level)})})


def render(of: Sequence[GateRow]) -> RenderedTable:
    """The table for readers."""
    names = varying(of, _NAMES, ("editor",))
    columns = laid_out(GateRow, of, {"": name_columns(names)})
    if not of:
        return RenderedTable("edct_gate", _TITLE, *columns, (NO_CONDITION_NOTE,))
    said = (shared(of[0], names, _NAMES), intervals(of) + _READING)
    return RenderedTable("edct_gate", _TITLE, *columns, tuple(note for note in said if note))


TABLE = Table(row=GateRow, rows=rows, render=render)
