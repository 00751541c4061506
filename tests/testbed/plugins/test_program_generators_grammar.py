"""Programs by grammar: they read the question, and run, in both languages, they give the right answer."""

from collections.abc import Iterator
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import ProgramReply, ProgramRequest
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import View, Vision
from cfeval.cvqa.records import LETTERS, Language, Question, read_choices
from cfeval.cvqa.synthetic.drawing import png_of
from cfeval.cvqa.synthetic.puzzles import counterfactual_of, make_puzzle, original_of
from cfeval.cvqa.synthetic.records import PUZZLE_TYPES, PuzzleType
from cfeval_testbed.counterfactual_questions.meaning import (
    Add,
    Change,
    Join,
    Keep,
    Kind,
    Meaning,
    Multiply,
    Remove,
    Take,
)
from cfeval_testbed.counterfactual_questions.programs import UnsettledError, meet, reckon
from cfeval_testbed.puzzles import programs
from tests.answers import answers
from tests.slow import first_fast

LANGUAGES: tuple[Language, Language] = ("vipergpt", "visprog")


def written(question: str, language: Language, heed: bool = True) -> ProgramReply:
    writer = registry.build("program_generators", {"plugin": "grammar", "heed": heed})
    [reply] = answers(writer.write, [ProgramRequest("i", question, "direct", language, 1)])
    assert isinstance(reply, ProgramReply)
    return reply


def answered(image: Image, question: str, language: Language, vision: Vision, heed: bool = True) -> str:
    """What the program for a question returns."""
    reply = written(question, language, heed)
    assert (reply.status, reply.code) == (Status.OK, reply.completion)
    height, width = image.pixels.shape[:2]
    run = run_program(language, reply.code, View(image, (0, 0, width, height)), vision, fallback=False)
    assert run.fault == "", run.code
    return run.result


def right(question: Question) -> str:
    """The right answer: of options, the value."""
    choices = read_choices(question.question)
    return choices.values[LETTERS.index(question.answer)] if choices else question.answer


@pytest.fixture(scope="module")
def visions() -> dict[str, Any]:
    return {name: registry.build("vision_tools", {"plugin": name}) for name in ("puzzle", "world")}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", first_fast(PUZZLE_TYPES))
def test_programs_for_puzzles_give_the_right_answers(
    kind: PuzzleType, language: Language, visions: dict[str, Any]
) -> None:
    for number in range(1, 5):
        puzzle = make_puzzle(8, number, kind)
        image, original, changed = Image(png_of(puzzle)), original_of(puzzle), counterfactual_of(puzzle)
        for question in (original, changed):
            assert answered(image, question.question, language, visions["puzzle"]) == right(question)
        unheeding = answered(image, changed.question, language, visions["puzzle"], heed=False)
        assert unheeding == right(original) != right(changed)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_programs_for_the_world_give_the_right_answers(language: Language, visions: dict[str, Any]) -> None:
    moved = 0
    for pair in registry.build("question_sets", {"plugin": "world"}).pairs(60, 4):
        for question in (pair.original, pair.counterfactual):
            assert answered(pair.image, question.question, language, visions["world"]) == question.answer
        unheeding = answered(pair.image, pair.counterfactual.question, language, visions["world"], heed=False)
        moved += unheeding != pair.counterfactual.answer
    assert moved > 45


@pytest.mark.parametrize("heed", [True, False])
@pytest.mark.parametrize(
    "question",
    [
        "How many zebras would there be if two zebras left?",
        "How many flowers are inside the crimson polygons?",
        "How many flowers would be inside red polygons if we removed 3 flowers in blue polygons?",
        "How many dots are there in all the circles together? Tell me.",
        "{0.__class__}",
        " ",
    ],
)
def test_a_question_it_cannot_read_is_unparsable(question: str, heed: bool) -> None:
    reply = written(question, "visprog", heed)
    assert (reply.status, reply.code) == (Status.UNPARSABLE, "")
    assert "templates" in reply.reason


