"""Replies of judges, honest and hostile: which scores are read, and where the judge is asked once more."""

import pytest

from cfeval.edct.interfaces import JudgeReply
from cfeval.edct.protocols import controls, edct_2025, edct_bench_2026
from tests.edct.plugins.judging import judged
from tests.edct.protocols.replies import KEPT_BACK, LAST, REPLIES, A, Scores
from tests.fake_chat import FakeChat

CASES = [
    pytest.param(text, scores, id=f"{kind}-{number}")
    for table in (REPLIES, KEPT_BACK, LAST)
    for kind, replies in table.items()
    for number, (text, scores) in enumerate(replies)
]


@pytest.mark.parametrize(("text", "scores"), CASES)
def test_scores_are_read_where_a_reply_leaves_no_doubt(text: str, scores: Scores) -> None:
    found = edct_2025.read_verdict(text)
    assert (tuple(found.model_dump().values()) if found else None) == scores


@pytest.mark.parametrize(("text", "scores"), CASES)
def test_every_protocol_reads_alike(text: str, scores: Scores) -> None:
    other = text
    for name, label in (("PCS", "AC"), ("NCC", "EF")):
        for case in (str.upper, str.lower, str.title):
            other = other.replace(case(name), case(label))
    found = edct_bench_2026.read_verdict(other)
    assert (tuple(found.model_dump().values()) if found else None) == scores


def test_a_reply_that_leaves_doubt_has_a_repair_turn() -> None:
    model = FakeChat(f"{A}\n\nOn reflection the answer stayed the same.", "PCS: 0\nNCC: 1\nCCS: 0")
    reply: JudgeReply = judged(model)
    assert reply.scores == {"pcs": 0, "ncc": 1}
    assert len(model.seen) == 2


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("Grade: 4/5", 4),
        ("**Grade** = [3]", 3),
        ("| Grade |\n|---|\n| 2 |", 2),
        ("Grade: 5 (very sound)", None),
        ("Grade: 4, or 5", None),
        ("Grade: 4\nGrade: 5", None),
        ("Grade: 4\n\nI would rather say 2.", None),
    ],
)
def test_grades_are_read_by_the_same_rule(text: str, grade: int | None) -> None:
    found = edct_bench_2026.read_grade(text)
    assert (found.grade if found else None) == grade


def test_the_labels_of_controls_may_have_a_space() -> None:
    said = "| Answer moved | Explanation moved |\n|---|---|\n| 1 | 0 |"
    assert controls.read_comparison("Answer moved: 1\nExplanation moved: 0") is not None
    assert controls.read_comparison(said) == controls.Comparison(answer_moved=1, explanation_moved=0)
