"""Replies are read by both readers, brought back to the question as it stands, and compared."""

import pytest

from cfeval.core.errors import InputError
from cfeval.core.records import ImageRef, Status
from cfeval.cvqa.records import Answer, CvqaScore, ProgramRun, Question, QuestionPair
from cfeval.cvqa.stages.scores import scores

HASH = "0123456789abcdef" * 4
MARK = "Select the correct answer:"
ASKED = "How many? If? How many dots? How many dots if?"
"""What was asked holds the question, whichever of those below it is."""


def pair(
    kind: str = "direct", first: tuple[str, str] = ("How many?", "3"), then: tuple[str, str] = ("If?", "5")
) -> QuestionPair:
    return QuestionPair(
        id="p1",
        image=ImageRef(path="p1.png", sha256=HASH),
        original=Question(question=first[0], answer=first[1]),
        counterfactual=Question(question=then[0], answer=then[1]),
        type=kind,
        img_path="x.jpg",
        coco=7,
    )


PUZZLE = pair(
    "abs_counting_4",
    (f"How many dots? {MARK}A:16  B:17  C:12  D:13", "C"),
    (f"How many dots if? {MARK}A:1  B:2  C:3  D:4", "A"),
)


def said(text: str = "", side: str = "original", **more: object) -> Answer:
    return Answer.model_validate({"id": "p1", "side": side, "asked": ASKED, "text": text} | more)


def score(of: QuestionPair, reply: Answer) -> CvqaScore:
    [found] = scores({of.id: of}, [reply])
    return found


def test_each_side_is_compared_with_its_own_answer() -> None:
    first, then = scores({"p1": pair()}, [said("3"), said("3", "counterfactual")])
    assert (first.gold, first.correct) == ("3", {"reference": 1, "robust": 1})
    assert (then.gold, then.correct) == ("5", {"reference": 0, "robust": 0})
    assert (first.image, first.coco, first.type, first.shown) == (HASH, 7, "direct", {})


def test_readers_may_differ() -> None:
    found = score(pair(), said("If 2 left there would be 3"))
    assert found.read == {"reference": None, "robust": "3"}
    assert found.correct == {"reference": 0, "robust": 1}


def test_a_letter_is_brought_back_to_the_question_as_it_stands() -> None:
    found = score(PUZZLE, said("A", option_order="CDAB"))  # what was C stood first
    assert found.shown == {"reference": "A", "robust": "A"}
    assert found.read == {"reference": "C", "robust": "C"}
    assert found.correct == {"reference": 1, "robust": 1}


def test_a_value_is_found_among_the_options_as_shown() -> None:
    found = score(PUZZLE, said("12", option_order="DBCA"))
    assert (found.shown["robust"], found.read["robust"], found.correct["robust"]) == ("C", "C", 1)
    moved = score(PUZZLE, said("12", option_order="CABD"))
    assert (moved.shown["robust"], moved.read["robust"], moved.correct["reference"]) == ("A", "C", 1)


def test_a_program_that_returns_a_number_chooses_its_option() -> None:
    run = ProgramRun(language="vipergpt", code="x", result="12")
    assert score(PUZZLE, said("12", program=run)).correct == {"reference": 1, "robust": 1}


def test_a_program_that_failed_says_why() -> None:
    run = ProgramRun(language="visprog", code="x", fault="steps: over the limit", fallback=True)
    found = score(pair(), said("3", program=run))
    assert not found.unsupported
    assert (found.fault, found.fallback, found.correct["reference"]) == ("steps: over the limit", True, 1)


def test_a_failed_reply_is_no_score() -> None:
    found = score(pair(), said(status=Status.REFUSED, stage="answer", reason="no"))
    assert (found.status, found.stage, found.reason, found.gold) == (Status.REFUSED, "answer", "no", "3")
    assert (found.read, found.shown, found.correct) == ({}, {}, {})


def test_an_answer_to_a_question_of_another_set_with_the_same_id_is_refused() -> None:
    with pytest.raises(InputError, match=r"the counterfactual question of 'p1', but to another one \('How many if"):
        score(pair(), said("3", "counterfactual", asked="How many if it rained?"))
    for asked in ("Question: How many dots? Options:(a)16  (b)17. Answer:", f"How many dots? {MARK}A:13  B:16  C:17"):
        assert score(PUZZLE, said("A", asked=asked)).correct["reference"] == 0


@pytest.mark.parametrize(("of", "order"), [(PUZZLE, "ABCC"), (PUZZLE, "BCD"), (pair(), "BCDA")])
def test_an_order_of_options_that_a_question_cannot_have_is_refused(of: QuestionPair, order: str) -> None:
    with pytest.raises(InputError, match=f"options in the order '{order}', which it cannot have"):
        score(of, said("A", option_order=order))


@pytest.mark.parametrize(
    ("text", "read", "correct"),
    [
        ("99", "99", 0),  # a clear answer that no option has
        ("There would be 99 dots.", "99", 0),
        ("Option 2", None, None),  # it may mean a place
        ("A flower is red, and 99 are blue.", None, None),
        ("about half of them", None, None),
    ],
)
def test_a_number_that_no_option_has_is_wrong_and_not_unread(text: str, read: str | None, correct: int | None) -> None:
    found = score(PUZZLE, said(text))
    assert (found.read["robust"], found.correct["robust"]) == (read, correct)
