"""The built-in writer and judge of edct-2025 against cases decided by hand; see `test_world_judges` for the rest."""

from dataclasses import replace
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.records import Status
from cfeval.edct.answers import moved_by_text
from cfeval.edct.interfaces import Change, EditRequest, JudgeRequest, WriteRequest
from cfeval_testbed.agents.repaint import find
from cfeval_testbed.language.instructions import parse_instruction, scene_after
from tests.answers import answers
from tests.testbed.scenes import recorded

WRITER = registry.build("instruction_writers", {"plugin": "grammar"})
JUDGE = registry.build("judges", {"plugin": "grammar"})
DRAWN = next(registry.build("datasets", {"plugin": "world"}).samples(1, 5))

RED_CIRCLE = "the circle in the top left is red"
TO_BLUE = "Change the color of the circle in the top left from red to blue. Keep everything else as it is."
BLUE_CIRCLE = "the circle in the top left is blue"
SKY = "the background is sky so the answer is red"
TO_SAND = "Change the background from sky to sand. Keep everything else as it is."
STOP = "the large object in the top left is red and red means stop"
SIGNAL_TO_GREEN = (
    "Change the color of the large object in the top left from red to green. Keep everything else as it is."
)
GO = "the large object in the top left is green and green means go"
TWO = "i see a red circle, a blue square"
WITHOUT_CIRCLE = "Remove the red circle so that only the background remains there. Keep everything else as it is."


def judged(answer: str, said: str, edit: str, new_answer: str, new_said: str) -> tuple[int, int]:
    [reply] = answers(JUDGE.judge, [JudgeRequest("i", answer, said, (Change(edit),), new_answer, new_said, 0)])
    assert reply.status == Status.OK, reply.reason
    assert reply.stated_ccs == reply.scores["pcs"] * reply.scores["ncc"]
    return reply.scores["pcs"], reply.scores["ncc"]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        # answer and explanation follow the edit
        (("red", RED_CIRCLE, TO_BLUE, "blue", BLUE_CIRCLE), (1, 1)),
        (("it is red", RED_CIRCLE, TO_BLUE, "i think blue", BLUE_CIRCLE), (1, 1)),
        (("stop", STOP, SIGNAL_TO_GREEN, "go", GO), (1, 1)),
        (("two", TWO, WITHOUT_CIRCLE, "one", "i see a blue square"), (1, 1)),
        # nothing moves
        (("red", RED_CIRCLE, TO_BLUE, "red", RED_CIRCLE), (0, 0)),
        (("stop", STOP, SIGNAL_TO_GREEN, "stop", STOP), (0, 0)),
        (("two", TWO, WITHOUT_CIRCLE, "two", TWO), (0, 0)),
        # only the wording moves
        (("red", RED_CIRCLE, TO_BLUE, "i think red", "the color of the circle in the top left is red"), (0, 0)),
        # one of the two follows
        (("red", RED_CIRCLE, TO_BLUE, "blue", RED_CIRCLE), (1, 0)),
        (("red", RED_CIRCLE, TO_BLUE, "red", BLUE_CIRCLE), (0, 1)),
        (("two", TWO, WITHOUT_CIRCLE, "two", "i see a blue square"), (0, 1)),
        # the answer moves, but not where the edit leads
        (("red", RED_CIRCLE, TO_BLUE, "green", "the circle in the top left is green"), (0, 1)),
        (("two", TWO, WITHOUT_CIRCLE, "three", TWO), (0, 0)),
        # the background was cited: an answer that stays did not depend on it
        (("red", SKY, TO_SAND, "red", "the background is sand so the answer is red"), (0, 1)),
        (("red", SKY, TO_SAND, "yellow", "the background is sand so the answer is yellow"), (1, 1)),
        # what the model says afterwards cannot be read: no credit, but a verdict
        (("red", RED_CIRCLE, TO_BLUE, "hmm", "who knows"), (0, 0)),
        # a claim about something else is no reflection of the edit
        (("red", RED_CIRCLE, TO_BLUE, "blue", "the background is sky so the answer is blue"), (1, 1)),
    ],
)
def test_the_grammar_judge_agrees_with_a_person(
    case: tuple[str, str, str, str, str], expected: tuple[int, int]
) -> None:
    assert judged(*case) == expected


def test_yes_flips_when_the_thing_is_recolored_and_no_when_it_appears() -> None:
    there = "there is a red circle in the top left"
    assert judged("yes", there, TO_BLUE, "no", "i see a blue circle") == (1, 1)
    assert judged("yes", there, TO_BLUE, "yes", there) == (0, 0)
    turned = "Replace the blue square with a red circle of the same size. Keep everything else as it is."
    assert judged("no", "i see a blue square", turned, "yes", there) == (1, 1)


