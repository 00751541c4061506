"""The edit that must have been made, from an explanation and what is seen."""

import random

import pytest

from cfeval_testbed.items import generate_items
from cfeval_testbed.language.edit_choice import choose_chain
from cfeval_testbed.language.explanations import background_claim, object_claim, objects_claim
from cfeval_testbed.language.instructions import View, inferred_edits
from cfeval_testbed.language.questions import Persona, parse_question, respond
from cfeval_testbed.language.reasoning import expected_answer
from cfeval_testbed.records import Claim, EditIntent, Referent, Scene
from cfeval_testbed.scenes import SceneEditError, apply, objects


def view_of(scene: Scene) -> View:
    """What a perfect reader would see."""
    things = [
        Referent(color=slot.color, shape=slot.shape, size=slot.size, position=position)
        for position, slot in objects(scene)
    ]
    return View(tuple(things), scene.background)


def seen(*things: tuple[str, str, str], background: str = "sky") -> View:
    return View(
        tuple(
            Referent.model_validate({"color": color, "shape": shape, "size": "small", "position": position})
            for color, shape, position in things
        ),
        background,
    )


BLUE_STAR = seen(("blue", "star", "top left"))


@pytest.mark.parametrize(
    ("claim", "view", "edits"),
    [
        (object_claim("color", "blue", "star", "top left"), BLUE_STAR, []),
        (
            object_claim("color", "red", "star", "top left"),
            BLUE_STAR,
            [EditIntent(kind="color", target=Referent(shape="star", position="top left"), old="red", new="blue")],
        ),
        (
            object_claim("shape", "blue", "cross", "top left"),
            BLUE_STAR,
            [
                EditIntent(
                    kind="shape",
                    target=Referent(color="blue", size="small", position="top left"),
                    old="cross",
                    new="star",
                )
            ],
        ),
        (
            object_claim("position", "red", "star", "bottom right"),
            BLUE_STAR,
            [EditIntent(kind="remove", target=Referent(color="red", shape="star", position="bottom right"))],
        ),
        (background_claim("sky", "red"), BLUE_STAR, []),
        (background_claim("mint", "red"), BLUE_STAR, [EditIntent(kind="background", old="mint", new="sky")]),
        (
            objects_claim([("red", "circle"), ("blue", "star")]),
            BLUE_STAR,
            [EditIntent(kind="remove", target=Referent(color="red", shape="circle"))],
        ),
        (
            objects_claim([("red", "cross"), ("red", "star"), ("green", "circle")]),
            seen(("blue", "star", "top left"), ("green", "circle", "bottom left"), ("red", "cross", "bottom right")),
            [EditIntent(kind="object", target=Referent(color="red", shape="star"), new="blue star")],
        ),
        (
            objects_claim([("blue", "star"), ("blue", "star")]),
            BLUE_STAR,
            [EditIntent(kind="remove", target=Referent(color="blue", shape="star"))],
        ),
        (
            objects_claim([]),
            BLUE_STAR,
            [EditIntent(kind="add", target=Referent(position="top left"), new="blue star")],
        ),
    ],
)
def test_the_edit_is_what_no_longer_holds(claim: Claim, view: View, edits: list[EditIntent]) -> None:
    assert inferred_edits(claim, view) == edits


def test_a_place_with_another_object_altogether_was_edited_twice() -> None:
    both = inferred_edits(object_claim("presence", "red", "circle", "top left"), BLUE_STAR)
    assert [edit.kind for edit in both] == ["color", "shape"]
    assert expected_answer(object_claim("presence", "red", "circle", "top left"), "yes", both).equals == "no"


@pytest.mark.slow
@pytest.mark.parametrize("persona", ["grounded", "shortcut", "confabulating"])
def test_who_sees_the_edited_scene_expects_the_answer_of_one_who_knows_the_edits(persona: Persona) -> None:
    rng, compared = random.Random(2), 0
    for item in generate_items(180, seed=14):
        question = parse_question(item.question)
        assert question is not None
        first, scene = respond(persona, question, item.scene), item.scene
        chain = choose_chain(item.question, first.answer, first.claim, rng, most=2)
        for done, intent in enumerate(chain, start=1):
            try:
                scene = apply(scene, intent)
            except SceneEditError:
                break
            told = expected_answer(first.claim, first.answer, chain[:done])
            assert expected_answer(first.claim, first.answer, inferred_edits(first.claim, view_of(scene))) == told
            compared += 1
    assert compared > 170
