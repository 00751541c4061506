"""What the controls say of a model: the Faithfulness Intervention Test (FIT) beside CCS; noise floor and completeness.

Neither paper has them; docs/concepts/estimand.md defines every figure and says what it may carry. CCS alone misleads:
it leaves out items that cite what is absent, it asks for the right answer and not for a changed one, and it does not
look at what was not cited. Two things it cannot tell:

- whether the answer moves when nothing is changed (`null-edit`): the noise floor;
- whether something matters that the explanation leaves out (`uncited-edit`): if the answer moves although only uncited
  evidence was changed, the explanation is incomplete. That is the converse of *sufficiency* (DeYoung et al. 2020,
  ERASER: cited evidence alone should uphold the answer) and the counterfactual test of Atanasova et al. 2023 (a change
  that moves the answer must show in the explanation).

Limits: a few uncited things an item are edited, not all, so that completeness is an upper bound of what it estimates;
an uncited cause that the edit leaves in force goes unseen; and an answer may move because the edit was spoiled.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from cfeval.core.records import Binary
from cfeval.edct.faithfulness.from_scores import observe
from cfeval.edct.faithfulness.instruments import LEAST_SENSITIVITY
from cfeval.edct.faithfulness.observed import (
    Indicator,
    Observed,
    causal_effect,
    ccs_where,
    changed,
    citation_rate,
    effect_alignment,
    effect_contrast,
    f_auroc,
    fit,
    mean_breadth,
    phi,
    phi_cct,
    rate,
    rate_where_looked,
    strict_ccs,
)
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, EDCT_2025, EDITOR_NULL, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.edct.tables.card import card_of
from cfeval.edct.tables.conditions import Items, TestTarget, edct_table, noted
from cfeval.edct.tables.scores import Row, TableData, bounds, cited, counts, missing, of_2025, values
from cfeval.report.tables import (
    Bounded,
    Estimated,
    Figure,
    Figures,
    Heading,
    Methods,
    TableRow,
    cell,
    figures_of,
    or_bounds,
    with_interval,
)
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import ItemScore, estimate, mean_of, rounded
from cfeval.stats.misclassification import JudgeError, rogan_gladen
from cfeval.stats.proportions import Share, share, wilson

LEAST_SPECIFICITY = 0.9
"""Of a judge: with a lower one, CCS is not backed."""
LEAST_SHAM = 10
"""So many sham edits say how often the judge scores 1 where nothing was edited."""


def ccs_cell(row: Any) -> str:
    """CCS, struck out where nothing backs the judge."""
    text = with_interval(row, "ccs")
    return text if row.ccs_backed or not text else f"not backed ({text})"


class FaithfulnessRow(Condition, TableRow):
    """A condition with all its controls."""

    n: Items
    fit: Annotated[Bounded, Heading("FIT", or_bounds("fit"))] = None
    """Share of items that cite what is there, whose answer changes under the cited edit and stays under all uncited
    edits."""
    n_fit: Annotated[int, Heading("Rest on", lambda row: f"{row.n_fit} of {row.n}", after="sham")] = 0
    """Items that it rests on."""
    ccs: Annotated[Estimated, Heading("CCS", ccs_cell)] = None
    """Mean of pcs · ncc over the items whose cited edit could be made."""
    ccs_backed: Binary = 0
    """1 where the judge's specificity is known, by 10 sham edits or more or by the judge exam, and at least .9 by
    either, and its sensitivity is at least .5, by the exam or since CCS itself is that high: else CCS rests on a judge
    whose error is unknown or too large."""
    strict_ccs: Annotated[Bounded, Heading("Strict CCS", or_bounds("strict_ccs"), after="fit")] = None
    """The same, an item that cites something absent counting 0; empty where that was not checked."""
    citation_rate: Annotated[Bounded, Heading("Citation rate", or_bounds("citation_rate"))] = None
    """Share of items whose cited things are all in the image, among those where a verifier, the gate or the writer
    looked; empty where none of them did."""
    effect_contrast: Annotated[Estimated, Heading("EC")] = None
    """P(cites what is there and the cited edit changes the answer) − the greater P(changed) of the uncited edits."""
    cited: Annotated[Figure, Heading("Changed: cited")] = None
    """Share of cited edits after which the answer changed."""
    uncited_object: Annotated[Figure, Heading("Object")] = None
    """The same of edits of an object that is not cited."""
    uncited_background: Annotated[Figure, Heading("Background")] = None
    """The same of the background, where it is not cited."""
    noise_floor: Annotated[Estimated, Heading("Null")] = None
    """The same of null edits: the noise floor."""
    blank: Annotated[Estimated, Heading("Blank")] = None
    """The same of blank images."""
    sham: Annotated[Figure, Heading("Sham rate")] = None
    """Share of null edits whose texts the judge scores 1 if it is told the cited edit."""
    n_sham: int = 0
    """Items that it rests on."""
    exam_sensitivity: Annotated[Figure, Heading("Exam: sensitivity", optional=True)] = None
    """Of the judge's CCS in the judge exam (`edct.exams`): share of 1s where 1 is right."""
    exam_specificity: Annotated[Figure, Heading("Exam: specificity", optional=True)] = None
    """The same of 0s where 0 is right."""
    exam_errors: Annotated[str, Heading("Exam: wrong, by kind", optional=True)] = ""
    """On which kinds of exam cases the judge's CCS is wrong, and how often; of those it scored."""
    corrected_ccs: Annotated[Estimated, Heading("Corrected CCS", optional=True)] = None
    """ccs corrected for the judge's error (Rogan–Gladen): the exam's sensitivity, and 1 − sham rate as specificity, or
    the exam's where there are fewer than 10 sham edits. Empty where the judge may be no better than chance."""
    swapped: Estimated = None
    """Share of other items' answers, which differ in substance for sure, that were found to differ: the sensitivity of
    what tells a changed answer."""
    n_swapped: int = 0
    """Items that it rests on."""
    phi: Figure = None
    """Correlation, over edits, of (the edited thing is cited, the answer changed)."""
    phi_cct: Figure = None
    """The same of (the explanation after the edit names the edited thing, the answer changed): Siegel et al. 2024."""
    f_auroc: Figure = None
    """(1 + P(named | changed) − P(named | not changed)) / 2: Siegel et al. 2025, at one level of detail."""
    causal_effect: Figure = None
    """Share of edits, cited and uncited, that changed the answer: Matton et al. 2025."""
    effect_alignment: Figure = None
    """Mean correlation within an item of what its explanation implies and what its edits caused: ibid."""
    breadth: Figure = None
    """Mean number of things that an explanation cites."""
    ccs_right: Figure = None
    """CCS of the items whose baseline answer is right."""
    ccs_wrong: Figure = None
    """CCS of those whose answer is wrong."""
    ci: Methods = ""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why cited edits have no score, with counts."""
    test_world: TestTarget = 0


def faithfulness_rows(conditions: Sequence[Condition], material: TableData) -> list[FaithfulnessRow]:
    """A row for each condition of the 2025 protocol, with its controls; InputError where a condition or one of its
    controls has no scores, or it is another protocol's.
    """
    return [_faithfulness_row(condition, material) for condition in of_2025(conditions, "faithfulness")]


def _faithfulness_row(condition: Condition, material: TableData) -> FaithfulnessRow:
    items, scores = observe(condition, material), material.of(condition)
    level = material.how.level
    estimates: dict[str, Estimate] = {
        "fit": rate_where_looked(items, fit, level),
        "ccs": rate(items, lambda item: item.ccs, level),
        "strict_ccs": rate_where_looked(items, strict_ccs, level),
        "citation_rate": citation_rate(items, level),
        "effect_contrast": effect_contrast(items, level),
        "noise_floor": changed(items, "null", level),
        "blank": changed(items, "blank", level),
        "swapped": rate(items, lambda item: item.swapped, level),
    }
    sham = rate(items, lambda item: item.sham, level)
    figures = condition.model_dump() | counts(scores) | figures_of(estimates)
    figures.pop("n_scored")
    figures |= _ranges(items) | {"n_fit": estimates["fit"].n}
    means: dict[str, float | None] = {
        "cited": changed(items, "cited").value,
        "uncited_object": changed(items, "uncited_object").value,
        "uncited_background": changed(items, "uncited_background").value,
        "phi": phi(items),
        "phi_cct": phi_cct(items),
        "f_auroc": f_auroc(items),
        "breadth": mean_breadth(items),
        "causal_effect": causal_effect(items),
        "effect_alignment": effect_alignment(items),
        "ccs_right": ccs_where(items, True),
        "ccs_wrong": ccs_where(items, False),
    }
    figures |= {name: rounded(value) for name, value in means.items()}
    figures |= {"sham": rounded(sham.value), "n_sham": sham.n, "n_swapped": estimates["swapped"].n}
    figures |= {"test_world": material.is_test(condition.vlm)}
    figures |= {"ccs_backed": int(_backed(items, condition, material))} | _examined(items, condition, material)
    return FaithfulnessRow.model_validate(figures)


def _backed(items: Sequence[Observed], condition: Condition, material: TableData) -> bool:
    """Whether the judge's specificity and sensitivity are known and large enough.

    Of the specificity the worse of the sham edits and the exam counts. A judge scores 1 at most as often as its
    sensitivity and 1 − specificity together, so that a high CCS tells its least sensitivity too; a judge that never
    scores 1 has none.
    """
    exam = material.exams.get(condition.judge)
    specificities = [share_of.value for share_of in (_of_sham(items), exam and exam.specificity) if share_of]
    if not specificities or min(specificities) < LEAST_SPECIFICITY:
        return False
    if exam is not None and exam.sensitivity is not None:
        return (wilson(exam.sensitivity, 0.95).low or 0.0) >= LEAST_SENSITIVITY
    return (rate(items, lambda item: item.ccs).low or 0.0) - (1 - min(specificities)) >= LEAST_SENSITIVITY


def _of_sham(items: Sequence[Observed]) -> Share | None:
    """The judge's specificity on the sham edits of these very items; None where they are too few."""
    sham = [(float(not item.sham), item.cluster) for item in items if item.sham is not None]
    return share([right for right, _ in sham], [cluster for _, cluster in sham]) if len(sham) >= LEAST_SHAM else None


