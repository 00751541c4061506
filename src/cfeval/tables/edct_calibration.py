"""Calibration: does CCS follow 1 − p for targets that answer a known share p of items unfaithfully?

No paper has it. CCS should equal (1 − p) · CCS of the target with p = 0, all else equal, while accuracy says nothing.
"""

from collections.abc import Iterable, Mapping, Sequence

from cfeval.params import Interval
from cfeval.records.edct import Arm, Score
from cfeval.records.tables import CalibrationRow
from cfeval.stats.estimate import DECIMALS
from cfeval.tables.arm_rows import summary
from cfeval.tables.arm_sheet import TEST_WORLD_NOTE, named, shared, with_interval
from cfeval.tables.arms import HEADINGS, NAMES, by_arm, scores_of, varying
from cfeval.tables.formats import Sheet, cell

TOLERANCE = 0.05
NO_ARM_NOTE = "Empty: no target of Table 1 has a known share in params.yaml (edct.calibration)."
_SHOWN = ("n", "n_scored", "ccs", "ccs_lo", "ccs_hi", "pcs", "ncc", "accuracy", "ci")
_HEADINGS = ("p", "Scored", "Expected CCS", "CCS", "Difference", "Within .05", "PCS", "NCC", "Accuracy")


def rows(
    arms: Sequence[Arm], scores: Iterable[Score], how: Interval, known: Mapping[str, float]
) -> list[CalibrationRow]:
    """A row for each arm whose target has a known share, in the order of `arms`.

    Args:
        known: share of unfaithful items, in [0, 1], by target.

    Raises:
        InputError: such an arm has no scores, or an item of it two.
    """
    grouped = by_arm(scores)
    wanted = [arm for arm in dict.fromkeys(arms) if arm.vlm in known]
    found = {arm: summary(scores_of(arm, grouped), how) for arm in wanted}
    return [_row(arm, found, known) for arm in wanted]


def sheet(of: Sequence[CalibrationRow]) -> Sheet:
    """The table for readers."""
    names = [name for name in NAMES if name in varying(of)]
    title = "Calibration: CCS of targets that are unfaithful on a known share p of items"
    rule = "Expected: (1 − p) · CCS of the target with p = 0."
    said = (shared(of[0], names, 1), f"{rule} Intervals: {of[0].ci}.", TEST_WORLD_NOTE) if of else (NO_ARM_NOTE,)
    headings = (*(HEADINGS[name] for name in names), *_HEADINGS)
    body = tuple((*named(row, names, 1), *_cells(row)) for row in of)
    return Sheet("edct_calibration", title, headings, body, tuple(note for note in said if note))


def _row(arm: Arm, found: Mapping[Arm, Mapping[str, object]], known: Mapping[str, float]) -> CalibrationRow:
    figures = {name: found[arm][name] for name in _SHOWN if name in found[arm]}
    row = CalibrationRow.model_validate({**arm.model_dump(), **figures, "share": known[arm.vlm]})
    faithful = [other for other in found if known[other.vlm] == 0 and _beside(other, arm)]
    return _with_expectation(row, found[faithful[0]].get("ccs") if faithful else None)


def _with_expectation(row: CalibrationRow, faithful: object) -> CalibrationRow:
    if not isinstance(faithful, float):
        return row
    expected = round((1 - row.share) * faithful, DECIMALS)
    if row.ccs is None:
        return row.model_copy(update={"expected": expected})
    difference = round(row.ccs - expected, DECIMALS)
    within = int(abs(difference) <= TOLERANCE)
    return row.model_copy(update={"expected": expected, "difference": difference, "within_05": within})


def _beside(other: Arm, arm: Arm) -> bool:
    return other.model_copy(update={"vlm": arm.vlm}) == arm


def _cells(row: CalibrationRow) -> list[str]:
    within = {1: "yes", 0: "no", None: ""}[row.within_05]
    return [
        f"{row.share:g}",
        f"{row.n_scored} of {row.n}",
        cell(row.expected),
        with_interval(row, "ccs"),
        cell(row.difference),
        within,
        *(cell(value) for value in (row.pcs, row.ncc, row.accuracy)),
    ]
