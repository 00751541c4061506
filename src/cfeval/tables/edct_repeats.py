"""Repeated runs: how far the figures of a target move when the same items are run again.

EDCT-Bench 2026 prints mean and standard deviation of five runs of one target. A target that params.yaml names several
times, with another `repeat` each, is the same target run again.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from cfeval.protocols.rules import CONTROLS, RULES
from cfeval.records.edct import Arm
from cfeval.records.repeats import RepeatRow
from cfeval.stats.estimate import Estimate
from cfeval.stats.runs import over_runs
from cfeval.tables.arm_sheet import intervals, with_interval, world_note
from cfeval.tables.arms import HEADINGS
from cfeval.tables.formats import Sheet, Table, cell, varying
from cfeval.tables.items import Figures, extremes, figures_of, missing, n_items, rounded, values
from cfeval.tables.material import Material
from cfeval.tables.rows import Row

NO_ARM_NOTE = "Empty: edct.tables names no target twice (under a second name in edct.vlms, with `repeat: 2`)."
_NAMES = ("dataset", "writer", "protocol", "editor", "judge")
_TITLE = "Repeated runs: the same items once more"
_HEADINGS = ("Target", "Score", "Runs", "Mean", "SD", "Range", "Scored", "Note", "Missing")
_READING = (
    "Mean and standard deviation over runs that differ in their seeds alone. The interval tells how far the figure "
    "moves if the same items are run again; it says nothing of other items. Range: the mean if every missing score had "
    "been 0, or 1."
)


def rows(arms: Sequence[Arm], material: Material) -> list[RepeatRow]:
    """A row for each setting and score of a target with several runs; InputError where an arm has no scores."""
    runs: dict[Arm, list[Arm]] = defaultdict(list)
    for arm in dict.fromkeys(arms):
        runs[arm.model_copy(update={"vlm": material.repeats.get(arm.vlm, arm.vlm)})].append(arm)
    return [row for one, of in runs.items() if len(of) > 1 for row in _rows(one, of, material)]


def sheet(of: Sequence[RepeatRow]) -> Sheet:
    """The table for readers."""
    names = varying(of, _NAMES, ("protocol",))
    headings = (*(HEADINGS[name] for name in names), *_HEADINGS)
    body = tuple((*(getattr(row, name) for name in names), *_cells(row)) for row in of)
    said = (intervals(of) + _READING, *world_note(of)) if of else (NO_ARM_NOTE,)
    return Sheet("edct_repeats", _TITLE, headings, body, said)


def _rows(one: Arm, arms: Sequence[Arm], material: Material) -> Iterator[RepeatRow]:
    """The rows of one target under one setting."""
    rules, runs = RULES[one.protocol], [material.of(arm) for arm in arms]
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
    found = over_runs(means, level) if means else Estimate(None, note="nothing was scored")
    least, most = zip(*(extremes(run, score) for run in runs), strict=True)
    return figures_of({"mean": found}) | {
        "runs": len(means),
        "sd": rounded(stdev(means)) if len(means) > 1 else None,
        "mean_min": rounded(fmean(sorted(least))),
        "mean_max": rounded(fmean(sorted(most))),
        "n_scored": sum(map(len, told)),
        "note": found.note,
    }


def _cells(row: RepeatRow) -> list[str]:
    mark = " †" if row.test_world else ""
    return [
        *(row.target + mark, row.score.replace("_", " "), str(row.runs), with_interval(row, "mean"), cell(row.sd)),
        *(f"{cell(row.mean_min)} to {cell(row.mean_max)}", f"{row.n_scored} of {row.n}", row.note, row.missing),
    ]


TABLE = Table(row=RepeatRow, rows=rows, sheet=sheet)
