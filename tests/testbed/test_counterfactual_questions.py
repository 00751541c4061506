"""Counterfactual questions about scenes: their answers are exact, their words can be read back."""

import random
from collections import Counter

import pytest

from cfeval.core.sampling import derive_seed
from cfeval_testbed.counterfactual_questions.draw import GROUPS, Drawn, Group, draw
from cfeval_testbed.counterfactual_questions.language import CONDITIONS, parse, wordings
from cfeval_testbed.counterfactual_questions.meaning import (
    Add,
    Change,
    Join,
    Keep,
    Kind,
    Meaning,
    Multiply,
    Remove,
    Supposition,
    Take,
    answer,
)
from cfeval_testbed.language import questions
from cfeval_testbed.records import COLORS, NUMBERS, SHAPES, EditIntent, Referent, Scene, Slot
from cfeval_testbed.scenes import apply, sample_scene
from tests.testbed.recount import recount

N = 240
RED, CIRCLE = Kind(color="red"), Kind(shape="circle")
RED_CIRCLE = Kind("red", "circle")


def slot(words: str) -> Slot:
    size, color, shape = words.split() if words else ("small", "red", "star")
    return Slot.model_validate(
        {"shape": shape, "color": color, "size": size, "present": bool(words)}
        | dict.fromkeys(("dx", "dy", "scale", "angle", "tint"), 0)
    )


def scene(*words: str) -> Scene:
    """Objects in reading order; an empty text is an empty place."""
    first, second, third, fourth = map(slot, words)
    return Scene(slots=(first, second, third, fourth), background="gray", light_angle=0, brightness=1, noise_seed=0)


IMAGE = scene("large red circle", "small red square", "", "small blue circle")


@pytest.fixture(scope="module")
def drawn() -> dict[tuple[Group, bool], list[Drawn]]:
    """Many questions of each group, with all originals and with known ones only."""
    return {
        (group, known): [draw(group, random.Random(derive_seed(3, group, n)), 0.1, known) for n in range(N)]
        for group in GROUPS
        for known in (False, True)
    }


HAND: list[tuple[str, str | None]] = [
    ("How many objects are there?", "3"),
    ("What is the number of red objects?", "2"),
    ("Is there a red circle?", "yes"),
    ("Can you see a blue square?", "no"),
    ("How many objects would there be if 2 red squares were added?", "5"),
    ("How many red objects would there be if 2 red squares were added?", "4"),
    ("How many circles would there be if 2 red squares were added?", "2"),
    ("How many red objects would there be if 2 objects were added?", None),
    ("How many objects would there be if two of the objects were taken away?", "1"),
    ("How many objects would there be if 3 objects were removed?", "0"),
    ("How many objects would there be if 4 objects were removed?", None),
    ("How many circles would there be if one object were removed?", None),
    ("How many circles would there be if one red circle were removed?", "1"),
    ("How many objects would there be if the number of objects doubled?", "6"),
    ("How many objects would there be if there were three times as many circles?", "7"),
    ("How many objects would there be if the number of green objects doubled?", None),
    ("How many red objects would there be if every circle were painted red?", "3"),
    ("How many red circles would there be if all circles were painted red?", "2"),
    ("How many objects would there be if all large objects were removed?", "2"),
    ("How many objects would there be if all green objects were removed?", None),
    ("How many objects would there be if all objects in the top half were removed?", "1"),
    ("How many objects would there be if every object in the right half were taken away?", "1"),
    ("How many objects would there be if every circle in the bottom right were taken away?", "2"),
    ("How many objects would there be if only the circles were left?", "2"),
    ("How many objects would there be if all objects but the red squares were removed?", "1"),
    ("How many objects would there be if a red square were put beside every circle?", "5"),
    ("How many squares would there be if every circle got a red square beside it?", "3"),
    ("How many large objects would there be if a red square were put beside every circle?", None),
    ("How many large objects would there be if every small object were made large?", "3"),
    ("How many squares would there be if all circles were turned into squares?", "3"),
    ("Would there be a red circle if the red circle were painted blue?", "no"),
    ("Would there be a blue circle if the red circle were painted blue?", "yes"),
    ("Would there be a red circle if the red object were painted blue?", None),
    ("Would there be a red circle if the green circle were painted blue?", None),
    ("If someone took away the red square, would there be a red circle?", "yes"),
    ("If every red object were turned into a star, could you see a red star?", "yes"),
    ("Would there be a red circle if one object were removed?", None),
    ("Would there be a red square if 3 objects were removed?", "no"),
]


@pytest.mark.parametrize(("text", "right"), HAND)
def test_an_answer_is_the_one_worked_out_by_hand(text: str, right: str | None) -> None:
    meaning = parse(text)
    assert meaning is not None
    assert answer(meaning, IMAGE) == right


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("known", [False, True])
def test_answers_equal_an_independent_recount(
    group: Group, known: bool, drawn: dict[tuple[Group, bool], list[Drawn]]
) -> None:
    for one in drawn[group, known]:
        assert recount(one.original, one.scene) == one.original_answer, one.original
        assert recount(one.question, one.scene) == one.answer, one.question


