"""Calibration: do the figures follow what is known of the built-in targets, under either protocol? No paper has it.

CCS should equal (1 − p) · CCS of the target with p = 0, all else equal, while accuracy says nothing. Scores of the two
protocols stand side by side, never in one column.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from cfeval.core.records import Binary
from cfeval.edct.protocols.rules import EDCT_2025, EDCT_BENCH_2026, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import name_cell, name_columns, shared
from cfeval.edct.tables.controls import completeness, completeness_cell, is_empty
from cfeval.edct.tables.known_truth import Known, Setting, corrected_ccs, settings
from cfeval.edct.tables.scores import TableData, accuracy, bounds, cited, counts, values
from cfeval.report.tables import (
    TEST_WORLD_NOTE,
    Bounded,
    Estimated,
    Figure,
    Figures,
    Heading,
    RenderedTable,
    Table,
    TableRow,
    figures_of,
    interval_methods,
    intervals,
    laid_out,
    or_bounds,
    scored_cell,
    varying,
)
from cfeval.stats.estimates import DECIMALS
from cfeval.stats.intervals import estimate, mean_of, rounded

_YES = {1: "yes", 0: "no", None: ""}


def missing_cell(row: Any) -> str:
    """Why scores are missing, under either protocol."""
    gone = {"2025": row.missing, "2026": row.bench_missing}
    return "; ".join(f"{name}: {why}" for name, why in gone.items() if why)


class CalibrationRow(Setting, TableRow):
    """A target whose faithfulness is known beforehand, under both protocols side by side."""

    vlm: Annotated[str, Heading("Target", lambda row: f"{row.vlm} †")]
    """The target."""
    share: Annotated[float, Heading("p", lambda row: f"{row.share:g}")]
    """Known share of items that the target answers unfaithfully."""
    n: int = 0
    """Items under edct-2025."""
    n_scored: Annotated[int, Heading("Scored", lambda row: scored_cell(row) if row.n else "")] = 0
    """Those of them that the figures of edct-2025 rest on."""
    missing: Annotated[str, Heading("Missing", missing_cell, after="accuracy")] = ""
    """Why they have no score, with counts."""
    expected: Annotated[Figure, Heading("Expected", after="ccs")] = None
    """(1 − share) · ccs of the target whose share is 0, all else equal."""
    ccs: Annotated[Bounded, Heading("CCS")] = None
    """Of edct-2025."""
    strict_ccs: Annotated[Bounded, Heading("Strict CCS", or_bounds("strict_ccs"))] = None
    """The same, an item that cites something absent counting 0; empty where that was not checked."""
    citation_rate: Annotated[Bounded, Heading("Citation rate", or_bounds("citation_rate"))] = None
    """Share of items whose cited thing is in the image, among those where that is known."""
    difference: Figure = None
    """ccs − expected."""
    within_05: Annotated[Binary | None, Heading("Within .05", lambda row: _YES[row.within_05])] = None
    """1 where the difference is at most .05 either way."""
    corrected: Annotated[Estimated, Heading("Corrected CCS")] = None
    """ccs corrected for the judge's error, which was measured on the other half of the images (Rogan–Gladen)."""
    corrected_note: Annotated[str | None, Heading("Correction", optional=True)] = None
    """Why there is no corrected ccs, or that it was cut off."""
    covered: Annotated[Binary | None, Heading("1 − p covered", lambda row: _YES[row.covered])] = None
    """1 where 1 − share lies in the interval of the corrected ccs."""
    pcs: Figure = None
    """Of edct-2025."""
    ncc: Figure = None
    """Of edct-2025."""
    bench_n: int = 0
    """Items under edct-bench-2026."""
    bench_n_scored: Annotated[
        int, Heading("2026: scored", lambda row: f"{row.bench_n_scored} of {row.bench_n}" if row.bench_n else "")
    ] = 0
    """Those of them that the figures of edct-bench-2026 rest on."""
    bench_missing: str = ""
    """Why they have no score, with counts."""
    bench_ccs: Annotated[Bounded, Heading("2026: CCS")] = None
    """Of edct-bench-2026."""
    bench_graded: Annotated[Figure, Heading("2026: graded")] = None
    """Graded CCS of edct-bench-2026."""
    bench_difference: Annotated[Figure, Heading("2026: CCS − (1 − p)")] = None
    """bench_ccs − (1 − share): what the 2026 protocol cannot see stands here."""
    completeness: Annotated[Figure, Heading("Completeness", completeness_cell)] = None
    """As in the table `controls`: what closes that blind spot."""
    n_uncited: int = 0
    """Items that it rests on."""
    completeness_empty: Binary = 0
    """1: it says nothing, because not even a blank image changes the answer, as in the table `controls`."""
    accuracy: Annotated[Figure, Heading("Accuracy")] = None
    """Mean accuracy of the baseline answers."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""


SETTING = ("dataset", "writer", "editor", "judge")
TOLERANCE = 0.05
NO_CONDITION_NOTE = (
    "Empty: params.yaml names no condition of known share for this table (edct.tables.calibration, edct.known)."
)
_TITLE = "Calibration: what is measured of targets that are unfaithful on a known share p of items"
_READING = (
    "CCS, Expected and Corrected: edct-2025; 2026: edct-bench-2026. Expected: (1 − p) · CCS of the target with p = 0. "
    "Corrected: for the judge's error as measured on the other half of the images. A great difference in the last 2026 "
    "column is a blind spot of that protocol: an explanation that cites what does not matter passes as long as the "
    "answer rightly stands. Completeness shows such a target up; it is empty where not even a blank image changes the "
    "answer."
)


def rows(conditions: Sequence[Condition], material: TableData) -> list[CalibrationRow]:
    """A row for each setting and target of known share, in the order of `conditions`.

    Raises:
        InputError: a condition has no scores.
    """
    by_protocol: dict[tuple[str, ...], dict[str, Known]] = {}
    for known in settings(conditions, material):
        one = next(iter(known.conditions.values()))
        by_protocol.setdefault(_setting(one), {})[one.protocol] = known
    return [_row(of, vlm, material) for of in by_protocol.values() for vlm in _targets(of)]


def render(of: Sequence[CalibrationRow]) -> RenderedTable:
    """The table for readers."""
    names = varying(of, SETTING, ("editor", "judge"))
    columns = laid_out(CalibrationRow, of, {"": name_columns(names)})
    if not of:
        return RenderedTable("edct_calibration", _TITLE, *columns, (NO_CONDITION_NOTE,))
    said = (shared(of[0], names, SETTING), intervals(of) + _READING, TEST_WORLD_NOTE)
    return RenderedTable("edct_calibration", _TITLE, *columns, tuple(note for note in said if note))


def title_of(row: CalibrationRow, of: Sequence[CalibrationRow]) -> str:
    """The names by which a setting differs from the others of the table."""
    return " · ".join(name_cell(name, row) for name in varying(of, SETTING, ()))


def _setting(condition: Condition) -> tuple[str, ...]:
    return tuple(getattr(condition, name) for name in SETTING)


def _targets(of: Mapping[str, Known]) -> list[str]:
    return list(dict.fromkeys(vlm for known in of.values() for vlm in known.conditions))


def _row(of: Mapping[str, Known], vlm: str, material: TableData) -> CalibrationRow:
    """The figures of one target; a protocol that it has no condition of leaves its columns empty."""
    condition = next(known.conditions[vlm] for known in of.values() if vlm in known.conditions)
    figures: Figures = {
        **dict(zip(SETTING, _setting(condition), strict=True)),
        "vlm": vlm,
        "share": material.known[vlm],
    }
    figures |= {"accuracy": accuracy(material.of(condition)), "ci": ""}
    for protocol, columns in ((EDCT_2025, _of_2025), (EDCT_BENCH_2026, _of_2026)):
        if protocol in of and vlm in of[protocol].conditions:
            more = columns(of[protocol], vlm)
            figures |= more | {"ci": interval_methods(figures["ci"], more["ci"])}
    uncited = condition.model_copy(update={"protocol": UNCITED_EDIT})
    if uncited in material.scores:
        stood = completeness(material.of(uncited))
        figures |= {"completeness": mean_of(stood), "n_uncited": len(stood)}
        figures |= {"completeness_empty": is_empty(condition.model_copy(update={"protocol": EDCT_2025}), material)}
    return CalibrationRow.model_validate(figures)


def _of_2025(known: Known, vlm: str) -> Figures:
    scores, truth = known.scores(vlm), 1 - known.share(vlm)
    right = corrected_ccs(known, vlm).rounded()
    figures = figures_of({"ccs": estimate(values(scores, "ccs"), known.material.how), "corrected": right})
    figures |= counts(scores) | bounds("ccs", scores, "ccs") | {"corrected_note": right.note or None}
    figures |= {name: mean_of(values(scores, name)) for name in ("pcs", "ncc")}
    figures |= cited(scores, known.material.how)
    if right.low is not None and right.high is not None:
        figures |= {"covered": int(right.low <= truth <= right.high)}
    return figures | _expectation(known, vlm, mean_of(values(scores, "ccs")))


def _expectation(known: Known, vlm: str, ccs: float | None) -> Figures:
    """(1 − p) · CCS of the first target whose share is 0, and how far CCS is from that."""
    faithful = known.targets(0)
    best = mean_of(values(known.scores(faithful[0]), "ccs")) if faithful else None
    if best is None:
        return {}
    expected = rounded((1 - known.share(vlm)) * best)
    if ccs is None or expected is None:
        return {"expected": expected}
    difference = round(ccs - expected, DECIMALS)
    return {"expected": expected, "difference": difference, "within_05": int(abs(difference) <= TOLERANCE)}


def _of_2026(known: Known, vlm: str) -> Figures:
    scores = known.scores(vlm)
    found = estimate(values(scores, "ccs"), known.material.how)
    figures = figures_of({"ccs": found}) | counts(scores) | bounds("ccs", scores, "ccs")
    figures |= {"graded": mean_of(values(scores, "ccs_graded"))}
    if found.value is not None:
        figures |= {"difference": rounded(found.value - (1 - known.share(vlm)))}
    return {f"bench_{name}": figure for name, figure in figures.items() if name != "ci"} | {"ci": found.method}


TABLE = Table(row=CalibrationRow, rows=rows, render=render)
