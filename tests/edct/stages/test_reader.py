"""The reader, a second model: what it is asked, of which edits, and when its answer counts as changed."""

import pytest

from cfeval.core.records import Status
from cfeval.edct.records import Check, Counterfactual, Reading
from cfeval.edct.stages.checks import Reader, checks
from cfeval.edct.verification.chain import calls_of
from cfeval.inference.chat import ChatReply, ChatRequest
from tests.edct.stages.in_memory import IMAGES, ITEMS, samples
from tests.edct.stages.test_moved import OTHER, SAME, Noting, judged
from tests.edct.stages.test_shams import EDITED, TOLD, Verifier


class Model:
    """Says `answer` of each image but the last, about which it fails."""

    def __init__(self, answer: str = "A cat.", status: Status = Status.OK) -> None:
        self.answer, self.status, self.asked = answer, status, list[ChatRequest]()

    async def generate(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        number = f"{len(self.asked):064x}"
        if self.status != Status.OK and request.turns[0].image not in IMAGES.values():
            return ChatReply(status=self.status, reason="why", calls=(number,))
        return ChatReply(self.answer, calls=(number,))


def found(model: Model, accepts: bool | None = True, protocol: str = "edct-2025") -> list[Check]:
    made = [Counterfactual(id=item, image=EDITED[item].ref("x.png"), seed=1) for item in ITEMS]
    reader = Reader(model, "Say it: {question}", 7)
    verifier = Verifier(accepts)
    shown = checks(
        made, samples(), TOLD, lambda r: IMAGES[r.id], lambda r: EDITED[r.id], verifier, protocol, 1, 10**9, reader
    )
    return [check for check, _ in shown]


def test_it_is_asked_the_question_about_both_images_in_a_turn_each() -> None:
    model = Model()
    kept = found(model)
    answers = [check.reader and (check.reader.before, check.reader.after) for check in kept]
    assert answers == [("A cat.", "A cat.")] * len(ITEMS)
    asked = [(request.item, request.turns[0].text, request.turns[0].image) for request in model.asked]
    assert asked == [
        (item, f"Say it: {samples()[item].question}", shown) for item in ITEMS for shown in (IMAGES[item], EDITED[item])
    ]
    for check in kept:
        assert check.reader is not None
        assert set(check.reader.calls) <= set(calls_of(check)), "its calls are exported and checked"


def test_nobody_reads_what_the_verifier_rejects_nor_controls() -> None:
    for accepts, protocol in ((False, "edct-2025"), (True, "uncited-edit"), (True, "null-edit")):
        model = Model()
        assert {check.reader for check in found(model, accepts, protocol)} == {None}
        assert model.asked == []


def test_why_an_answer_is_missing_is_kept() -> None:
    for check in found(Model(status=Status.REFUSED)):
        assert check.reader is not None
        assert (check.reader.before, check.reader.after, check.reader.reason) == ("A cat.", "", "refused: why")


@pytest.mark.parametrize(
    ("before", "after", "compare", "says", "moved", "calls"),
    [
        ("two", "three", True, 0, 1, 0),
        ("two", "Two.", True, 1, 0, 0),
        ("red", "blue", False, 0, 1, 0),
        ("a cat", "a cat on a mat", True, 1, 1, 1),
        ("a cat", "a cat on a mat", True, 0, 0, 1),
        ("a cat", "a cat on a mat", False, 1, 0, 0),
        ("a cat", "", True, 1, 0, 0),
    ],
)
def test_texts_decide_whether_its_answer_changed_else_a_judge_else_it_did_not(
    before: str, after: str, compare: bool, says: int, moved: int, calls: int
) -> None:
    judge = Noting(moved=says)
    read = {("i0", 1): Check(id="i0", reader=Reading(before=before, after=after))}
    [verdict] = judged(judge, "edct-2025", OTHER, compare=compare, checks=read)
    assert (verdict.reader_moved, verdict.answer_moved) == (moved, 1)
    comparisons = [request for request in judge.seen if request.protocol == "null-edit"]
    assert len(comparisons) == calls
    assert all((one.answer, one.new_answer, one.changes) == (before, after, ()) for one in comparisons)
    assert len(verdict.calls) == 1 + calls


def test_without_a_reader_nothing_is_said_of_it() -> None:
    for checked in (None, {("i0", 1): Check(id="i0")}):
        [verdict] = judged(Noting(), "edct-2025", SAME, checks=checked)
        assert verdict.reader_moved is None
