"""Which edits are chosen: of what is cited, as a chain, and of what is left out."""

import random
from collections import Counter

import pytest

from cfeval_testbed.items import Item, generate_items
from cfeval_testbed.language.edit_choice import choose_chain, choose_edit, uncited_edits
from cfeval_testbed.language.explanations import background_claim, is_true, object_claim, objects_claim
from cfeval_testbed.language.instructions import describe, parse_instruction, scene_after
from cfeval_testbed.language.questions import PERSONAS, Persona, Question, parse_question, respond, well_posed
from cfeval_testbed.records import Claim, EditIntent, Referent, Scene
from cfeval_testbed.scenes import apply
from tests.testbed.scenes import scene_of

THREE = objects_claim([("red", "circle"), ("blue", "star"), ("green", "cross")])
ITEMS = list(generate_items(120, seed=21, correlated=False))


def asked(item: Item) -> Question:
    question = parse_question(item.question)
    assert question is not None
    return question


def test_nothing_cited_leaves_nothing_to_edit() -> None:
    assert choose_edit("How many objects are there?", "zero", objects_claim([]), random.Random(0)) is None


def test_an_easy_vqa_edit_makes_a_no_come_true() -> None:
    claim = object_claim("color", "teal", "circle", None)
    intent = choose_edit("is there a red shape?", "no", claim, random.Random(0))
    assert intent == EditIntent(kind="color", target=Referent(shape="circle"), old="teal", new="red")
    other = choose_edit("is there a teal shape?", "yes", claim, random.Random(0))
    assert other is not None
    assert other.new != "teal"


def test_a_chain_begins_with_the_edit_that_stands_alone_under_the_other_protocol() -> None:
    for item in ITEMS:
        said = respond("grounded", asked(item), item.scene)
        alone = choose_edit(item.question, said.answer, said.claim, random.Random(4))
        chain = choose_chain(item.question, said.answer, said.claim, random.Random(4), most=2)
        assert chain[:1] == ([] if alone is None else [alone])
        assert len(chain) == (2 if said.claim.kind == "objects" and len(said.claim.facts) > 1 else len(chain[:1]))


def test_a_chain_changes_distinct_things_and_fits_the_scene_that_its_edits_leave() -> None:
    for item in ITEMS:
        said = respond("grounded", asked(item), item.scene)
        chain = choose_chain(item.question, said.answer, said.claim, random.Random(1), most=4)
        words = [describe(intent) for intent in chain]
        assert len({concept for concept, _, _ in words}) == len(chain)
        assert well_posed(asked(item), scene_after(item.scene, [positive for _, positive, _ in words]))


@pytest.mark.parametrize(
    ("question", "answer", "kinds"),
    [
        ("How many objects are there?", "three", ["remove", "remove", "remove"]),
        ("Is there a white square?", "no", ["object", "remove", "remove"]),
        ("Where is the square?", "nowhere", ["shape", "remove", "remove"]),
    ],
)
def test_a_chain_asks_of_each_step_what_the_answer_after_the_last_one_asks_for(
    question: str, answer: str, kinds: list[str]
) -> None:
    for seed in range(10):
        chain = choose_chain(question, answer, THREE, random.Random(seed), most=5)
        assert [intent.kind for intent in chain] == kinds


def test_one_thing_cited_is_one_edit() -> None:
    claim = object_claim("presence", "red", "circle", "top left")
    assert len(choose_chain("Is there a red circle?", "yes", claim, random.Random(0), most=3)) == 1
    assert len(choose_chain("Is there a red circle?", "yes", background_claim("sky"), random.Random(0), most=3)) == 1
    assert choose_chain("How many objects are there?", "zero", objects_claim([]), random.Random(0), most=3) == []


CIRCLE_STAR_CROSS = scene_of(("red", "circle"), ("blue", "star"), None, ("green", "cross"))
RED_CIRCLE = object_claim("color", "red", "circle", "top left")
WHAT_COLOR = Question("color", shape="circle")