def test_every_template_is_read_back() -> None:
    for number, kind in enumerate(PUZZLE_TYPES, 1):
        puzzle = make_puzzle(2, number, kind)
        asked = programs.parse(original_of(puzzle).question.partition(" Select")[0])
        changed = programs.parse(counterfactual_of(puzzle).question.partition(" Select")[0])
        assert asked is not None
        assert changed is not None
        assert (changed.type, changed.changed, asked.changed) == (kind, True, False)
        assert changed.removed == (puzzle.removed or 0)
        assert (changed.first, changed.second) == (*puzzle.colors, "", "")[:2]


RED, CIRCLE, RED_CIRCLE = Kind("red"), Kind(None, "circle"), Kind("red", "circle")


def reckonings() -> Iterator[tuple[Meaning, str, list[Kind]]]:
    """Meanings with the formula and the kinds in it, by hand."""
    yield Meaning("count", RED), "{0}", [RED]
    yield Meaning("count", CIRCLE, Add(2, RED_CIRCLE)), "{0} + 2", [CIRCLE]
    yield Meaning("count", CIRCLE, Add(2, Kind("red", "star"))), "{0}", [CIRCLE]
    yield Meaning("count", CIRCLE, Take(2, RED_CIRCLE)), "{0} - 2", [CIRCLE]
    yield Meaning("count", RED, Take(2, CIRCLE)), "{0} - (2 if {1} == {2} else {1})", [RED, RED_CIRCLE, CIRCLE]
    yield Meaning("count", RED, Take(2, Kind("blue"))), "{0}", [RED]
    yield Meaning("count", CIRCLE, Multiply(3, RED_CIRCLE)), "{0} + 2 * {1}", [CIRCLE, RED_CIRCLE]
    yield Meaning("count", RED, Remove("every", CIRCLE)), "{0} - {1}", [RED, RED_CIRCLE]
    yield Meaning("presence", RED, Keep(CIRCLE)), "{0}", [RED_CIRCLE]
    yield Meaning("presence", RED, Keep(Kind("blue"))), "0", []
    painted = Change("every", CIRCLE, "color", "red")
    yield Meaning("count", RED, painted), "{0} - {1} + {2}", [RED, RED_CIRCLE, CIRCLE]
    yield Meaning("count", Kind("blue"), painted), "{0} - {1}", [Kind("blue"), Kind("blue", "circle")]
    yield Meaning("count", RED, Join(Kind("red", "star"), CIRCLE)), "{0} + {1}", [RED, CIRCLE]
    yield Meaning("presence", RED_CIRCLE, Add(1, CIRCLE)), "{0}", [RED_CIRCLE]


@pytest.mark.parametrize(("meaning", "formula", "kinds"), reckonings())
def test_what_is_supposed_becomes_a_formula_of_counts(meaning: Meaning, formula: str, kinds: list[Kind]) -> None:
    made = reckon(meaning)
    assert (made.text, made.kinds) == (formula, kinds)


def test_a_count_that_the_question_leaves_open_is_refused() -> None:
    with pytest.raises(UnsettledError, match="whether a new circle is a red circle was left open"):
        reckon(Meaning("count", RED_CIRCLE, Add(1, CIRCLE)))


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (RED, CIRCLE, RED_CIRCLE),
        (RED, Kind("blue"), None),
        (Kind(area="top half"), Kind(area="left half"), Kind(area="top left")),
        (Kind(area="top half"), Kind("red", area="top right"), Kind("red", area="top right")),
        (Kind(area="top half"), Kind(area="bottom half"), None),
        (Kind(), Kind(area="top half"), Kind(area="top half")),
    ],
)
def test_what_is_of_two_kinds_is_of_one_that_has_a_name(one: Kind, other: Kind, both: Kind | None) -> None:
    assert meet(one, other) == meet(other, one) == both