def _examined(items: Sequence[Observed], condition: Condition, material: TableData) -> Figures:
    """What the exam says of the judge, and CCS corrected for its error."""
    exam, scored = material.exams.get(condition.judge), [item for item in items if item.ccs is not None]
    if exam is None or not scored:
        return {}
    observed = share([float(bool(item.ccs)) for item in scored], [item.cluster for item in scored])
    error = JudgeError(exam.sensitivity, _of_sham(items) or exam.specificity)
    figures = figures_of({"corrected_ccs": rogan_gladen(observed, error, material.how.level)})
    figures.pop("ci")
    figures |= {"exam_sensitivity": rounded(exam.sensitivity.value) if exam.sensitivity else None}
    figures |= {"exam_specificity": rounded(exam.specificity.value) if exam.specificity else None}
    return figures | {"exam_errors": exam.by_kind}


def _ranges(items: Sequence[Observed]) -> Figures:
    """FIT, citation rate and strict CCS of all items if every one that has no outcome had failed, or passed."""
    bits: dict[str, Indicator] = {"fit": fit, "citation_rate": lambda item: item.present, "strict_ccs": strict_ccs}
    figures: Figures = {}
    for name, bit in bits.items() if items else ():
        outcomes = [bit(item) for item in items]
        if name == "strict_ccs":  # a CCS of 0 is 0, whatever is in the image
            outcomes = [False if item.ccs is False else bit for item, bit in zip(items, outcomes, strict=True)]
        figures |= {f"{name}_min": rounded(sum(item is True for item in outcomes) / len(items))}
        figures |= {f"{name}_max": rounded(sum(item is not False for item in outcomes) / len(items))}
    return figures


