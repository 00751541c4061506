"""How far the figures of a target move: where the variance of CCS comes from, and repeated runs of the same items.

A target that params.yaml names several times, with another `repeat` each, is the same target run again. Conditions of
one target are a crossed design: writer, editor, judge, re-sampling and item on one set of items. Over runs EDCT-Bench
2026 prints mean and standard deviation, of five.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev
from typing import Annotated

from cfeval.core.records import Binary
from cfeval.edct.protocols.rules import CONTROLS, RULES
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import name_columns
from cfeval.edct.tables.scores import Row, TableData, extremes, missing, n_items, values
from cfeval.report.tables import (
    Estimated,
    Figure,
    Figures,
    Heading,
    RenderedTable,
    Table,
    TableRow,
    cell,
    figures_of,
    intervals,
    laid_out,
    scored_cell,
    varying,
    world_note,
)
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import rounded, t_interval
from cfeval.stats.variance_components import variance_split


class VarianceRow(TableRow):
    """Where the variance of CCS comes from: a row a source."""

    dataset: str
    """The dataset."""
    protocol: str
    """The protocol."""
    target: Annotated[str, Heading("Target")]
    """The target."""
    source: Annotated[str, Heading("Source")]
    """writer, editor, judge, re-sampling, item, or the residual."""
    levels: Annotated[int, Heading("Levels")]
    """How many there are of it."""
    variance: Annotated[Figure, Heading("Variance")] = None
    """On the scale of CCS, squared; empty for a source with one level."""
    share: Annotated[Figure, Heading("Share")] = None
    """Of the sum of all components."""
    n: int = 0
    """Items of all conditions."""
    n_scored: Annotated[int, Heading("Scored", scored_cell)] = 0
    """Those with a score."""
    missing: Annotated[str, Heading("Missing", after="note")] = ""
    """Why edits have no score, with counts."""
    note: Annotated[str, Heading("Note")] = ""
    """Why there is no component."""


class RepeatRow(TableRow):
    """A figure of one target over several runs of the same items."""

    dataset: str
    """The dataset."""
    target: Annotated[str, Heading("Target", lambda row: row.target + " †" * row.test_world)]
    """The target."""
    writer: str
    """The instruction writer."""
    protocol: str
    """The protocol."""
    editor: str
    """The editor."""
    judge: str
    """The judge."""
    score: Annotated[str, Heading("Score", lambda row: row.score.replace("_", " "))]
    """A score of the protocol, ccs (their product) or ccs_graded."""
    runs: Annotated[int, Heading("Runs")]
    """Those that have the figure."""
    mean: Annotated[Estimated, Heading("Mean")] = None
    """Of the runs' figures, with Student's t interval over runs."""
    mean_min: Annotated[
        Figure, Heading("Range", lambda row: f"{cell(row.mean_min)} to {cell(row.mean_max)}", after="sd")
    ] = None
    """The mean if every missing score of every run had been 0."""
    mean_max: Figure = None
    """The mean if every missing score of every run had been 1."""
    sd: Annotated[Figure, Heading("SD")] = None
    """Standard deviation of the runs' figures."""
    n: int = 0
    """Items of all runs."""
    n_scored: Annotated[int, Heading("Scored", scored_cell)] = 0
    """Those that the figures rest on."""
    ci: str = ""
    """How the interval was computed, and its nominal coverage."""
    note: Annotated[str, Heading("Note")] = ""
    """Why there is no figure, or no interval."""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why edits have no score, with counts."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""


FACTORS = ("writer", "editor", "judge")
NO_CONDITION_NOTE = "Empty: params.yaml names no condition for this table (edct.tables.variance), or none has a score."
_TITLE = "Where the variance of CCS comes from"
_READING = (
    "Variance components of CCS on the linear scale (MIVQUE(0)), as shares of their sum. Residual: what sources do "
    "only together. A component from two levels describes these two and is a poor guide to others."
)
NO_REPEAT_NOTE = "Empty: edct.tables names no target twice (under a second name in edct.vlms, with `repeat: 2`)."
_NAMES = ("dataset", "writer", "protocol", "editor", "judge")
_RUNS_TITLE = "Repeated runs: the same items once more"
_RUNS_READING = (
    "Mean and standard deviation over runs that differ in their seeds alone. The interval tells how far the figure "
    "moves if the same items are run again; it says nothing of other items. Range: the mean if every missing score had "
    "been 0, or 1."
)


