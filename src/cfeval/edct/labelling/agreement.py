"""What people said about edits: as numbers, as a consensus, and beside what the tool said; and a tool's error by that.

What somebody did not answer or could not assess is missing, never 0; so are the scores of an edit that was called
invalid.

Where people disagree the edit is hard, and a judge errs there more often. Left out, its error would be that on easy
edits. So a further person decides: by an adjudication of the labels, or as a rater who makes a majority. Until then the
edit is open, and missing.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from cfeval.core.errors import InputError
from cfeval.edct.labelling.records import LABELLED, WITHOUT_PRODUCT, Edited, Judged, Label, PairScore, edited_of
from cfeval.edct.records import Score
from cfeval.report.tables import Figures, figures_of
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import Interval, rounded
from cfeval.stats.misclassification import corrected_phi, judge_error, rogan_gladen
from cfeval.stats.proportions import share, wilson

EDIT_VALID, CCS, GRADE = "edit_valid", "ccs", "grade"
# What a tool said by edit; None where it could not tell. An edit that it did not meet is not there.
Verdicts = Mapping[Edited, float | None]
_EDIT_WORDS = {"valid": 1.0, "invalid": 0.0}


@dataclass(frozen=True)
class Rated:
    """One edit and what each person said about it, in the order of the people."""

    edited: Edited
    answers: tuple[float | None, ...]
    """None: missing."""
    why: tuple[str, ...]
    """Why it is; empty where it is not."""
    cluster: str
    """Edits of the same image share it."""
    weight: float
    decision: float | None = None
    """What an adjudication says; None: there is none, or it has no answer."""
    undecidable: str = ""
    """Why an adjudication has no answer, where it calls the edit invalid or not assessable."""

    @property
    def given(self) -> list[float]:
        """What is not missing."""
        return [value for value in self.answers if value is not None]

    @property
    def agreed(self) -> bool:
        """Whether all say the same who assessed it, at least two of them where there are two people or more."""
        return len(self.given) >= min(2, len(self.answers)) and len(set(self.given)) == 1

    @property
    def consensus(self) -> float | None:
        """What people agree about; or else what was decided, by an adjudication before a majority of three or more."""
        if self.agreed or not self.given:
            return self.given[0] if self.given else self.decision
        if self.decision is not None or self.undecidable:
            return self.decision
        value, votes = Counter(self.given).most_common(1)[0]
        return value if 2 * votes > len(self.given) > 1 else None

    @property
    def hard(self) -> bool:
        """Whether there is a consensus although people did not agree."""
        return self.consensus is not None and not self.agreed

    @property
    def open(self) -> bool:
        """Whether people disagree and nobody has decided."""
        return len(set(self.given)) > 1 and self.consensus is None and not self.undecidable


class KnownEdit(NamedTuple):
    """An item of known truth, what a judge said of it, and its cluster: what `cfeval.stats.misclassification` takes."""

    truth: float
    verdict: float
    cluster: str


def questions(protocol: str) -> tuple[str, ...]:
    """What labels of a protocol can be compared in: the edit, the scores, their product, and the grade."""
    rules, product = LABELLED[protocol], () if protocol in WITHOUT_PRODUCT else (CCS,)
    return (EDIT_VALID, *rules.scores, *product, *((GRADE,) if rules.graded else ()))


def people(labels: Iterable[Label]) -> list[str]:
    """Those who labelled, each once; those who only adjudicated are not among them."""
    return sorted({label.rater for label in labels if not label.adjudication})


def rated(labels: Sequence[Label], about: str) -> list[Rated]:
    """Every edit with what all people said about one of `questions`, and what was decided.

    Raises:
        InputError: somebody labelled an edit twice, as on two sheets; or it is adjudicated twice.
    """
    by_edit: dict[Edited, dict[str, Label]] = defaultdict(dict)
    rulings: dict[Edited, Label] = {}
    for label in labels:
        edited = edited_of(label)
        if label.adjudication:
            if rulings.setdefault(edited, label) is not label:
                raise InputError(
                    f"two adjudications of item '{edited.id}', edit {edited.edit} of {edited.vlm}; keep one"
                )
            continue
        if label.rater in by_edit[edited]:
            where = f"item '{edited.id}', edit {edited.edit} of {edited.vlm}"
            raise InputError(f"two labels of '{label.rater}' for {where}; give each person's labels once")
        by_edit[edited][label.rater] = label
    names = people(labels)
    return [
        _rated(edited, [by.get(name) for name in names], about, rulings.get(edited)) for edited, by in by_edit.items()
    ]


def open_items(labels: Sequence[Label]) -> list[int]:
    """The numbers of the sheet's items that wait for an adjudication; of grades none does, as they correct nothing."""
    numbers = {edited_of(label): label.item for label in labels}
    items: set[int] = set()
    for protocol in {label.protocol for label in labels}:
        mine = [label for label in labels if label.protocol == protocol]
        for about in (name for name in questions(protocol) if name != GRADE):
            items.update(numbers[edit.edited] for edit in rated(mine, about) if edit.open)
    return sorted(items)