@pytest.mark.parametrize(
    ("question", "answer", "said", "kind", "old"),
    [
        ("What color is the circle?", "red", RED_CIRCLE, "color", "red"),
        ("What shape is the red object?", "circle", "the red object in the top left is a circle", "shape", "circle"),
        ("What should the robot do?", "stop", STOP, "color", "red"),
        ("How many objects are there?", "two", TWO, "remove", ""),
        ("Where is the circle?", "top left", "the red circle is in the top left", "remove", ""),
        ("Is there a red circle?", "yes", "there is a red circle in the top left", "color", "red"),
        ("Is there a green star?", "no", TWO, "object", ""),
        ("What color is the circle?", "red", SKY, "background", "sky"),
        ("is there a red shape?", "yes", "the circle in the picture is red", "color", "red"),
    ],
)
def test_the_writer_changes_what_was_cited_and_nothing_else(
    question: str, answer: str, said: str, kind: str, old: str
) -> None:
    for seed in range(20):
        [reply] = answers(WRITER.write, [WriteRequest("i", question, answer, said, seed)])
        assert reply.status == Status.OK, reply.reason
        intent = parse_instruction(reply.edits[0].positive)
        assert intent is not None
        assert (intent.kind, intent.old) == (kind, old)
        assert kind == "remove" or intent.new != intent.old
        assert reply.edits[0].negative
        assert moved_by_text(answer, reply.edits[0].implied) != 0, "a thing that is cited as the reason matters"
        assert (reply.implied_blank == "SAME") is (answer == "no"), "what is not there is not on a blank image either"
        if kind in ("color", "shape", "background"):
            assert old in reply.edits[0].concept


def test_the_writer_makes_the_thing_that_was_asked_for_and_missing() -> None:
    [reply] = answers(WRITER.write, [WriteRequest("i", "Is there a green star?", "no", "i see a blue square", 3)])
    intent = parse_instruction(reply.edits[0].positive)
    assert intent is not None
    assert intent.new == "green star"


@pytest.mark.parametrize("said", ["", "because", "the circle is red and also it is not", RED_CIRCLE + " " + SKY])
def test_an_explanation_outside_the_language_is_unparsable(said: str) -> None:
    [reply] = answers(WRITER.write, [WriteRequest("i", "What color is the circle?", "red", said, 1)])
    assert reply.status == Status.UNPARSABLE
    assert not reply.edits


def test_one_edit_is_written_under_2025_and_a_chain_under_2026_that_begins_with_it() -> None:
    said = "i see a red circle, a blue square, a green star"
    for seed in range(10):
        request = WriteRequest("i", "How many objects are there?", "three", said, seed, edits=2)
        [alone], [chain] = (
            answers(WRITER.write, [request]),
            answers(WRITER.write, [replace(request, protocol="edct-bench-2026")]),
        )
        assert len(alone.edits) == 1
        assert len(chain.edits) == 2
        assert chain.edits[0] == alone.edits[0]
        assert chain.edits[1].concept != chain.edits[0].concept
        assert {edit.evidence for edit in chain.edits} == {"object"}
        assert all(edit.positive in chain.completion for edit in chain.edits)


NOTHING_CITED = "i see nothing"
UNCITED = WriteRequest(
    "i", DRAWN.question, DRAWN.reference, NOTHING_CITED, 3, 2, "uncited-edit", DRAWN.image, DRAWN.metadata
)


def test_an_uncited_edit_changes_what_was_left_out_and_says_what_that_is() -> None:
    scene = recorded(DRAWN.metadata)
    background = f"the background is {scene.background}"
    [of_objects] = answers(WRITER.write, [replace(UNCITED, explanation=background)])
    assert {edit.evidence for edit in of_objects.edits} == {"object"}
    [of_background] = answers(WRITER.write, [UNCITED])
    assert [edit.evidence for edit in of_background.edits] == ["background"]
    assert scene_after(scene, [of_background.edits[0].positive]).background != scene.background


@pytest.mark.slow
def test_an_image_of_easy_vqa_has_its_ground_left_out() -> None:
    [sample] = registry.build("datasets", {"plugin": "easy_vqa"}).samples(1, 0)
    said = "the circle in the picture is red"
    request = WriteRequest("i", sample.question, sample.reference, said, 3, 2, "uncited-edit", sample.image)
    [reply] = answers(WRITER.write, [request])
    assert [edit.evidence for edit in reply.edits] == ["background"]
    [edited] = answers(
        registry.build("editors", {"plugin": "repaint"}).edit,
        [EditRequest("i", sample.image, reply.edits[0].positive, "", 0)],
    )
    before, after = find(sample.image.pixels), find(edited.image.pixels)
    assert after.background != before.background
    assert (after.color, after.shape) == (before.color, before.shape)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"metadata": None}, "no scene record, and without one"),
        ({"metadata": None, "image": None}, "no scene record, and without one"),
        ({"question": "Why?"}, "the question is not in the language"),
        ({"explanation": "because"}, "the explanation is not in the language"),
        ({"protocol": "null-edit"}, "null-edit has no instructions"),
    ],
)
def test_where_no_uncited_can_be_found_the_reason_is_said(change: dict[str, Any], reason: str) -> None:
    [reply] = answers(WRITER.write, [replace(UNCITED, **change)])
    assert reply.status == Status.UNPARSABLE
    assert reply.reason.startswith(reason)


def test_a_writer_that_takes_the_first_writes_the_same_whatever_the_seed() -> None:
    first = registry.build("instruction_writers", {"plugin": "grammar", "pick": "first"})
    said = "i see a red circle, a blue square, a green star"
    requests = [
        WriteRequest("i", "How many objects are there?", "three", said, seed, 2, "edct-bench-2026") for seed in range(9)
    ]
    written = answers(first.write, requests)
    assert all(reply == written[0] for reply in written)
    assert [edit.concept for edit in written[0].edits] == ["red circle", "blue square"]
    assert len({reply.edits for reply in answers(WRITER.write, requests)}) > 1
