"""What people said about edits: as numbers, as a consensus, and beside what the tool said.

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
from cfeval.edct.labelling.records import LABELLED, WITHOUT_PRODUCT, Edited, Judged, Label, edited_of
from cfeval.edct.records import Score

EDIT_VALID, CCS, GRADE = "edit_valid", "ccs", "grade"
Verdicts = Mapping[Edited, float | None]
"""What a tool said by edit; None where it could not tell. An edit that it did not meet is not there."""
_EDIT_WORDS = {"valid": 1.0, "invalid": 0.0}


@dataclass(frozen=True)
class Rated:
    """One edit and what each person said about it, in the order of the people."""

    edited: Edited
    said: tuple[float | None, ...]
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
        return [value for value in self.said if value is not None]

    @property
    def agreed(self) -> bool:
        """Whether all say the same who assessed it, at least two of them where there are two people or more."""
        return len(self.given) >= min(2, len(self.said)) and len(set(self.given)) == 1

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


class Known(NamedTuple):
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
    found: dict[Edited, dict[str, Label]] = defaultdict(dict)
    rulings: dict[Edited, Label] = {}
    for label in labels:
        edited = edited_of(label)
        if label.adjudication:
            if rulings.setdefault(edited, label) is not label:
                raise InputError(
                    f"two adjudications of item '{edited.id}', edit {edited.edit} of {edited.vlm}; keep one"
                )
            continue
        if label.rater in found[edited]:
            where = f"item '{edited.id}', edit {edited.edit} of {edited.vlm}"
            raise InputError(f"two labels of '{label.rater}' for {where}; give each person's labels once")
        found[edited][label.rater] = label
    names = people(labels)
    return [
        _rated(edited, [by.get(name) for name in names], about, rulings.get(edited)) for edited, by in found.items()
    ]


def open_items(labels: Sequence[Label]) -> list[int]:
    """The numbers of the sheet's items that wait for an adjudication; of grades none does, as they correct nothing."""
    numbers = {edited_of(label): label.item for label in labels}
    found: set[int] = set()
    for protocol in {label.protocol for label in labels}:
        mine = [label for label in labels if label.protocol == protocol]
        for about in (name for name in questions(protocol) if name != GRADE):
            found.update(numbers[one.edited] for one in rated(mine, about) if one.open)
    return sorted(found)


def judged(scores: Iterable[Judged], about: str) -> dict[str, dict[Edited, float | None]]:
    """What each judge said about a score, the product or the grade, by the judge's name."""
    found: dict[str, dict[Edited, float | None]] = defaultdict(dict)
    for score in scores:
        found[score.judge][edited_of(score)] = _verdict(score, about)
    return dict(found)


def checked(labels: Iterable[Label], scores: Iterable[Judged]) -> dict[str, dict[Edited, float | None]]:
    """Whether edits are valid: by the editor's own gate, and by the independent check of the scores."""
    gate: dict[Edited, float | None] = {edited_of(one): float(one.gate) for one in labels if one.gate is not None}
    check = {edited_of(score): _verdict(score, "verified") for score in scores}
    return {name: found for name, found in (("gate", gate), ("check", check)) if set(found.values()) - {None}}


def known_truth(labels: Sequence[Label], scores: Iterable[Judged], about: str = CCS) -> list[Known]:
    """The edits for which there are both a human consensus and a verdict, for the error of one judge.

    Args:
        labels: of one protocol.
        scores: of one judge; labels count for every judge of the same edits.
        about: a score of the protocol, or the product.

    Raises:
        InputError: the sheet was drawn by verdict. Then its share of each verdict is not the study's, and sensitivity
            and specificity cannot be counted on it.
    """
    _refuse_drawn_by_verdict(labels)
    verdicts = {edited_of(score): _verdict(score, about) for score in scores}
    return [
        Known(truth, verdict, one.cluster)
        for one in rated(labels, about)
        if (truth := one.consensus) is not None and (verdict := verdicts.get(one.edited)) is not None
    ]


def _refuse_drawn_by_verdict(labels: Iterable[Label]) -> None:
    weights: dict[tuple[str, ...], set[float]] = defaultdict(set)
    for label in labels:
        weights[label.sheet, label.dataset, label.vlm, label.writer, label.protocol, label.editor].add(label.weight)
    if any(len(found) > 1 for found in weights.values()):
        raise InputError(
            "the labels are of a sheet drawn --by-verdict, on which a judge's error cannot be counted; draw one without"
        )


def _rated(edited: Edited, by: Sequence[Label | None], about: str, ruling: Label | None = None) -> Rated:
    first = next(label for label in by if label)
    said = tuple(_said(label, about) if label else None for label in by)
    why = tuple("" if value is not None else _why(label, about) for label, value in zip(by, said, strict=True))
    found = Rated(edited, said, why, first.cluster or f"{edited.dataset}/{edited.id}", first.weight)
    if ruling is None:
        return found
    decision = _said(ruling, about)
    if about == CCS:  # an adjudication may answer no more than what was open
        parts = [_rated(edited, by, name, ruling).consensus for name in LABELLED[ruling.protocol].scores]
        decision = None if None in parts else float(all(parts))
    undecidable = _why(ruling, about) if decision is None else ""
    return replace(found, decision=decision, undecidable="" if undecidable == "not answered" else undecidable)


def _why(label: Label | None, about: str) -> str:
    """Why somebody's answer is missing."""
    if label and label.edit_valid == "invalid":
        return "invalid"
    parts = LABELLED[label.protocol].scores if label and about == CCS else (about,)
    refused = label and {getattr(label, part) for part in parts} & {"not_assessable", "cannot_tell"}
    return "not assessable" if refused else "not answered"


def _said(label: Label, about: str) -> float | None:
    if about == EDIT_VALID:
        return _EDIT_WORDS.get(label.edit_valid or "")
    if about == CCS:
        parts = [_said(label, name) for name in LABELLED[label.protocol].scores]
        return None if None in parts else float(all(parts))
    mark = getattr(label, about)
    return None if mark in (None, "not_assessable") else float(mark)


def _verdict(score: Judged, about: str) -> float | None:
    if about == GRADE and isinstance(score, Score):
        return None if score.ccs_graded is None else 1 + 4 * score.ccs_graded
    value = getattr(score, about)
    return None if value is None else float(value)