def judged(scores: Iterable[Judged], about: str) -> dict[str, dict[Edited, float | None]]:
    """What each judge said about a score, the product or the grade, by the judge's name."""
    by_judge: dict[str, dict[Edited, float | None]] = defaultdict(dict)
    for score in scores:
        by_judge[score.judge][edited_of(score)] = _verdict(score, about)
    return dict(by_judge)


def checked(labels: Iterable[Label], scores: Iterable[Judged]) -> dict[str, dict[Edited, float | None]]:
    """Whether edits are valid: by the editor's own gate, and by the independent check of the scores."""
    gate: dict[Edited, float | None] = {
        edited_of(label): float(label.gate) for label in labels if label.gate is not None
    }
    check = {edited_of(score): _verdict(score, "verified") for score in scores}
    return {
        name: verification
        for name, verification in (("gate", gate), ("check", check))
        if set(verification.values()) - {None}
    }


def known_truth(labels: Sequence[Label], scores: Iterable[Judged], about: str = CCS) -> list[KnownEdit]:
    """The edits for which there are both a human consensus and a verdict, for the error of one judge.

    Args:
        scores: of one judge; labels count for every judge of the same edits.
        about: a score of the protocol, or the product.

    Raises:
        InputError: the sheet was drawn by verdict. Then its share of each verdict is not the study's, and sensitivity
            and specificity cannot be counted on it.
    """
    weights: dict[tuple[str, ...], set[float]] = defaultdict(set)
    for label in labels:
        weights[label.sheet, label.dataset, label.vlm, label.writer, label.protocol, label.editor].add(label.weight)
    if any(len(weights_of_condition) > 1 for weights_of_condition in weights.values()):
        raise InputError(
            "the labels are of a sheet drawn --by-verdict, on which a judge's error cannot be counted; draw one without"
        )
    verdicts = {edited_of(score): _verdict(score, about) for score in scores}
    return [
        KnownEdit(truth, verdict, edit.cluster)
        for edit in rated(labels, about)
        if (truth := edit.consensus) is not None and (verdict := verdicts.get(edit.edited)) is not None
    ]


def _rated(edited: Edited, by: Sequence[Label | None], about: str, ruling: Label | None = None) -> Rated:
    first = next(label for label in by if label)
    answers = tuple(_answer(label, about) if label else None for label in by)
    why = tuple("" if value is not None else _why(label, about) for label, value in zip(by, answers, strict=True))
    edit = Rated(edited, answers, why, first.cluster or f"{edited.dataset}/{edited.id}", first.weight)
    if ruling is None:
        return edit
    decision = _answer(ruling, about)
    if about == CCS:  # an adjudication may answer no more than what was open
        parts = [_rated(edited, by, name, ruling).consensus for name in LABELLED[ruling.protocol].scores]
        decision = None if None in parts else float(all(parts))
    undecidable = _why(ruling, about) if decision is None else ""
    return replace(edit, decision=decision, undecidable="" if undecidable == "not answered" else undecidable)


def _why(label: Label | None, about: str) -> str:
    if label and label.edit_valid == "invalid":
        return "invalid"
    parts = LABELLED[label.protocol].scores if label and about == CCS else (about,)
    refused = label and {getattr(label, part) for part in parts} & {"not_assessable", "cannot_tell"}
    return "not assessable" if refused else "not answered"


def _answer(label: Label, about: str) -> float | None:
    if about == EDIT_VALID:
        return _EDIT_WORDS.get(label.edit_valid or "")
    if about == CCS:
        parts = [_answer(label, name) for name in LABELLED[label.protocol].scores]
        return None if None in parts else float(all(parts))
    mark = getattr(label, about)
    return None if mark in (None, "not_assessable") else float(mark)


def _verdict(score: Judged, about: str) -> float | None:
    if about == GRADE and isinstance(score, Score):
        return None if score.ccs_graded is None else 1 + 4 * score.ccs_graded
    value = getattr(score, about)
    return None if value is None else float(value)


# The question of given pairs whose φ is corrected.
NAMED = "named"
Cells = Mapping[tuple[float, float], Sequence[Rated]]


