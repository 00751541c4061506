"""What a verdict says besides its scores: whether the answer moved, sham and swapped pairs, and who is asked for it."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cfeval.core.records import Status
from cfeval.edct.interfaces import JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, EDCT_2025, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Baseline, Instruction, Requery, Verdict
from cfeval.edct.stages.verdicts import verdicts
from tests.images import image

SAME, OTHER, OPEN = ("two", "the red car"), ("three", "the blue bus"), ("some", "the red cars")
"""Answer and explanation: as before, with another number, and with an answer that the texts alone do not compare."""
BEFORE = SAME


class Noting:
    """A judge that notes what it is asked, and replies by protocol; each call has a key of its own."""

    needs_image = False

    def __init__(self, moved: int = 1, status: Status = Status.OK, ccs: int = 1) -> None:
        self.moved, self.status, self.ccs = moved, status, ccs
        self.seen: list[JudgeRequest] = []

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        self.seen.append(request)
        names = ("pcs", "ncc") if request.protocol == EDCT_2025 else ("answer_moved", "explanation_moved")
        bit = self.ccs if request.protocol == EDCT_2025 else self.moved
        scores: Any = dict.fromkeys(names, bit) if self.status == Status.OK else {}
        number = len(self.seen)
        return JudgeReply(scores, completion=f"said {number}", status=self.status, calls=(f"{number:064x}",))


class Seeing(Noting):
    """One that looks at the edited image."""

    needs_image = True


def judged(
    judge: Noting,
    protocol: str,
    *later: tuple[str, str],
    first: Sequence[str] = (),
    cited: dict[tuple[str, int], Instruction] | None = None,
    **options: Any,
) -> list[Verdict]:
    """The verdicts of items with these replies after the edit; `first` are the answers before it, else all as in
    `BEFORE`.
    """
    answers = first or [BEFORE[0]] * len(later)
    items = [f"i{number}" for number in range(len(later))]
    before = {
        i: Baseline(id=i, question="?", answer=a, explanation=BEFORE[1]) for i, a in zip(items, answers, strict=True)
    }
    again = [Requery(id=i, answer=a, explanation=e) for i, (a, e) in zip(items, later, strict=True)]
    told = {(i, 1): Instruction(id=i, concept="red car", positive="Paint it.", negative="red") for i in items}
    images: Callable[[str, int], Any] = lambda item, edit: image(1)  # noqa: E731
    return list(verdicts(again, before, told, images, judge, protocol, 7, cited, **options))


def cited_edits(items: int, **fields: Any) -> dict[tuple[str, int], Instruction]:
    """The cited edits of items."""
    return {
        (f"i{n}", 1): Instruction(id=f"i{n}", **{"positive": f"Remove {n}.", "negative": "it"} | fields)
        for n in range(items)
    }


@pytest.mark.parametrize("protocol", CONTROLS)
def test_where_all_texts_are_equal_nobody_is_asked(protocol: str) -> None:
    judge = Noting()
    [verdict] = judged(judge, protocol, ("Two.", "The red car!"))
    assert (judge.seen, verdict.status, verdict.calls, verdict.completion) == ([], Status.OK, (), "")
    assert verdict.scores == {"answer_moved": 0, "explanation_moved": 0}
    assert verdict.answer_moved == 0


@pytest.mark.parametrize("protocol", CONTROLS)
def test_texts_that_decide_come_before_a_judge_who_says_otherwise(protocol: str) -> None:
    for later, said, moved in (((SAME[0], OTHER[1]), 1, 0), (OTHER, 0, 1)):
        judge = Noting(moved=said)
        [verdict] = judged(judge, protocol, later)
        assert [request.changes for request in judge.seen] == [()], "of the explanation it is asked"
        assert verdict.scores == {"answer_moved": moved, "explanation_moved": said}
        assert verdict.answer_moved == moved


@pytest.mark.parametrize("moved", [0, 1])
def test_what_texts_leave_open_the_judge_decides(moved: int) -> None:
    for protocol in CONTROLS:
        [verdict] = judged(Noting(moved=moved), protocol, OPEN)
        assert (verdict.answer_moved, verdict.scores["answer_moved"]) == (moved, moved)


def test_an_answer_that_moved_by_its_text_is_known_although_the_judge_failed() -> None:
    refusing = Noting(status=Status.REFUSED)
    known, unknown = judged(refusing, UNCITED_EDIT, OTHER, OPEN)
    assert (known.status, known.scores, known.answer_moved) == (Status.REFUSED, {}, 1)
    assert (unknown.status, unknown.answer_moved) == (Status.REFUSED, None)
    [cited] = judged(Noting(status=Status.REFUSED), EDCT_2025, OTHER, compare=True)
    assert (cited.status, cited.answer_moved) == (Status.REFUSED, 1)


def test_a_cited_edit_is_compared_only_where_a_study_has_controls() -> None:
    judge = Noting()
    [verdict] = judged(judge, EDCT_2025, OPEN)
    assert (len(judge.seen), verdict.answer_moved) == (1, None)


@pytest.mark.parametrize(("later", "moved"), [(SAME, 0), (OTHER, 1)])
def test_texts_that_decide_cost_no_call_beyond_the_scores(later: tuple[str, str], moved: int) -> None:
    judge = Noting(moved=1 - moved)
    [verdict] = judged(judge, EDCT_2025, later, compare=True)
    assert [request.protocol for request in judge.seen] == [EDCT_2025]
    assert (verdict.answer_moved, verdict.scores) == (moved, {"pcs": 1, "ncc": 1})


def test_texts_that_leave_it_open_cost_one_comparison_that_is_told_of_no_edit() -> None:
    judge = Noting(moved=0)
    [verdict] = judged(judge, EDCT_2025, OPEN, compare=True)
    scored, compared = judge.seen
    assert (scored.protocol, len(scored.changes)) == (EDCT_2025, 1)
    assert (compared.protocol, compared.changes, compared.image) == (NULL_EDIT, (), None)
    assert (compared.answer, compared.new_answer) == (scored.answer, scored.new_answer)
    assert compared.seed != scored.seed
    assert verdict.answer_moved == 0
    assert verdict.calls == (f"{1:064x}", f"{2:064x}")
    assert verdict.completion == "=== scores ===\nsaid 1\n\n=== comparison ===\nsaid 2"


def test_a_sham_edit_is_the_null_edit_told_as_the_cited_one() -> None:
    for ccs in (0, 1):
        judge = Noting(moved=0, ccs=ccs)
        [verdict] = judged(judge, NULL_EDIT, SAME, cited=cited_edits(1))
        [told] = judge.seen
        assert (told.protocol, [change.positive for change in told.changes]) == (EDCT_2025, ["Remove 0."])
        assert (told.answer, told.new_answer) == (BEFORE[0], SAME[0])
        assert (verdict.sham, verdict.scores) == (ccs, {"answer_moved": 0, "explanation_moved": 0})
        assert verdict.calls == (f"{1:064x}",)


def test_where_the_sham_edit_cannot_be_told_there_is_none() -> None:
    failed = cited_edits(1, status=Status.UNPARSABLE, stage="instructions")
    for judge, cited in ((Noting(), failed), (Seeing(), cited_edits(1)), (Noting(), None)):
        [verdict] = judged(judge, NULL_EDIT, SAME, cited=cited)
        assert (verdict.sham, judge.seen) == (None, [])
    [verdict] = judged(Noting(status=Status.REFUSED), NULL_EDIT, SAME, cited=cited_edits(1))
    assert (verdict.status, verdict.sham) == (Status.OK, None), "its failure is not that of the null edit"


@pytest.mark.parametrize("protocol", [UNCITED_EDIT, BLANK_IMAGE, EDCT_2025])
def test_null_edits_alone_are_sham_edits_and_swapped_pairs(protocol: str) -> None:
    found = judged(Noting(), protocol, OTHER, OTHER, first=("two", "four"), cited=cited_edits(2))
    assert {(verdict.sham, verdict.swapped) for verdict in found} == {(None, None)}


def test_a_swapped_pair_takes_the_latest_item_with_another_answer() -> None:
    judge = Noting()
    first, alike, third = judged(
        judge, NULL_EDIT, *[("two", BEFORE[1])] * 2, ("four", BEFORE[1]), first=("2", "two", "four")
    )
    assert (first.swapped, alike.swapped) == (None, None), "no other answer was there before"
    assert third.swapped == 1
    assert judge.seen == [], "texts decide: two and four are numbers"


@pytest.mark.parametrize("moved", [0, 1])
def test_a_judge_who_must_compare_swapped_answers_may_err(moved: int) -> None:
    judge = Noting(moved=moved)
    answers = ["a cat sleeps on a mat", "a cat that sleeps upon some mat", "dogs chase one red ball"]
    found = judged(judge, NULL_EDIT, *[(answer, BEFORE[1]) for answer in answers], first=answers)
    assert [verdict.swapped for verdict in found] == [None, None, moved], "the second may be the first in other words"
    assert [(request.answer, request.new_answer) for request in judge.seen] == [(answers[2], answers[1])]
    assert found[2].calls == (f"{1:064x}",)


def test_an_answer_that_only_may_be_another_one_is_no_swapped_pair() -> None:
    """A judge who rightly finds `a cat` and `the kitten` equal would pass for one that misses every second change."""
    judge = Noting(moved=0)
    for pair in (("a cat", "the kitten"), ("yes", "certainly"), ("two", "a pair"), ("grey sofa", "gray couch")):
        found = judged(judge, NULL_EDIT, *[(answer, BEFORE[1]) for answer in pair], first=pair)
        assert [verdict.swapped for verdict in found] == [None, None]
    assert judge.seen == []


def test_the_new_explanation_is_searched_for_the_edited_thing_where_one_was_edited() -> None:
    for protocol in (EDCT_2025, UNCITED_EDIT):
        found = judged(Noting(), protocol, ("two", "Two red cars stand there."), ("two", "It is a bus."))
        assert [verdict.names_edited for verdict in found] == [1, 0]
    for protocol in (NULL_EDIT, BLANK_IMAGE):
        assert judged(Noting(), protocol, OTHER)[0].names_edited is None


@pytest.mark.parametrize("protocol", [EDCT_2025, NULL_EDIT, UNCITED_EDIT])
def test_it_is_kept_whether_the_texts_decided_or_the_judge(protocol: str) -> None:
    texts, asked = judged(Noting(), protocol, OTHER, OPEN, compare=True)
    assert (texts.answer_moved, texts.by_text) == (1, 1)
    assert (asked.answer_moved, asked.by_text) == (1, 0)
    failed_call = judged(Noting(status=Status.REFUSED), protocol, OPEN, compare=True)[0]
    assert (failed_call.answer_moved, failed_call.by_text) == (None, None)


def test_without_controls_the_texts_alone_say_whether_the_answer_moved() -> None:
    judge = Noting()
    texts, undecided = judged(judge, EDCT_2025, OTHER, OPEN)
    assert (texts.answer_moved, texts.by_text) == (1, 1)
    assert (undecided.answer_moved, undecided.by_text) == (None, None)
    assert {request.protocol for request in judge.seen} == {EDCT_2025}, "nobody is asked about the answers"


@pytest.mark.parametrize(("moved", "reworded"), [(1, 1), (0, 0)])
def test_a_judge_of_null_edits_is_shown_the_same_answer_in_other_words_where_it_is_asked(
    moved: int, reworded: int
) -> None:
    judge = Noting(moved)
    asked, texts = judged(judge, NULL_EDIT, OPEN, OTHER, cited=cited_edits(2))
    assert (asked.reworded, texts.reworded) == (reworded, None), "the texts decide about the second"
    shown = [request for request in judge.seen if request.new_answer == "I think two"]
    assert [(request.item, request.answer, request.changes) for request in shown] == [("i0", "two", ())]
    assert len(set(asked.calls)) == len(asked.calls) == 3, "what moved, sham, reworded"


def test_no_other_edit_is_reworded() -> None:
    for protocol in (UNCITED_EDIT, BLANK_IMAGE, EDCT_2025):
        assert judged(Noting(), protocol, OPEN, compare=True)[0].reworded is None


@pytest.mark.parametrize(
    ("before", "after", "evaded"), [("red", "I cannot tell.", 1), ("Unclear.", "I cannot tell.", 0)]
)
def test_an_answer_that_newly_evades_the_question_is_marked(before: str, after: str, evaded: int) -> None:
    for protocol in (EDCT_2025, *CONTROLS):
        [verdict] = judged(Noting(), protocol, (after, "because"), first=[before])
        assert verdict.evaded == evaded
