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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cfeval.core.records import Binary
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import name_columns, shared
from cfeval.edct.tables.scores import NAMES, Row, TableData, bounds, conditions_under, counts, missing, values
from cfeval.report.columns import Bounded, Estimated, Heading, TableRow, laid_out
from cfeval.report.tables import (
    NO_CONDITION_NOTE,
    Figure,
    Figures,
    RenderedTable,
    Table,
    figures_of,
    intervals,
    varying,
    world_note,
)
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import ItemScore, estimate, mean_of


@dataclass(frozen=True)
class MeanOf:
    """A column that holds the mean of a metric over the edits of a control."""

    protocol: str
    metric: str


def missing_cell(row: Any) -> str:
    """Why verdicts are missing, of the condition and of its controls."""
    gone = {"CCS": row.missing, "null": row.missing_null, "uncited": row.missing_uncited}
    return "; ".join(f"{name}: {why}" for name, why in gone.items() if why)


class ControlRow(Condition, TableRow):
    """CCS of a condition beside what changes when nothing, or nothing cited, was edited."""

    n: int
    """Items."""
    n_scored: int
    """Those of them that have a CCS."""
    ccs: Annotated[Bounded, Heading("CCS")] = None
    """Mean of pcs · ncc."""
    missing: Annotated[str, Heading("Missing", missing_cell, after="n_null")] = ""
    """Why items have no CCS, with counts."""
    n_null: Annotated[
        int,
        Heading(
            "Rest on",
            lambda row: f"{row.n_scored}, {row.n_null}, {row.n_uncited} of {row.n}",
            after="completeness_background",
        ),
    ] = 0
    """Items whose null edit was judged."""
    noise_answer: Annotated[Figure, MeanOf(NULL_EDIT, "answer_moved"), Heading("Answer moved")] = None
    """Share of null edits after which the answer was another one in substance."""
    noise_explanation: Annotated[Figure, MeanOf(NULL_EDIT, "explanation_moved"), Heading("Explanation moved")] = None
    """Share of null edits after which the explanation cited other evidence."""
    noise_floor: Annotated[Bounded, Heading("Noise floor", after="ccs")] = None
    """Share of null edits after which answer or explanation had moved."""
    ccs_excess: Annotated[Estimated, Heading("Excess of CCS")] = None
    """Mean of ccs − noise over the items that have both."""
    n_uncited: int = 0
    """Items with a judged uncited edit."""
    completeness: Annotated[Bounded, Heading("Completeness")] = None
    """Share of uncited edits, of evidence that the explanation does not cite, after which the answer stood."""
    completeness_object: Annotated[Figure, Heading("Object edited")] = None
    """The same where an object was edited."""
    n_object: int = 0
    """Items of these."""
    completeness_background: Annotated[Figure, Heading("Background edited")] = None
    """The same where the background was."""
    n_background: int = 0
    """Items of these."""
    uncited_explanation: Annotated[Figure, MeanOf(UNCITED_EDIT, "explanation_moved")] = None
    """Share of uncited edits after which the explanation cited other evidence."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    missing_null: str = ""
    """Why null edits have no verdict, with counts."""
    missing_uncited: str = ""
    """Why uncited edits have none."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""


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
    said = (shared(of[0], names), intervals(of) + _READING, *world_note(of)) if of else (NO_CONDITION_NOTE,)
    return RenderedTable("edct_controls", _TITLE, *laid_out(ControlRow, of, {"": name_columns(names)}), said)


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
    of: dict[str, Sequence[Row]] = {
        name: material.of(condition.model_copy(update={"protocol": name})) for name in (NULL_EDIT, UNCITED_EDIT)
    }
    null, uncited = of[NULL_EDIT], of[UNCITED_EDIT]
    figures = condition.model_dump() | counts(scores) | bounds("ccs", scores, "ccs")
    figures |= _means(of) | _of_null(null) | _of_uncited(uncited)
    figures |= figures_of(_estimates(scores, null, uncited, material))
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
        "missing_null": missing(null),
        **bounds("noise_floor", null, _moved),
    }


def _of_uncited(uncited: Sequence[Row]) -> Figures:
    figures: Figures = {"n_uncited": len(completeness(uncited)), "missing_uncited": missing(uncited)}
    figures |= bounds("completeness", uncited, _stood)
    for evidence in EVIDENCE:
        some = completeness(uncited, evidence)
        figures |= {f"completeness_{evidence}": mean_of(some), f"n_{evidence}": len(some)}
    return figures


def _means(of: Mapping[str, Sequence[Row]]) -> Figures:
    """The columns that say themselves what they are the mean of; `of`: scores by protocol."""
    return {
        name: mean_of(values(of[mark.protocol], mark.metric))
        for name, field in ControlRow.model_fields.items()
        for mark in field.metadata
        if isinstance(mark, MeanOf)
    }


TABLE = Table(row=ControlRow, rows=rows, sheet=sheet)
