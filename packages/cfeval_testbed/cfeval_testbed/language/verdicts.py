"""Verdicts in the language of the test bed: a protocol's scores from what was said and which edits were made."""

from collections.abc import Callable, Sequence

from cfeval.core.records import Binary, Status
from cfeval.edct.interfaces import JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, RULES
from cfeval_testbed.language.explanations import parse_answer, parse_explanation
from cfeval_testbed.language.reasoning import StatedAnswer, answer_follows, consistency, explanation_follows, moved
from cfeval_testbed.records import Claim, EditIntent, Fact


def control_verdict(request: JudgeRequest) -> JudgeReply:
    """Whether answer and cited evidence moved under an edit of nothing that was cited; wording does not count."""
    said = [
        StatedAnswer(answer, parse_explanation(explanation))
        for answer, explanation in (
            (request.answer, request.explanation),
            (request.new_answer, request.new_explanation),
        )
    ]
    found = moved(*said)
    return unread("answer or explanation") if found is None else _scored(request.protocol, *found)


def verdict(
    request: JudgeRequest, before: Claim, intents: Sequence[EditIntent], seen: Callable[[Fact], bool] = lambda _: True
) -> JudgeReply:
    """The verdict of a protocol that edits what is cited.

    Args:
        request: what was said before and after.
        before: its first explanation, parsed.
        intents: the edits.
        seen: whether a fact is true of the edited image, for a judge that sees it.
    """
    after = parse_explanation(request.new_explanation)
    if request.protocol == EDCT_2025:
        follows = answer_follows(before, request.answer, intents, request.new_answer)
        shows = after is not None and explanation_follows(StatedAnswer(request.new_answer, after), before, intents)
        return _scored(request.protocol, follows, shows)
    if parse_answer(request.answer) is None:
        return unread("first answer")
    found = consistency(before, request.answer, intents, StatedAnswer(request.new_answer, after), seen)
    return _scored(request.protocol, found.answer, found.explanation, found.grade)


def unread(what: str) -> JudgeReply:
    """What cannot be read is not scored."""
    return JudgeReply(status=Status.UNPARSABLE, reason=f"the {what} is not in the test bed's language")


def _scored(protocol: str, first: bool, second: bool, grade: float | None = None) -> JudgeReply:
    names = RULES[protocol].scores
    product: Binary = 1 if first and second else 0
    return JudgeReply(
        scores={names[0]: 1 if first else 0, names[1]: 1 if second else 0},
        grade=grade,
        stated_ccs=None if protocol in CONTROLS else product,
    )
