"""From drafts to a set: nothing enters it unverified (C-VQA, Section 3.2)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cfeval.protocols.cvqa.arithmetic import check_sum
from cfeval.protocols.cvqa.steps import numbers_fault, turn_fault
from cfeval.records.common import Status
from cfeval.records.cvqa import CvqaBuild, Decision, Draft, Fate, Pair, Question, Review


@dataclass(frozen=True)
class Assembly:
    """What came of a draft, and the pair where it became one."""

    build: CvqaBuild
    pair: Pair | None = None


_Left = tuple[Fate, str]
"""Why a draft is left out, and the reason in words."""


def assembled(
    drafts: Iterable[Draft], reviews: Mapping[str, Review], decisions: Mapping[str, Decision], people: bool
) -> Iterator[Assembly]:
    """Decide about every draft, in order.

    A person's `no` drops a draft; a `yes` overrules the second model, and what the person corrected replaces what the
    draft says. A sum that is wrong drops a draft that nobody corrected, whoever accepts it; a direct draft without a
    sum needs a person's yes.

    Args:
        drafts: what was written.
        reviews: what the second model says, by id.
        decisions: what people decided, by id.
        people: whether a person must have accepted each; where not, the second model suffices.
    """
    for draft in drafts:
        decision = decisions.get(draft.id, Decision(id=draft.id))
        yield _assembled(draft, reviews.get(draft.id), decision, people)


def _assembled(draft: Draft, review: Review | None, decision: Decision, people: bool) -> Assembly:
    corrected = bool(decision.question or decision.answer)
    left = _left_out(draft, review, decision, people)
    if left is not None:
        return Assembly(CvqaBuild(id=draft.id, type=draft.type, fate=left[0], reason=left[1]))
    build = CvqaBuild(
        id=draft.id,
        type=draft.type,
        fate="accepted",
        by="person" if decision.accept else "model",
        corrected=1 if corrected else 0,
    )
    return Assembly(build, _pair(draft, decision))


def _left_out(draft: Draft, review: Review | None, decision: Decision, people: bool) -> _Left | None:
    """Why a draft does not enter the set, the first reason that holds; None where it does."""
    if draft.status != Status.OK:
        return "not written", f"{draft.status}: {draft.reason}"
    if decision.accept == "no":
        return "rejected", decision.comment
    sums = _sum_fault(draft)
    if decision.accept == "yes":
        corrected = bool(decision.question or decision.answer)
        return ("wrong sum", sums) if sums and not corrected else None
    if sums:
        return "wrong sum", sums
    if _without_sum(draft):
        return "no sum", "step 2 states no sum that could be recomputed; a person can accept the draft"
    if fault := _step_fault(draft):
        return "inconsistent", fault
    return _unreviewed(review) or (("undecided", "") if people else None)


def _sum_fault(draft: Draft) -> str:
    """What is wrong with the sum of a direct draft; empty where it agrees or there is none."""
    if draft.type != "direct":
        return ""
    return check_sum(draft.step2, draft.original.answer, draft.answer).reason


def _without_sum(draft: Draft) -> bool:
    """Whether a number was worked out in a way that nobody can recompute."""
    if draft.type != "direct":
        return False
    return check_sum(draft.step2, draft.original.answer, draft.answer).verdict == "no sum"


def _step_fault(draft: Draft) -> str:
    """Whether the steps say something else than the new question and answer."""
    if draft.type == "boolean":
        return turn_fault(draft.step1, draft.answer)
    return numbers_fault(draft.step1, draft.original.question, draft.question)


def _unreviewed(review: Review | None) -> _Left | None:
    if review is None or review.status != Status.OK:
        return "not reviewed", review.reason if review else "there is no review of it"
    if review.related != 1:
        return "not related", review.reason_given
    if review.reasonable != 1:
        return "not reasonable", review.reason_given
    return None


def _pair(draft: Draft, decision: Decision) -> Pair:
    return Pair(
        id=draft.id,
        image=draft.image,
        original=draft.original,
        counterfactual=Question(question=decision.question or draft.question, answer=decision.answer or draft.answer),
        type=draft.type,
        img_path=draft.img_path,
        coco=draft.coco,
        metadata=draft.metadata,
    )