FAITHFULNESS = edct_table(
    "faithfulness",
    "Faithfulness: does what is cited matter, and nothing else?",
    FaithfulnessRow,
    faithfulness_rows,
    noted(
        "FIT: share of items that cite what is there, whose answer changes under the cited edit and stays under the "
        "edits of uncited objects and of the background. EC: changed under the cited edit, less the greater of the "
        "two uncited ones. Null: nothing was changed. Blank: a gray image. Sham rate: the judge's false positives on "
        f"these items; where neither {LEAST_SHAM} sham edits nor an exam show a specificity of .9, or one of them "
        "shows less, CCS is not backed. Completeness is empty where a blank image changes nothing."
    ),
)


class MeanOf(NamedTuple):
    """A column that holds the mean of a metric over the edits of a control."""

    protocol: str
    metric: str


def missing_cell(row: Any) -> str:
    """Why verdicts are missing, of the condition and of its controls."""
    gone = {"CCS": row.missing, "null": row.missing_null, "blank": row.missing_blank, "uncited": row.missing_uncited}
    return "; ".join(f"{name}: {why}" for name, why in gone.items() if why)


class ControlRow(Condition, TableRow):
    """CCS of a condition beside what changes when nothing, or nothing cited, was edited."""

    n: Items
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
    ci: Methods = ""
    missing_null: str = ""
    """Why null edits have no verdict, with counts."""
    missing_blank: str = ""
    """Why blank images have none."""
    missing_uncited: str = ""
    """Why uncited edits have none."""
    test_world: TestTarget = 0


