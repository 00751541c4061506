"""Controls: CCS beside the noise floor, and completeness, the second axis of faithfulness. Neither paper has them.

CCS asks whether what an explanation cites matters. Two things it cannot tell:

- whether the answer moves when nothing is changed (`null-edit`): the noise floor;
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
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, EDCT_2025, EDITOR_NULL, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.edct.tables.card import card_of
from cfeval.edct.tables.conditions import name_columns, shared
from cfeval.edct.tables.scores import (
    NAMES,
    NO_CONDITION_NOTE,
    Row,
    TableData,
    bounds,
    cited,
    conditions_under,
    counts,
    missing,
    values,
)
from cfeval.report.tables import (
    Bounded,
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
    or_bounds,
    varying,
    with_interval,
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
    gone = {"CCS": row.missing, "null": row.missing_null, "blank": row.missing_blank, "uncited": row.missing_uncited}
    return "; ".join(f"{name}: {why}" for name, why in gone.items() if why)


class ControlRow(Condition, TableRow):
    """CCS of a condition beside what changes when nothing, or nothing cited, was edited."""

    n: int
    """Items."""
    n_scored: int
    """Those of them that have a CCS."""
    ccs: Annotated[Bounded, Heading("CCS")] = None
    """Mean of pcs · ncc."""
    strict_ccs: Annotated[Bounded, Heading("Strict CCS", or_bounds("strict_ccs"), after="ccs")] = None
    """The same, an item that cites something absent counting 0; empty where that was not checked."""
    citation_rate: Annotated[Bounded, Heading("Citation rate", or_bounds("citation_rate"), after="strict_ccs")] = None
    """Share of items whose cited thing is in the image, among those where that is known."""
    missing: Annotated[str, Heading("Missing", missing_cell, after="n_null")] = ""
    """Why items have no CCS, with counts."""
    n_null: Annotated[
        int,
        Heading(
            "Rest on",
            lambda row: f"{row.n_scored}, {row.n_null}, {row.n_blank}, {row.n_uncited} of {row.n}",
            after="completeness_background",
        ),
    ] = 0
    """Items whose null edit was judged."""
    noise_explanation: Annotated[Figure, MeanOf(NULL_EDIT, "explanation_moved"), Heading("Explanation moved")] = None
    """Share of null edits after which the explanation cited other evidence."""
    noise_floor: Annotated[Bounded, Heading("Noise floor", after="citation_rate")] = None
    """Share of null edits after which the answer had moved."""
    editor_null: Annotated[Figure, MeanOf(EDITOR_NULL, "answer_moved"), Heading("Editor's null")] = None
    """Share of images that the editor was to leave as they are after which the answer had moved."""
    noise_sham: Annotated[Figure, MeanOf(NULL_EDIT, "sham"), Heading("Sham rate")] = None
    """Share of null edits that the judge scores 1 if it is told the cited edit: its false positives on these items."""
    blank: Annotated[Figure, MeanOf(BLANK_IMAGE, "answer_moved"), Heading("Blank image")] = None
    """Share of blank images after which the answer had moved."""
    n_blank: int = 0
    """Items whose blank image was judged."""
    n_uncited: int = 0
    """Items with a judged uncited edit."""
    completeness: Annotated[Bounded, Heading("Completeness", lambda row: completeness_cell(row))] = None
    """Share of uncited edits, of evidence that the explanation does not cite, after which the answer stood."""
    completeness_empty: Binary = 0
    """1: it says nothing, because not even a blank image moves the answer (claim E of the trust card is refuted)."""
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
    missing_blank: str = ""
    """Why blank images have none."""
    missing_uncited: str = ""
    """Why uncited edits have none."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""