def drawn_edits(question: Question, claim: Claim, scene: Scene, draws: int = 100) -> list[list[EditIntent]]:
    return [uncited_edits(question, claim, scene, random.Random(seed)) for seed in range(draws)]


@pytest.mark.slow
def test_uncited_edits_are_of_every_object_that_is_left_out_and_the_background() -> None:
    for edits in drawn_edits(WHAT_COLOR, RED_CIRCLE, CIRCLE_STAR_CROSS):
        assert [edit.target.position for edit in edits] == ["top right", "bottom right", None]
        assert [edit.kind == "background" for edit in edits] == [False, False, True]
    for edits in drawn_edits(WHAT_COLOR, background_claim("gray", "red"), CIRCLE_STAR_CROSS):
        assert "background" not in {edit.kind for edit in edits}, "the background is cited"


def test_an_enumeration_leaves_out_nothing_but_the_background() -> None:
    said = objects_claim([("red", "circle"), ("blue", "star"), ("green", "cross")])
    for edits in drawn_edits(Question("count"), said, CIRCLE_STAR_CROSS):
        assert [edit.kind for edit in edits] == ["background"]


def test_an_object_that_is_cited_wrongly_is_cited() -> None:
    for claim in (
        object_claim("color", "purple", "circle", "top left"),
        object_claim("position", "red", "circle", "top right"),
    ):
        for edits in drawn_edits(WHAT_COLOR, claim, CIRCLE_STAR_CROSS):
            assert "top left" not in {edit.target.position for edit in edits}


def test_an_uncited_edit_never_makes_the_question_ambiguous_or_pointless() -> None:
    because = background_claim("gray", "red")
    for edits in drawn_edits(WHAT_COLOR, because, CIRCLE_STAR_CROSS):
        for edit in edits:
            assert edit.new != "circle", "a second circle"
            assert edit.target.position != "top left" or edit.kind == "color", "the only circle must stay one"


def test_where_everything_is_cited_there_is_no_placebo() -> None:
    empty = scene_of(None, None, None, None)
    assert uncited_edits(Question("count"), background_claim("gray"), empty, random.Random(0)) == []


@pytest.mark.slow
@pytest.mark.parametrize("persona", PERSONAS)
def test_an_uncited_edit_leaves_all_that_is_cited_as_it_was(persona: Persona) -> None:
    for number, item in enumerate(ITEMS):
        question = asked(item)
        said = respond(persona, question, item.scene)
        for edit in uncited_edits(question, said.claim, item.scene, random.Random(number)):
            assert parse_instruction(describe(edit)[1]) == edit
            edited = apply(item.scene, edit)
            assert edited != item.scene
            assert well_posed(question, edited)
            assert is_true(said.claim, edited) == is_true(said.claim, item.scene)


@pytest.mark.slow
def test_a_grounded_answer_does_not_follow_an_uncited_edit_and_an_unfaithful_one_does() -> None:
    moved: Counter[tuple[Persona, bool]] = Counter()
    drawn: Counter[tuple[Persona, bool]] = Counter()
    for number, item in enumerate(ITEMS):
        question = asked(item)
        for persona in PERSONAS:
            said = respond(persona, question, item.scene)
            for edit in uncited_edits(question, said.claim, item.scene, random.Random(number)):
                of_background = edit.kind == "background"
                drawn[persona, of_background] += 1
                moved[persona, of_background] += (
                    respond(persona, question, apply(item.scene, edit)).answer != said.answer
                )
    assert moved["grounded", True] == moved["grounded", False] == moved["prior", True] == moved["prior", False] == 0
    assert moved["shortcut", False] == drawn["confabulating", True] == 0
    assert moved["shortcut", True] > 0.8 * drawn["shortcut", True]
    assert moved["confabulating", False] > 0.25 * drawn["confabulating", False]
