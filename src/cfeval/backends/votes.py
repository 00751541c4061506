"""Several verdicts on the same texts, made one by strict majority (EDCT 2025, Section 3, Stage 4)."""

from collections.abc import Mapping

from cfeval.backends.asking import named_texts
from cfeval.backends.judges.base import JudgeReply
from cfeval.metrics.majority import majority
from cfeval.records.common import Status


def count_votes(replies: Mapping[str, JudgeReply]) -> JudgeReply:
    """The verdict of a panel; a single member's is left as it is.

    A member that failed has no vote and still counts as one of the panel. Where all failed in the same way, that is how
    the panel failed; where there is no majority otherwise, the reply is `unparsable` and its reason names the votes.

    Args:
        replies: at least one, by the name of who gave it.

    Returns:
        No product is stated: a panel states none.
    """
    members = list(replies.values())
    if len(members) == 1:
        return members[0]
    raw = named_texts({name: reply.raw for name, reply in replies.items()})
    calls = tuple(call for reply in members for call in reply.calls)
    voting = [reply if reply.status == Status.OK else JudgeReply() for reply in members]
    pcs, ncc = majority([reply.pcs for reply in voting]), majority([reply.ncc for reply in voting])
    if pcs is not None and ncc is not None:
        return JudgeReply(pcs, ncc, raw=raw, calls=calls)
    ends = {reply.status for reply in members}
    status = ends.pop() if len(ends) == 1 and Status.OK not in ends else Status.UNPARSABLE
    votes = ", ".join(f"{name}: {_vote(reply)}" for name, reply in replies.items())
    return JudgeReply(raw=raw, status=status, reason=f"no majority ({votes})", calls=calls)


def _vote(reply: JudgeReply) -> str:
    if reply.status != Status.OK:
        return f"{reply.status}, {reply.reason}" if reply.reason else str(reply.status)
    return f"PCS {reply.pcs} NCC {reply.ncc}"
