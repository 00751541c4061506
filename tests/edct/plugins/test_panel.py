"""Panels of judges: strict majority of the full panel, the median of the grades, and what a failure does to both."""

import re
from collections import Counter
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError, PluginError
from cfeval.core.records import Status
from cfeval.edct.interfaces import Judge, JudgeReply, JudgeRequest
from cfeval.edct.plugins.judges import Panel
from tests.answers import answers
from tests.edct.plugins.judging import request

BENCH = "edct-bench-2026"


class Says:
    """A judge that says the same of everything."""

    needs_image = False

    def __init__(self, reply: JudgeReply) -> None:
        self.reply = reply

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        del request
        return self.reply


def panel(*replies: JudgeReply, protocol: str = "edct-2025") -> JudgeReply:
    judges: dict[str, Judge] = {f"judge {n}": Says(reply) for n, reply in enumerate(replies, start=1)}
    first, again = answers(Panel(judges).judge, [request("a", protocol), request("b", protocol)])
    assert first == again
    return first


def ruled(pcs: Any, ncc: Any, raw: str = "") -> JudgeReply:
    return JudgeReply({"pcs": pcs, "ncc": ncc}, stated_ccs=pcs, completion=raw, calls=(raw[:1],))


def graded(grade: float | None, reason: str = "", ac: Any = 1) -> JudgeReply:
    return JudgeReply({"ac": ac, "ef": 1}, grade, reason)


YES, NO = ruled(1, 1, "yes"), ruled(0, 1, "no")
LOST = JudgeReply(status=Status.TRANSPORT_ERROR, reason="gone", calls=("l",))


def test_a_panel_decides_by_strict_majority_of_all_its_members() -> None:
    reply = panel(YES, NO, YES)
    assert (reply.scores, reply.stated_ccs, reply.calls) == ({"pcs": 1, "ncc": 1}, None, ("y", "n", "y"))
    assert reply.completion == "=== judge 1 ===\nyes\n\n=== judge 2 ===\nno\n\n=== judge 3 ===\nyes"
    assert panel(YES, NO, NO).scores == {"pcs": 0, "ncc": 1}
    assert panel(YES, YES, LOST).scores == {"pcs": 1, "ncc": 1}


@pytest.mark.parametrize("members", [(YES, NO), (YES, LOST), (YES, NO, LOST), (YES, YES, NO, NO), (YES, LOST, LOST)])
def test_without_a_strict_majority_nothing_is_scored(members: tuple[JudgeReply, ...]) -> None:
    reply = panel(*members)
    assert (reply.status, reply.scores, reply.grade) == (Status.UNPARSABLE, {}, None)
    votes = Counter(re.findall(r"PCS \d NCC \d|transport_error, gone", reply.reason))
    said = {id(YES): "PCS 1 NCC 1", id(NO): "PCS 0 NCC 1", id(LOST): "transport_error, gone"}
    assert votes == Counter(said[id(member)] for member in members)


def test_a_majority_for_one_score_alone_is_none() -> None:
    reply = panel(ruled(1, 1), ruled(1, 0), ruled(1, 1), ruled(1, 0))
    assert (reply.status, reply.scores) == (Status.UNPARSABLE, {})


def test_a_panel_that_fails_in_one_way_fails_in_that_way() -> None:
    assert panel(LOST, LOST, LOST).status == Status.TRANSPORT_ERROR
    assert panel(LOST, JudgeReply(status=Status.REFUSED)).status == Status.UNPARSABLE


def test_a_panel_of_one_is_that_judge() -> None:
    assert panel(YES) == YES
    assert panel(LOST) == LOST
    assert panel(graded(3), protocol=BENCH) == graded(3)


def test_scores_beside_a_failure_are_no_vote() -> None:
    odd = JudgeReply({"pcs": 1, "ncc": 1}, 5, status=Status.TRUNCATED)
    assert panel(YES, NO, odd).scores == {}


@pytest.mark.parametrize(
    ("members", "grade"),
    [
        ((graded(5), graded(2), graded(4)), 4),
        ((graded(5), graded(2)), 3.5),
        ((graded(1), graded(None, "truncated"), graded(2)), 1.5),
        ((graded(1, ac=0), graded(5), LOST, graded(4)), None),
        ((graded(3), graded(None, "refused, no"), graded(None, "truncated")), None),
        ((graded(3), graded(None, "refused, no")), None),
        ((graded(3), LOST), None),
    ],
)
def test_the_grade_is_the_median_if_more_than_half_gave_one(
    members: tuple[JudgeReply, ...], grade: float | None
) -> None:
    reply = panel(*members, protocol=BENCH)
    if reply.status != Status.OK:
        assert (reply.grade, reply.grade_reason) == (None, "")
        return
    assert reply.scores == {"ac": 1, "ef": 1}
    assert reply.grade == grade
    assert bool(reply.grade_reason) == (grade is None)


def test_why_there_is_no_grade_names_every_member() -> None:
    two_of_four = (graded(3), graded(None, "refused, no"), graded(4.5), graded(None))
    reply = panel(*two_of_four, protocol=BENCH)
    assert reply.status == Status.OK
    said = "judge 1: 3, judge 2: refused, no, judge 3: 4.5, judge 4: none"
    assert reply.grade_reason == f"no majority gave a grade ({said})"
    reply = panel(graded(3), graded(4), LOST, graded(None, "cut"), graded(None, "cut"), protocol=BENCH)
    assert "judge 3: transport_error, gone" in reply.grade_reason


def test_a_protocol_without_a_grade_misses_none() -> None:
    assert panel(YES, YES, NO).grade_reason == ""


def test_a_panel_of_panels_takes_their_grades() -> None:
    judges: dict[str, Judge] = {f"judge {n}": Says(graded(n)) for n in (2, 3)}
    outer = Panel({"panel": Panel(judges), "alone": Says(graded(4))})
    [reply] = answers(outer.judge, [request(protocol=BENCH)])
    assert reply.grade == 3.25


def test_a_panel_of_nobody_is_refused() -> None:
    with pytest.raises(ParamsError, match="option 'judges' of 'panel'"):
        registry.build("judges", {"plugin": "panel", "judges": []})
    with pytest.raises(ParamsError, match="unknown judges plugin 'None'"):
        registry.build("judges", {"plugin": "panel", "judges": [{}]})


CHAT, BLIND = ({"plugin": name, "model": {"plugin": "mock"}} for name in ("chat", "blind"))


def test_a_panel_of_blind_judges_needs_the_image() -> None:
    other = BLIND | {"order": "edited-first"}
    assert registry.build("judges", {"plugin": "panel", "judges": [BLIND, other]}).needs_image
    assert not registry.build("judges", {"plugin": "panel", "judges": [CHAT]}).needs_image


@pytest.mark.parametrize("mixed", [[CHAT, BLIND], [{"plugin": "panel", "judges": [BLIND]}, CHAT, BLIND]])
def test_blind_judges_and_others_make_no_panel(mixed: list[dict[str, Any]]) -> None:
    with pytest.raises(PluginError, match=r"panel: (judge \d \(\w+\)(, )?)+ must not know the edits, the others must"):
        registry.build("judges", {"plugin": "panel", "judges": mixed})
