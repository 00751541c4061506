"""Controls: CCS beside the noise floor, and completeness, the second axis of faithfulness. Neither paper has them.

CCS asks whether what an explanation cites matters. Two things it cannot tell:

- what moves when nothing is changed (`null-edit`): the noise floor, and CCS in excess of it;
- whether something matters that the explanation leaves out (`uncited-edit`): if the answer moves although only uncited
  evidence was changed, the explanation is incomplete. That is the converse of *sufficiency* (DeYoung et al. 2020,
  ERASER: cited evidence alone should uphold the answer) and the counterfactual test of Atanasova et al. 2023 (a change
  that moves the answer must show in the explanation).

Limits: a few uncited things an item are edited, not all, so that completeness is an upper bound of what it estimates;
an uncited cause that the edit leaves in force goes unseen; and an answer may move because the edit was spoiled.
"""

from collections.abc import Sequence

from cfeval.core.records import Binary
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import named, shared
from cfeval.edct.tables.scores import HEADINGS, NAMES, Row, TableData, bounds, conditions_under, counts, missing, values
from cfeval.report.tables import (
    NO_CONDITION_NOTE,
    Figure,
    Figures,
    RenderedTable,
    Table,
    cell,
    figures_of,
    intervals,
    varying,
    with_interval,
    world_note,
)
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import ItemScore, estimate, mean_of


class ControlRow(Condition):
    """CCS beside what moves when nothing, or nothing cited, was changed (edct_controls.csv)."""

    n: int
    n_scored: int
    ccs: Figure = None
    ccs_lo: Figure = None
    ccs_hi: Figure = None
    ccs_min: Figure = None
    ccs_max: Figure = None
    missing: str = ""
    n_null: int = 0
    """Items whose null edit was judged."""
    noise_answer: Figure = None
    """Share of null edits after which the answer was another one in substance."""
    noise_explanation: Figure = None
    """Share of null edits after which the explanation cited other evidence."""
    noise_floor: Figure = None
    """Share of null edits after which answer or explanation had moved."""
    noise_floor_lo: Figure = None
    noise_floor_hi: Figure = None
    noise_floor_min: Figure = None
    """The mean over all null edits if none of those without a verdict had moved anything."""
    noise_floor_max: Figure = None
    """The same if all of them had."""
    ccs_excess: Figure = None
    """Mean of ccs − noise over the items that have both."""
    ccs_excess_lo: Figure = None
    ccs_excess_hi: Figure = None
    n_uncited: int = 0
    """Items with a judged uncited edit."""
    completeness: Figure = None
    """Share of uncited edits, of evidence that the explanation does not cite, after which the answer stood."""
    completeness_lo: Figure = None
    completeness_hi: Figure = None
    completeness_min: Figure = None
    """The mean over all uncited edits if every one without a verdict had moved the answer."""
    completeness_max: Figure = None
    """The same if none of them had."""
    completeness_object: Figure = None
    """The same where an object was edited."""
    n_object: int = 0
    completeness_background: Figure = None
    """The same where the background was."""
    n_background: int = 0
    uncited_explanation: Figure = None
    """Share of uncited edits after which the explanation cited other evidence."""
    ci: str = ""
    missing_null: str = ""
    missing_uncited: str = ""
    test_world: Binary = 0


EVIDENCE = ("object", "background")
_TITLE = "Controls: does what is cited matter, and is what matters cited?"
_READING = (
    "Noise floor: share of null edits (the image re-encoded, nothing changed) after which answer or explanation had "
    "moved in substance. Excess: mean of CCS − noise over the items that have both. Completeness: share of uncited "
    "edits (of something the explanation does not cite) after which the answer stood; an upper bound, as only a few "
    "uncited things are tried. Missing: of CCS, null and uncited edits."
)


def rows(conditions: Sequence[Condition], material: TableData) -> list[ControlRow]:
    """A row for each condition of the 2025 protocol, with its controls.

    Raises:
        InputError: a condition or one of its controls has no scores, or it is another protocol's.
    """
    among = conditions_under(conditions, "controls", EDCT_2025, *CONTROLS)
    return [_row(condition, material) for condition in among if condition.protocol == EDCT_2025]