def variance_rows(conditions: Sequence[Condition], material: TableData) -> list[VarianceRow]:
    """For each dataset, protocol and target a row a source; InputError where a condition has no scores."""
    designs: dict[tuple[str, str, str], list[Condition]] = defaultdict(list)
    for condition in dict.fromkeys(conditions):
        designs[condition.dataset, condition.protocol, material.repeats.get(condition.vlm, condition.vlm)].append(
            condition
        )
    return [row for names, of in designs.items() for row in _components(names, of, material)]


def render_variance(of: Sequence[VarianceRow]) -> RenderedTable:
    """The table for readers."""
    names, notes = varying(of, ("dataset", "protocol"), ("protocol",)), (_READING if of else NO_CONDITION_NOTE,)
    return RenderedTable("edct_variance", _TITLE, *laid_out(VarianceRow, of, {"": name_columns(names)}), notes)


def _components(names: tuple[str, str, str], conditions: Sequence[Condition], material: TableData) -> list[VarianceRow]:
    told = [(condition, value) for condition in conditions for value in values(material.of(condition), "ccs")]
    if not told:
        return []
    factors = {name: [getattr(condition, name) for condition, _ in told] for name in FACTORS}
    split = variance_split([value.value for _, value in told], factors | {"item": [value.item for _, value in told]})
    every = [material.of(condition) for condition in conditions]
    shared: Figures = dict(zip(("dataset", "protocol", "target"), names, strict=True))
    shared |= {"n": sum(map(n_items, every)), "n_scored": len(told)}
    shared |= {"missing": missing(score for scores in every for score in scores)}
    return [
        VarianceRow.model_validate(
            shared
            | {"source": part.source, "levels": part.levels, "note": part.note}
            | {"variance": rounded(part.variance), "share": rounded(part.share)}
        )
        for part in split
    ]


def repeat_rows(conditions: Sequence[Condition], material: TableData) -> list[RepeatRow]:
    """A row for each setting and score of a target with several runs; InputError where a condition has no scores."""
    runs: dict[Condition, list[Condition]] = defaultdict(list)
    for condition in dict.fromkeys(conditions):
        runs[condition.model_copy(update={"vlm": material.repeats.get(condition.vlm, condition.vlm)})].append(condition)
    return [row for one, of in runs.items() if len(of) > 1 for row in _repeat_rows(one, of, material)]


def render_repeat(of: Sequence[RepeatRow]) -> RenderedTable:
    """The table for readers."""
    names = varying(of, _NAMES, ("protocol",))
    said = (intervals(of) + _RUNS_READING, *world_note(of)) if of else (NO_REPEAT_NOTE,)
    return RenderedTable("edct_repeats", _RUNS_TITLE, *laid_out(RepeatRow, of, {"": name_columns(names)}), said)


def _repeat_rows(one: Condition, conditions: Sequence[Condition], material: TableData) -> Iterator[RepeatRow]:
    """The rows of one target under one setting."""
    rules, runs = RULES[one.protocol], [material.of(condition) for condition in conditions]
    shared: Figures = {name: getattr(one, name) for name in _NAMES} | {"target": one.vlm}
    shared |= {"n": sum(map(n_items, runs)), "missing": missing(score for run in runs for score in run)}
    shared |= {"test_world": material.is_test(one.vlm)}
    product = () if one.protocol in CONTROLS else ("ccs",)
    for score in (*rules.scores, *product, *(("ccs_graded",) if rules.graded else ())):
        yield RepeatRow.model_validate(shared | {"score": score} | _figures(runs, score, material.how.level))


def _figures(runs: Sequence[Sequence[Row]], score: str, level: float) -> Figures:
    """A score over runs; one in which nothing was scored has no figure."""
    told = [values(run, score) for run in runs]
    means = sorted(fmean(value.value for value in one) for one in told if one)
    found = t_interval(means, level) if means else Estimate(None, note="nothing was scored")
    least, most = zip(*(extremes(run, score) for run in runs), strict=True)
    return figures_of({"mean": found}) | {
        "runs": len(means),
        "sd": rounded(stdev(means)) if len(means) > 1 else None,
        "mean_min": rounded(fmean(sorted(least))),
        "mean_max": rounded(fmean(sorted(most))),
        "n_scored": sum(map(len, told)),
        "note": found.note,
    }


VARIANCE = Table(row=VarianceRow, rows=variance_rows, render=render_variance)
REPEATS = Table(row=RepeatRow, rows=repeat_rows, render=render_repeat)