def error_figures(met: Sequence[Rated], verdicts: Verdicts, level: float) -> Figures:
    """How often a tool errs by the consensus: counts, and shares with the weights of the draw."""
    cells: dict[tuple[float, float], list[Rated]] = {(truth, cell): [] for truth in (0, 1) for cell in (0, 1)}
    for edit in met:
        truth, cell = edit.consensus, verdicts[edit.edited]
        if truth is not None and cell is not None:
            cells[truth, cell].append(edit)
    alike = len({edit.weight for edit in met}) == 1
    return {
        "both_1": len(cells[1, 1]),
        "human_1_tool_0": len(cells[1, 0]),
        "human_0_tool_1": len(cells[0, 1]),
        "both_0": len(cells[0, 0]),
        "n_hard": sum(edit.hard for edits in cells.values() for edit in edits),
        "hard_wrong": sum(edit.hard for edits in (cells[1, 0], cells[0, 1]) for edit in edits),
        **figures_of({"sensitivity": _right(1, cells, alike, level), "specificity": _right(0, cells, alike, level)}),
    }


def corrected_figures(
    labels: Sequence[Label], scores: Sequence[Judged], settings: Interval, about: str = CCS
) -> Figures:
    """A figure of a condition over the items that nobody labelled, corrected for the error that the labels show.

    Edits are the unit, as people label edits. Labelled items are left out, so that the sample which shows the error is
    another than the one that is corrected. Where there is no estimate, `corrected_note` says why.

    Args:
        labels: of one protocol; those of other conditions are left aside.
        scores: of one judge, at least one.
        settings: the level of intervals; resamples and seed for φ.
        about: CCS; or of given pairs a share, `named` with φ.
    """
    by_edit = {edited_of(score): score for score in scores}
    conditions = {_condition(edited) for edited in by_edit}
    if len(conditions) > 1:
        return {"corrected_note": f"the scores are of {len(conditions)} conditions; give those of one"}
    mine = [label for label in labels if _condition(edited_of(label)) in conditions]
    try:
        known_edits = known_truth(mine, by_edit.values(), about)
    except InputError as refused:
        return {"corrected_note": str(refused)}
    labelled = {label.id for label in mine}
    unlabelled = [score for score in by_edit.values() if score.id not in labelled]
    rest = [
        (float(bit), score.cluster or score.id) for score in unlabelled if (bit := getattr(score, about)) is not None
    ]
    if not rest:
        return {"corrected_note": "the scores are of no item that nobody labelled"}
    observed = share([value for value, _ in rest], [group for _, group in rest])
    error = judge_error(
        [edit.verdict for edit in known_edits],
        [edit.truth for edit in known_edits],
        [edit.cluster for edit in known_edits],
    )
    corrected = rogan_gladen(observed, error, settings.level)
    waiting = sum(edit.open for edit in rated(mine, about))
    easier = f"{waiting} labelled edits wait for an adjudication, and the judge's error is that on easier ones"
    notes = [corrected.note, easier if waiting else ""]
    figures: Figures = {"ccs" if about == CCS else "observed": rounded(observed.value), "n_corrected": observed.n}
    figures |= figures_of({"corrected": corrected})
    if about == NAMED and corrected.value is not None:
        figures |= _phi(unlabelled, known_edits, settings)
    return figures | {"corrected_note": "; ".join(filter(None, notes))}


def _phi(unlabelled: Sequence[Judged], known_edits: Sequence[KnownEdit], settings: Interval) -> Figures:
    """φ of unlabelled pairs as judged, and corrected for the judge's error in what is named."""
    rows = [
        (pair.cluster or pair.id, float(pair.answer_moved), float(pair.named))
        for pair in unlabelled
        if isinstance(pair, PairScore) and pair.answer_moved is not None and pair.named is not None
    ]
    tried = [(pair.cluster, pair.truth, pair.verdict) for pair in known_edits]
    judged, corrected = corrected_phi(rows, tried, settings)
    return {"phi": judged if judged is None else rounded(judged)} | figures_of({"corrected_phi": corrected})


def _right(truth: int, cells: Cells, alike: bool, level: float) -> Estimate:
    """The share of right verdicts where people say `truth`; no interval where edits differ in weight."""
    right, wrong = cells[truth, truth], cells[truth, 1 - truth]
    if not (right or wrong):
        return Estimate(None)
    if not alike:
        hit, missed = (sum(edit.weight for edit in part) for part in (right, wrong))
        return Estimate(hit / (hit + missed))
    values = [1.0] * len(right) + [0.0] * len(wrong)
    return wilson(share(values, [edit.cluster for edit in (*right, *wrong)]), level)


def _condition(edited: Edited) -> tuple[str, ...]:
    return edited.dataset, edited.vlm, edited.writer, edited.protocol, edited.editor
