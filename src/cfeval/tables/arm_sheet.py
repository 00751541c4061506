"""The tables of arms for readers: the names that differ, the figures with their intervals, what is missing."""

from collections.abc import Iterable, Sequence
from typing import Any

from cfeval.records.common import Record
from cfeval.records.edct_tables import ArmRow, BenchRow
from cfeval.tables.arms import HEADINGS, NAMES
from cfeval.tables.formats import Sheet, cell, varying
from cfeval.tables.items import ways

METRICS = {"pcs": "PCS", "ncc": "NCC", "ccs": "CCS"}
TEST_WORLD_NOTE = "† built-in test target with behaviour known by construction; it stands for no real model."
NO_ARM_NOTE = "Empty: params.yaml names no arm for this table (edct.tables)."
MISSING_NOTE = "CCS range: the mean over all items if every missing score had been 0, or 1."


def arm_sheet(
    name: str, title: str, rows: Sequence[ArmRow], order: Sequence[str] = NAMES, always: str = "vlm"
) -> Sheet:
    """The table for readers.

    Args:
        order: of the columns that name the arm.
        always: the name that has a column in any case; another that all rows share stands in the notes instead.
    """
    names = varying(rows, order, [always])
    paper = [metric for metric in METRICS if any(getattr(row, f"paper_{metric}") is not None for row in rows)]
    headings = [*(HEADINGS[part] for part in names), "Scored", *METRICS.values(), "CCS range"]
    headings += [*(f"Paper {METRICS[metric]}" for metric in paper), "Accuracy", "Edits right (checked)", "Missing"]
    body = tuple(
        (*named(row, names, row.test_world), f"{row.n_scored} of {row.n}", *figure_cells(row, METRICS, paper))
        for row in rows
    )
    return Sheet(name, title, tuple(headings), body, notes(rows, names))


def named(row: Record, names: Sequence[str], marked: int = 0) -> list[str]:
    """The cells that name the arm; a test target carries a mark."""
    return [getattr(row, part) + (" †" if part == "vlm" and marked else "") for part in names]


def with_interval(row: object, metric: str) -> str:
    """`0.9400 [0.9150, 0.9625]`, or nothing where there is no figure."""
    value, low, high = (getattr(row, metric + end) for end in ("", "_lo", "_hi"))
    if value is None:
        return ""
    return cell(value) if low is None else f"{cell(value)} [{cell(low)}, {cell(high)}]"


def notes(rows: Sequence[ArmRow] | Sequence[BenchRow], columns: Sequence[str]) -> tuple[str, ...]:
    """What holds for all rows, how to read the columns, and what the targets are."""
    if not rows:
        return (NO_ARM_NOTE,)
    said = (shared(rows[0], columns, marked=rows[0].test_world), f"{intervals(rows)}{MISSING_NOTE}")
    return tuple(note for note in (*said, *world_note(rows)) if note)


def shared(row: Record, columns: Sequence[str], names: Sequence[str] = NAMES, marked: int = 0) -> str:
    """Those of the names that have no column, as all rows share them: `Data set: world · Judge: grammar.`."""
    rest = [name for name in names if name not in columns]
    texts = zip(rest, named(row, rest, marked), strict=True)
    return " · ".join(f"{HEADINGS[name]}: {text}" for name, text in texts) + "." if rest else ""


def intervals(rows: Sequence[Any]) -> str:
    """How the intervals of some rows were computed, each way once: `Intervals: percentile bootstrap 95 %. `."""
    used = ways(*(row.ci for row in rows))
    return f"Intervals: {used}. " if used else ""


def world_note(rows: Sequence[Any]) -> tuple[str, ...]:
    """What the mark means, where some row has it."""
    return (TEST_WORLD_NOTE,) if any(row.test_world for row in rows) else ()


def figure_cells(row: ArmRow | BenchRow, metrics: Iterable[str], paper: Sequence[str]) -> tuple[str, ...]:
    """The cells of the figures, the paper's beside, and what they rest on."""
    checked = f"{cell(row.edit_verified)} ({row.n_checked})" if row.n_checked else ""
    return (
        *(with_interval(row, metric) for metric in metrics),
        f"{cell(row.ccs_min)} to {cell(row.ccs_max)}",
        *(cell(getattr(row, f"paper_{metric}")) for metric in paper),
        cell(row.accuracy),
        checked,
        row.missing,
    )