@pytest.mark.slow
def test_answers_equal_those_in_scenes_that_were_edited() -> None:
    rng = random.Random(5)
    checked = 0
    while checked < 200:
        image = sample_scene(rng)
        color, shape, value = rng.choice(COLORS), rng.choice(SHAPES), rng.choice(COLORS)
        target = Kind(color, shape)
        changes: list[tuple[Supposition, EditIntent]] = [
            (
                Change("the", target, "color", value),
                EditIntent(kind="color", target=Referent(color=color, shape=shape), new=value),
            ),
            (Remove("the", target), EditIntent(kind="remove", target=Referent(color=color, shape=shape))),
        ]
        supposed, intent = rng.choice(changes)
        asked = Kind(rng.choice([value, color]), shape)
        said = answer(Meaning("presence", asked, supposed), image)
        count = answer(Meaning("count", Kind(), supposed), image)
        if said is None or count is None:
            continue
        edited = apply(image, intent)
        assert said == questions.true_answer(questions.Question("presence", asked.color, shape), edited)
        assert NUMBERS[int(count)] == questions.true_answer(questions.Question("count"), edited)
        checked += 1


MEANINGS = [
    Meaning("count", kind, supposed)
    for kind in (Kind(), RED, CIRCLE, RED_CIRCLE, Kind("orange", "cross", "large"))
    for supposed in (
        None,
        Add(1, Kind("orange", "cross")),
        Add(3, Kind()),
        Take(1, Kind()),
        Take(2, RED),
        Multiply(2, Kind()),
        Multiply(3, CIRCLE),
        Remove("the", RED_CIRCLE),
        Remove("every", Kind(area="top half")),
        Remove("every", Kind(shape="cross", area="bottom left")),
        Keep(Kind(size="large")),
        Change("the", RED_CIRCLE, "color", "blue"),
        Change("every", RED, "shape", "cross"),
        Change("the", RED, "shape", "square"),
        Change("every", CIRCLE, "size", "small"),
        Change("the", CIRCLE, "size", "large"),
        Change("every", Kind(), "color", "white"),
        Join(Kind("orange", "star"), CIRCLE),
    )
]


@pytest.mark.parametrize("asked", ["count", "presence"])
def test_every_wording_is_read_back(asked: str) -> None:
    for one in MEANINGS:
        meaning = Meaning("presence" if asked == "presence" else "count", one.kind, one.supposed)
        said = wordings(meaning)
        assert len(said) == len(set(said)) >= 3
        for text in said:
            assert parse(text) == meaning, text
            assert parse(text.upper().replace("?", " ?")) == meaning


def test_the_meanings_above_use_every_template() -> None:
    text = " ".join(text for meaning in MEANINGS for text in wordings(meaning))
    for templates in CONDITIONS.values():
        for template in templates:
            literal = max(template.replace("{", "}").split("}")[::2], key=len)
            assert literal in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "if",
        "?",
        "What color is the circle?",
        "How many moons are there?",
        "How many objects would there be?",
        "How many objects would there be if",
        "How many objects would there be if it rained?",
        "How many objects would there be if 2 moons were added?",
        "How many objects would there be if 2 objects were added and 1 object were removed?",
        "How many objects are there if 2 objects were added?",
        "If 2 objects were added how many objects would there be?",
        "If 2 objects were added, is there a red circle?",
        "Would there be a red circle if the red circle were painted teal?",
        "Would there be a circle if the circle were removed? Say yes.",
        "How many objects would there be if 99999 objects were added?",
        "How many objects would there be if \u0662 objects were added?",
    ],
)
def test_what_no_template_can_have_written_means_nothing(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("group", GROUPS)
def test_no_answer_is_much_more_frequent_than_the_others(
    group: Group, known: bool, drawn: dict[tuple[Group, bool], list[Drawn]]
) -> None:
    most = 0.6 if group == "boolean" else 0.45
    for answers in ([one.original_answer for one in drawn[group, known]], [one.answer for one in drawn[group, known]]):
        assert max(Counter(answers).values()) <= most * N
    stay = sum(one.answer == one.original_answer for one in drawn[group, known]) / N
    assert 0.05 < stay < 0.16 if group == "boolean" or (group == "indirect" and not known) else stay == 0


def test_turning_the_original_answer_round_is_right_as_often_as_answers_change() -> None:
    for unchanged in (0.0, 0.5, 1.0):
        some = [draw("boolean", random.Random(n), unchanged) for n in range(60)]
        turned = sum(one.answer != one.original_answer for one in some) / 60
        assert turned == pytest.approx(1 - unchanged, abs=0.15)


def test_originals_are_known_to_the_worlds_own_model_where_that_is_wanted(
    drawn: dict[tuple[Group, bool], list[Drawn]],
) -> None:
    for group in GROUPS:
        assert all(questions.parse_question(one.original) for one in drawn[group, True])
    assert all(questions.parse_question(one.original) for group in ("direct", "boolean") for one in drawn[group, False])
    assert not all(questions.parse_question(one.original) for one in drawn["indirect", False])