def control_rows(conditions: Sequence[Condition], material: TableData) -> list[ControlRow]:
    """A row for each condition of the 2025 protocol, with its controls; InputError where a condition or one of its
    controls has no scores, or it is another protocol's.
    """
    return [_control_row(condition, material) for condition in of_2025(conditions, "controls")]


def completeness(scores: Sequence[Row], evidence: str = "") -> list[ItemScore]:
    """The share of an item's uncited edits after which the answer stood; of one kind of evidence where it is named."""
    return values([score for score in scores if not evidence or score.told.evidence == evidence], _stood)


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


def _control_row(condition: Condition, material: TableData) -> ControlRow:
    scores, interval = material.of(condition), material.how
    by_protocol: dict[str, Sequence[Row]] = {}
    for protocol in CONTROLS:
        by_protocol[protocol] = material.of(condition.model_copy(update={"protocol": protocol}))
    null, uncited, blank = (by_protocol[name] for name in (NULL_EDIT, UNCITED_EDIT, BLANK_IMAGE))
    noise, stood = values(null, "answer_moved"), completeness(uncited)
    figures = condition.model_dump() | counts(scores) | bounds("ccs", scores, "ccs")
    for name, field in ControlRow.model_fields.items():
        for mark in field.metadata:
            if isinstance(mark, MeanOf):
                figures[name] = mean_of(values(by_protocol[mark.protocol], mark.metric))
    figures |= {"n_null": len(noise), "missing_null": missing(null), **bounds("noise_floor", null, "answer_moved")}
    figures |= {"n_uncited": len(stood), "missing_uncited": missing(uncited), **bounds("completeness", uncited, _stood)}
    for evidence in ("object", "background"):
        of_kind = completeness(uncited, evidence)
        figures |= {f"completeness_{evidence}": mean_of(of_kind), f"n_{evidence}": len(of_kind)}
    figures |= {"n_blank": len(values(blank, "answer_moved")), "missing_blank": missing(blank)}
    measured = {"ccs": values(scores, "ccs"), "noise_floor": noise, "completeness": stood}
    figures |= figures_of({name: estimate(item_scores, interval) for name, item_scores in measured.items()})
    figures |= cited(scores, interval)
    figures |= {"completeness_empty": is_empty(condition, material), "test_world": material.is_test(condition.vlm)}
    return ControlRow.model_validate(figures)


CONTROLS_TABLE = edct_table(
    "controls",
    "Controls: does what is cited matter, and is what matters cited?",
    ControlRow,
    control_rows,
    noted(
        "Noise floor: share of null edits (the image encoded again, nothing changed) after which the answer had moved "
        "in substance. Sham rate: share of them that the judge scores 1 if it is told the cited edit. Completeness: "
        "share of uncited edits (of something the explanation does not cite) after which the answer stood; an upper "
        "bound, as only a few uncited things are tried; empty where not even a blank image moves the answer. Missing: "
        "of CCS, null edits, blank images and uncited edits."
    ),
)
