"""The judge exam, taken by judges whose error is known."""

from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv
from cfeval.core.records import Status
from cfeval.edct.exam.cases import KINDS, exam_cases
from cfeval.edct.exam.cli import examine, run
from cfeval.edct.exam.table import ExamReply, ExamRow, render, rows
from cfeval.inference.chat import ChatReply, ChatRequest
from tests.conftest import Run
from tests.edct.plugins.judging import inside, judge_of, lines
from tests.fake_chat import FakeChat

CASES = exam_cases()
SCORES = ("pcs", "ncc", "ccs", "answer_changed")


def moved(bit: int) -> str:
    """A comparison in the form that is asked for."""
    return f"ANSWER_MOVED: {bit}\nEXPLANATION_MOVED: {bit}"


def constant(bit: int) -> FakeChat:
    """Gives the same for everything."""
    return FakeChat(
        say=lambda asked: ChatReply(moved(bit) if "ANSWER_MOVED" in asked.turns[0].text else lines(bit, bit, bit))
    )


def table_of(model: FakeChat) -> dict[tuple[str, str], ExamRow]:
    replies = list(examine(judge_of(model), CASES, 0))
    return {(row.kind, row.score): row for row in rows(replies, CASES)}


def knowing(asked: ChatRequest) -> ChatReply:
    """Gives the gold scores of the case that it is shown."""
    prompt = asked.turns[0].text
    [case] = [one for one in CASES if one.id == asked.item]
    if "ANSWER_MOVED" in prompt:
        assert inside(prompt, "answer-b") == case.new_answer
        assert case.positive not in prompt, "it is told of no edit"
        return ChatReply(moved(case.answer_changed))
    assert inside(prompt, "answer-after-the-edit") == case.new_answer
    assert case.question not in prompt
    return ChatReply(lines(case.pcs, case.ncc, case.ccs))


def test_a_judge_that_knows_the_gold_scores_makes_no_error() -> None:
    table = table_of(FakeChat(say=knowing))
    assert {row.n_scored for row in table.values() if row.kind == "all"} == {len(CASES)}
    assert {row.sensitivity for row in table.values()} == {1.0, None}
    assert {row.specificity for row in table.values()} == {1.0, None}
    assert len(table) == len(SCORES) * (1 + len(KINDS)) + 1
    identical = table["identical", "answer_changed"]
    assert (identical.n, identical.n_gold_0, identical.specificity) == (24, 24, 1)
    assert table["paraphrase", "answer_changed"].n_gold_0 >= 5


def test_a_judge_that_always_says_yes_has_no_specificity_and_one_that_never_does_no_sensitivity() -> None:
    always, never = table_of(constant(1)), table_of(constant(0))
    for score in SCORES:
        assert (always["all", score].sensitivity, always["all", score].specificity) == (1.0, 0.0)
        assert (never["all", score].sensitivity, never["all", score].specificity) == (0.0, 1.0)
        high = always["all", score].specificity_hi
        assert high is not None
        assert 0 < high < 0.15


def test_a_reply_that_cannot_be_read_is_missing_and_no_error() -> None:
    def unread(asked: ChatRequest) -> ChatReply:
        return ChatReply("I cannot tell.") if asked.item.startswith("hedge") else knowing(asked)

    table = table_of(FakeChat(say=unread))
    everything, hedges = table["all", "pcs"], table["hedge", "pcs"]
    assert (hedges.n_scored, hedges.sensitivity, hedges.specificity) == (0, None, None)
    assert hedges.missing == f"unparsable {hedges.n}"
    assert (everything.n_scored, everything.sensitivity) == (len(CASES) - hedges.n, 1.0)


def test_the_verb_writes_every_reply_and_the_table(cfeval: Run, tmp_path: Path) -> None:
    status, printed, _ = cfeval("edct", "exam", "--out", tmp_path / "exam", "--judge", '{"plugin": "lexical"}')
    assert status == 1
    assert printed.rstrip().splitlines()[-1].startswith("fail: sees changes that are not there: do not use.")
    table = read_csv(tmp_path / "exam.csv", ExamRow)
    replies = read_csv(tmp_path / "exam-replies.csv", ExamReply)
    assert [reply.id for reply in replies] == [case.id for case in CASES]
    overall = {row.score: row for row in table if row.kind == "all"}
    assert all(0 < (row.specificity or 0) < 0.5 < (row.sensitivity or 0) <= 1 for row in overall.values())
    [same] = [row for row in table if row.kind == "identical"]
    assert (same.score, same.specificity) == ("answer_changed", 1), "it finds no word that is another"
    assert (tmp_path / "exam.md").read_text() in printed
    assert (tmp_path / "exam.tex").is_file()


def test_a_judge_that_does_not_understand_the_texts_is_told_and_never_scored(cfeval: Run, tmp_path: Path) -> None:
    status, printed, _ = cfeval("edct", "exam", "--out", tmp_path / "exam", "--judge", '{"plugin": "grammar"}')
    assert status == 1
    assert f"fail: cannot follow the form: do not use. CCS: 0 of {len(CASES)} replies have a score (" in printed
    replies = read_csv(tmp_path / "exam-replies.csv", ExamReply)
    assert {(reply.status, reply.pcs) for reply in replies} == {(Status.UNPARSABLE, None)}
    table = [row for row in read_csv(tmp_path / "exam.csv", ExamRow) if row.score != "answer_changed"]
    assert {(row.n_scored, row.sensitivity, row.specificity) for row in table} == {(0, None, None)}
    assert f"unparsable {len(CASES)}" in "".join(render(table).body[0])


def test_a_judge_of_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="texts only"):
        run(tmp_path / "exam", judge='{"plugin": "blind", "model": {"plugin": "mock"}}')


def test_a_comparison_that_calls_every_paraphrase_another_answer_is_found_out() -> None:
    """Its scores are perfect: the exam of these alone would not show it."""

    def literal(asked: ChatRequest) -> ChatReply:
        if "ANSWER_MOVED" not in (prompt := asked.turns[0].text):
            return knowing(asked)
        return ChatReply(moved(int(inside(prompt, "answer-a") != inside(prompt, "answer-b"))))

    table = table_of(FakeChat(say=literal))
    assert {table["all", score].specificity for score in ("pcs", "ncc", "ccs")} == {1}
    assert (table["all", "answer_changed"].sensitivity, table["paraphrase", "answer_changed"].specificity) == (1, 0)
    assert table["identical", "answer_changed"].specificity == 1


def test_a_comparison_that_cannot_be_read_is_missing_of_that_score_alone() -> None:
    table = table_of(FakeChat(say=lambda asked: ChatReply("?") if "_MOVED" in asked.turns[0].text else knowing(asked)))
    assert table["all", "answer_changed"].missing == f"unparsable {len(CASES)}"
    assert (table["all", "ccs"].missing, table["all", "ccs"].n_scored) == ("", len(CASES))
