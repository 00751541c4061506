"""What a judge is told, and what becomes of its reply."""

from typing import Any

import pytest

from cfeval.core.records import Status
from cfeval.edct.interfaces import (
    JudgeReply,
)
from cfeval.edct.metrics import ccs_graded
from cfeval.edct.protocols.rules import RULES
from tests.edct.stages.in_memory import Sitting, judged
from tests.images import image


def test_a_judge_is_told_the_whole_chain_so_far_and_nothing_of_a_control() -> None:
    told = {}
    for protocol in RULES:
        judge = Sitting(JudgeReply())
        judged(judge, protocol)
        told[protocol] = [[change.positive for change in request.changes] for request in judge.seen]
    assert told == {
        "edct-2025": [["p1"], ["p2"]],
        "edct-bench-2026": [["p1"], ["p1", "p2"]],
        "null-edit": [[], []],
        "editor-null": [[], []],
        "uncited-edit": [[], []],
        "blank-image": [[], []],
    }


def test_a_blind_judge_sees_question_and_edited_image_and_no_instruction() -> None:
    judge = Sitting(JudgeReply(), needs_image=True)
    judged(judge, "edct-bench-2026")
    assert [(r.question, r.changes, r.image) for r in judge.seen] == [("q?", (), image(n)) for n in (1, 2)]
    texts = Sitting(JudgeReply())
    judged(texts, "edct-bench-2026")
    assert {(r.question, r.image) for r in texts.seen} == {("", None)}


@pytest.mark.parametrize(
    ("scores_given", "reason"),
    [
        ({}, "the judge gave no ac or no ef"),
        ({"ac": 1}, "the judge gave no ef"),
        ({"pcs": 1, "ncc": 1}, "the judge gave no ac or no ef"),
    ],
)
def test_scores_of_another_protocol_are_no_verdict(scores_given: dict[str, Any], reason: str) -> None:
    [verdict] = judged(Sitting(JudgeReply(scores_given, completion="said")), "edct-bench-2026", edits=1)
    assert (verdict.status, verdict.reason, verdict.completion) == (Status.UNPARSABLE, reason, "said")


def test_a_missing_grade_leaves_the_scores_and_says_why() -> None:
    reply = JudgeReply({"ac": 1, "ef": 1}, grade_reason="cut off")
    [verdict] = judged(Sitting(reply), "edct-bench-2026", edits=1)
    assert (verdict.status, verdict.grade, verdict.grade_reason) == (Status.OK, None, "cut off")


@pytest.mark.parametrize(("grade", "graded"), [(1, 0.0), (2, 0.25), (3, 0.5), (4.5, 0.875), (5, 1.0)])
def test_a_grade_is_brought_to_the_unit_interval(grade: float, graded: float) -> None:
    assert ccs_graded(grade) == graded


def test_a_grade_out_of_range_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"`grade` must be in \[1, 5\], but got 0"):
        ccs_graded(0)
