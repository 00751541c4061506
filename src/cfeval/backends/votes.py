"""Several verdicts on the same texts, made one (EDCT 2025, Section 3, Stage 4: strict majority)."""

from collections.abc import Mapping

from cfeval.backends.asking import named_texts
from cfeval.backends.judges.base import Bit, JudgeReply
from cfeval.metrics.majority import majority
from cfeval.metrics.median_grade import median_grade
from cfeval.protocols.rules import RULES
from cfeval.records.common import Status


def count_votes(replies: Mapping[str, JudgeReply], protocol: str) -> JudgeReply:
    """The verdict of a panel; a single member's is left as it is.

    Each score is what more than half of the members say; the grade is the median of theirs, if more than half gave one.
    A member that failed has no vote and still counts as one of the panel. Where all failed in the same way, that is how
    the panel failed; where there is no majority otherwise, the reply is `unparsable` and its reason names the votes.

    Args:
        replies: at least one, by the name of who gave it.
        protocol: whose scores these are.

    Returns:
        No product is stated: a panel states none.
    """
    members = list(replies.values())
    if len(members) == 1:
        return members[0]
    raw = named_texts({name: reply.raw for name, reply in replies.items()})
    calls = tuple(call for reply in members for call in reply.calls)
    voting = [reply if reply.status == Status.OK else JudgeReply() for reply in members]
    scores = _scores(voting, RULES[protocol].scores)
    if scores is None:
        ends = {reply.status for reply in members}
        status = ends.pop() if len(ends) == 1 and Status.OK not in ends else Status.UNPARSABLE
        return JudgeReply(raw=raw, status=status, reason=f"no majority ({_votes(replies)})", calls=calls)
    grade = median_grade([reply.grade for reply in voting])
    missing = f"no majority gave a grade ({_grades(replies)})" if RULES[protocol].graded and grade is None else ""
    return JudgeReply(scores, grade, missing, raw=raw, calls=calls)


def _scores(voting: list[JudgeReply], names: tuple[str, ...]) -> dict[str, Bit] | None:
    """The majorities, or None where one of the scores has none."""
    found = {name: majority([reply.scores.get(name) for reply in voting]) for name in names}
    decided = {name: bit for name, bit in found.items() if bit is not None}
    return decided if len(decided) == len(names) else None


def _votes(replies: Mapping[str, JudgeReply]) -> str:
    return ", ".join(f"{name}: {_failure(reply) or _bits(reply)}" for name, reply in replies.items())


def _grades(replies: Mapping[str, JudgeReply]) -> str:
    return ", ".join(f"{name}: {_failure(reply) or _grade(reply)}" for name, reply in replies.items())


def _bits(reply: JudgeReply) -> str:
    return " ".join(f"{name.upper()} {bit}" for name, bit in reply.scores.items())


def _grade(reply: JudgeReply) -> str:
    return f"{reply.grade:g}" if reply.grade is not None else reply.grade_reason or "none"


def _failure(reply: JudgeReply) -> str:
    if reply.status == Status.OK:
        return ""
    return f"{reply.status}, {reply.reason}" if reply.reason else str(reply.status)