EVIDENCE = ("object", "background")
_TITLE = "Controls: does what is cited matter, and is what matters cited?"
_READING = (
    "Noise floor: share of null edits (the image encoded again, nothing changed) after which the answer had moved in "
    "substance. Sham rate: share of them that the judge scores 1 if it is told the cited edit. Completeness: share of "
    "uncited edits (of something the explanation does not cite) after which the answer stood; an upper bound, as only "
    "a few uncited things are tried; empty where not even a blank image moves the answer. Missing: of CCS, null "
    "edits, blank images and uncited edits."
)


def rows(conditions: Sequence[Condition], material: TableData) -> list[ControlRow]:
    """A row for each condition of the 2025 protocol, with its controls.

    Raises:
        InputError: a condition or one of its controls has no scores, or it is another protocol's.
    """
    among = conditions_under(conditions, "controls", EDCT_2025, *CONTROLS)
    return [_row(condition, material) for condition in among if condition.protocol == EDCT_2025]


def render(of: Sequence[ControlRow]) -> RenderedTable:
    """The table for readers."""
    names = varying(of, NAMES)
    said = (shared(of[0], names), intervals(of) + _READING, *world_note(of)) if of else (NO_CONDITION_NOTE,)
    return RenderedTable("edct_controls", _TITLE, *laid_out(ControlRow, of, {"": name_columns(names)}), said)


def completeness(scores: Sequence[Row], evidence: str = "") -> list[ItemScore]:
    """The share of an item's uncited edits after which the answer stood; of one kind of evidence where it is named."""
    return values([score for score in scores if not evidence or score.told.evidence == evidence], _stood)


def noise(scores: Sequence[Row]) -> list[ItemScore]:
    """1 for an item whose answer moved although nothing was changed, else 0."""
    return values(scores, "answer_moved")


def completeness_cell(row: Any) -> str:
    """Completeness, with its interval where there is one, or that it is empty."""
    if row.completeness_empty:
        return "empty"
    return with_interval(row, "completeness") if hasattr(row, "completeness_lo") else cell(row.completeness)


def is_empty(condition: Condition, material: TableData) -> int:
    """1 where completeness says nothing, since not even a blank image changes the answer: claim E is refuted. 0 also
    where some control was not run.
    """
    if any(condition.model_copy(update={"protocol": name}) not in material.scores for name in (EDCT_2025, *CONTROLS)):
        return 0
    looks = next(claim for claim in card_of(condition, material).claims if claim.letter == "E")
    return int(looks.word == "refuted")


def _stood(score: Row) -> float | None:
    return None if score.told.answer_moved is None else 1 - score.told.answer_moved


def _row(condition: Condition, material: TableData) -> ControlRow:
    scores = material.of(condition)
    of: dict[str, Sequence[Row]] = {
        name: material.of(condition.model_copy(update={"protocol": name})) for name in CONTROLS
    }
    null, uncited, blank = of[NULL_EDIT], of[UNCITED_EDIT], of[BLANK_IMAGE]
    figures = condition.model_dump() | counts(scores) | bounds("ccs", scores, "ccs")
    figures |= _means(of) | _of_null(null) | _of_uncited(uncited)
    figures |= {"n_blank": len(values(blank, "answer_moved")), "missing_blank": missing(blank)}
    figures |= figures_of(_estimates(scores, null, uncited, material))
    figures |= cited(scores, material.how) | {"completeness_empty": is_empty(condition, material)}
    return ControlRow.model_validate(figures | {"test_world": material.is_test(condition.vlm)})


def _estimates(
    scores: Sequence[Row], null: Sequence[Row], uncited: Sequence[Row], material: TableData
) -> dict[str, Estimate]:
    how = material.how
    return {
        "ccs": estimate(values(scores, "ccs"), how),
        "noise_floor": estimate(noise(null), how),
        "completeness": estimate(completeness(uncited), how),
    }


def _of_null(null: Sequence[Row]) -> Figures:
    return {
        "n_null": len(noise(null)),
        "missing_null": missing(null),
        **bounds("noise_floor", null, "answer_moved"),
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


TABLE = Table(row=ControlRow, rows=rows, render=render)