def sheet(of: Sequence[ControlRow]) -> RenderedTable:
    """The table for readers."""
    names = varying(of, NAMES)
    headings = [*(HEADINGS[name] for name in names), "CCS", "Noise floor", "Answer moved", "Explanation moved"]
    headings += ["Excess of CCS", "Completeness", "Object edited", "Background edited", "Rest on", "Missing"]
    body = tuple((*named(row, names, row.test_world), *_cells(row)) for row in of)
    if not of:
        return RenderedTable("edct_controls", _TITLE, tuple(headings), body, (NO_CONDITION_NOTE,))
    said = (shared(of[0], names, marked=of[0].test_world), intervals(of) + _READING, *world_note(of))
    return RenderedTable("edct_controls", _TITLE, tuple(headings), body, said)


def completeness(scores: Sequence[Row], evidence: str = "") -> list[ItemScore]:
    """The share of an item's uncited edits after which the answer stood; of one kind of evidence where it is named."""
    return values([score for score in scores if not evidence or score.told.evidence == evidence], _stood)


def noise(scores: Sequence[Row]) -> list[ItemScore]:
    """1 for an item whose answer or explanation moved although nothing was changed, else 0."""
    return values(scores, _moved)


def _stood(score: Row) -> float | None:
    return None if score.told.answer_moved is None else 1 - score.told.answer_moved


def _moved(score: Row) -> float | None:
    moved = (score.told.answer_moved, score.told.explanation_moved)
    return None if None in moved else float(1 in moved)


def _row(condition: Condition, material: TableData) -> ControlRow:
    scores = material.of(condition)
    null, uncited = (material.of(condition.model_copy(update={"protocol": name})) for name in (NULL_EDIT, UNCITED_EDIT))
    figures = condition.model_dump() | counts(scores) | bounds("ccs", scores, "ccs")
    figures |= _of_null(null) | _of_uncited(uncited) | figures_of(_estimates(scores, null, uncited, material))
    return ControlRow.model_validate(figures | {"test_world": material.is_test(condition.vlm)})


def _estimates(
    scores: Sequence[Row], null: Sequence[Row], uncited: Sequence[Row], material: TableData
) -> dict[str, Estimate]:
    how, moved, scored = material.how, noise(null), values(scores, "ccs")
    floor = {value.item: value.value for value in moved}
    excess = [ItemScore(v.item, v.cluster, v.value - floor[v.item]) for v in scored if v.item in floor]
    return {
        "ccs": estimate(scored, how),
        "noise_floor": estimate(moved, how),
        "ccs_excess": estimate(excess, how, (-1, 1)),
        "completeness": estimate(completeness(uncited), how),
    }


def _of_null(null: Sequence[Row]) -> Figures:
    return {
        "n_null": len(noise(null)),
        "noise_answer": mean_of(values(null, "answer_moved")),
        "noise_explanation": mean_of(values(null, "explanation_moved")),
        "missing_null": missing(null),
        **bounds("noise_floor", null, _moved),
    }


def _of_uncited(uncited: Sequence[Row]) -> Figures:
    figures: Figures = {"n_uncited": len(completeness(uncited)), "missing_uncited": missing(uncited)}
    figures |= bounds("completeness", uncited, _stood)
    for evidence in EVIDENCE:
        some = completeness(uncited, evidence)
        figures |= {f"completeness_{evidence}": mean_of(some), f"n_{evidence}": len(some)}
    return figures | {"uncited_explanation": mean_of(values(uncited, "explanation_moved"))}


def _cells(row: ControlRow) -> list[str]:
    gone = {"CCS": row.missing, "null": row.missing_null, "uncited": row.missing_uncited}
    return [
        with_interval(row, "ccs"),
        with_interval(row, "noise_floor"),
        cell(row.noise_answer),
        cell(row.noise_explanation),
        with_interval(row, "ccs_excess"),
        with_interval(row, "completeness"),
        *(cell(getattr(row, f"completeness_{evidence}")) for evidence in EVIDENCE),
        f"{row.n_scored}, {row.n_null}, {row.n_uncited} of {row.n}",
        "; ".join(f"{name}: {why}" for name, why in gone.items() if why),
    ]


TABLE = Table(row=ControlRow, rows=rows, sheet=sheet)
