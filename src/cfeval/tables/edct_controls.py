"""Controls: CCS beside the noise floor, and completeness, the second axis of faithfulness. Neither paper has them.

CCS asks whether what an explanation cites matters. Two things it cannot tell:

- what moves when nothing is changed (`null-edit`): the noise floor, and CCS in excess of it;
- whether something matters that the explanation leaves out (`placebo-edit`): if the answer moves although only uncited
  evidence was changed, the explanation is incomplete. That is the converse of *sufficiency* (DeYoung et al. 2020, ERASER:
  cited evidence alone should uphold the answer) and the counterfactual test of Atanasova et al. 2023 (a change that
  moves the answer must show in the explanation).

Limits: a few uncited things an item are edited, not all, so that completeness is an upper bound of what it estimates; an
uncited cause that the edit leaves in force goes unseen; and an answer may move because the edit was spoiled.
"""

from collections.abc import Sequence

from cfeval.protocols.rules import NULL_EDIT, PLACEBO_EDIT
from cfeval.records.common import Status
from cfeval.records.edct import Arm, Score
from cfeval.records.tables import ControlRow
from cfeval.tables.arm_sheet import NO_ARM_NOTE, TEST_WORLD_NOTE, named, shared, with_interval
from cfeval.tables.arms import HEADINGS, NAMES, varying
from cfeval.tables.formats import Sheet, cell
from cfeval.tables.items import (
    Figures,
    Value,
    by_item,
    counts,
    difference_with_interval,
    mean,
    methods,
    missing,
    values,
)
from cfeval.tables.items import with_interval as figure_of
from cfeval.tables.material import Material

ROW = ControlRow
EVIDENCE = ("object", "background")
_READING = (
    "Noise floor: share of null edits (the image re-encoded, nothing changed) after which answer or explanation had moved "
    "in substance. Excess: mean of CCS − noise over the items that have both. Completeness: share of placebo edits (of "
    "something the explanation does not cite) after which the answer stood; an upper bound, as only a few uncited things "
    "are tried."
)


def rows(arms: Sequence[Arm], material: Material) -> list[ControlRow]:
    """A row for each arm of a paper's protocol, with its controls; InputError where one has no scores."""
    return [_row(arm, material) for arm in dict.fromkeys(arms) if arm.protocol not in (NULL_EDIT, PLACEBO_EDIT)]


def sheet(of: Sequence[ControlRow]) -> Sheet:
    """The table for readers."""
    names = [name for name in NAMES if name in varying(of)]
    headings = [*(HEADINGS[name] for name in names), "CCS", "Noise floor", "Answer moved", "Explanation moved"]
    headings += ["Excess of CCS", "Completeness", "Object edited", "Background edited", "Rest on"]
    body = tuple((*named(row, names, row.test_world), *_cells(row)) for row in of)
    title = "Controls: does what is cited matter, and is what matters cited?"
    if not of:
        return Sheet("edct_controls", title, tuple(headings), body, (NO_ARM_NOTE,))
    said = [shared(of[0], names, of[0].test_world), f"{_READING} Intervals: {of[0].ci}."]
    said += [TEST_WORLD_NOTE] if any(row.test_world for row in of) else []
    return Sheet("edct_controls", title, tuple(headings), body, tuple(said))


def completeness(scores: Sequence[Score], evidence: str = "") -> list[Value]:
    """The share of an item's placebo edits after which the answer stood; of one kind of evidence where it is named."""
    chosen = [score for score in scores if not evidence or score.evidence == evidence]
    return [Value(value.item, value.group, 1 - value.value) for value in values(chosen, "answer_moved")]


def noise(scores: Sequence[Score]) -> list[Value]:
    """1 for an item whose answer or explanation moved although nothing was changed, else 0."""
    found = []
    for rows_ in by_item(scores):
        told = [max(row.answer_moved or 0, row.explanation_moved or 0) for row in rows_ if row.status == Status.OK]
        if told:
            found.append(Value(rows_[0].id, rows_[0].group or rows_[0].id, sum(told) / len(told)))
    return found


def _row(arm: Arm, material: Material) -> ControlRow:
    scores = material.of(arm)
    null, placebo = (material.of(arm.model_copy(update={"protocol": name})) for name in (NULL_EDIT, PLACEBO_EDIT))
    how = material.how
    figures = arm.model_dump() | counts(scores) | figure_of("ccs", values(scores, "ccs"), how)
    figures |= _of_null(scores, null, material) | _of_placebo(placebo, material)
    figures |= {"ci": methods(scores, ["ccs"], how), "test_world": int(arm.vlm in material.test_targets)}
    return ControlRow.model_validate(figures)


def _of_null(scores: Sequence[Score], null: Sequence[Score], material: Material) -> Figures:
    moved = noise(null)
    floor = {value.item: value.value for value in moved}
    both = [v for v in values(scores, "ccs") if v.item in floor]
    excess = [Value(v.item, v.group, v.value - floor[v.item]) for v in both]
    return (
        {
            "n_null": len(moved),
            "noise_answer": _mean(values(null, "answer_moved")),
            "noise_explanation": _mean(values(null, "explanation_moved")),
            "missing_null": missing(null),
        }
        | figure_of("noise_floor", moved, material.how)
        | difference_with_interval("ccs_excess", excess, material.how)
    )


def _of_placebo(placebo: Sequence[Score], material: Material) -> Figures:
    stood = completeness(placebo)
    figures = {"n_placebo": len(stood), "missing_placebo": missing(placebo)}
    figures |= figure_of("completeness", stood, material.how)
    for evidence in EVIDENCE:
        some = completeness(placebo, evidence)
        figures |= {f"completeness_{evidence}": _mean(some), f"n_{evidence}": len(some)}
    return figures | {"placebo_explanation": _mean(values(placebo, "explanation_moved"))}


def _mean(of: Sequence[Value]) -> float | None:
    return mean([value.value for value in of])


def _cells(row: ControlRow) -> list[str]:
    return [
        with_interval(row, "ccs"),
        with_interval(row, "noise_floor"),
        cell(row.noise_answer),
        cell(row.noise_explanation),
        with_interval(row, "ccs_excess"),
        with_interval(row, "completeness"),
        *(cell(getattr(row, f"completeness_{evidence}")) for evidence in EVIDENCE),
        f"{row.n_scored}, {row.n_null}, {row.n_placebo} of {row.n}",
    ]
