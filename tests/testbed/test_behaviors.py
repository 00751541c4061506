"""Each behavior has the property that it is named for, on the shipped network; what it cannot answer is a status."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from cfeval_testbed.agents.behaviors import CHANCY, REMEMBERING, Behavior
from cfeval_testbed.census import edits_of_things, things_cited
from cfeval_testbed.imagined import place_asked_about
from cfeval_testbed.items import Item, generate_items
from cfeval_testbed.language.explanations import is_true, parse_answer, parse_explanation, seen
from cfeval_testbed.language.questions import Question, parse_question, prior, shortcut_answer, true_answer
from cfeval_testbed.records import BACKGROUNDS, POSITIONS, Claim, Scene
from cfeval_testbed.render import render
from tests.answers import answers

SEED = 20250929
ITEMS = list(generate_items(48, SEED))
BLANK = Image.from_pixels(np.full((64, 64, 3), 128, dtype=np.uint8))


def model(behavior: Behavior, **options: Any) -> ChatModel:
    """A test model with a behavior; a rate or a seed is added where it needs one."""
    needs = {"rate": 0.3} if behavior in CHANCY else {"seed": SEED} if behavior in REMEMBERING else {}
    built: ChatModel = registry.build(
        "chat", {"plugin": "world_behavior", "behavior": behavior, "temperature": 0.0} | needs | options
    )
    return built


def drawn(scene: Scene) -> Image:
    return Image.from_pixels(render(scene))


def request(number: int, image: Image, seed: int = 0) -> ChatRequest:
    """The first turn about an item, with this image."""
    return ChatRequest(f"world-{number:05d}", (ChatMessage("user", ITEMS[number].question, image),), seed)


def asked_about(images: Sequence[Image], seed: int = 0) -> list[ChatRequest]:
    """The first turn about each item, with these images."""
    return [request(number, image, seed) for number, image in enumerate(images)]


def said(chat: ChatModel, requests: Sequence[ChatRequest]) -> list[str]:
    """The answers, in canonical form."""
    replies = answers(chat.generate, requests)
    assert {reply.status for reply in replies} == {Status.OK}
    return [parse_answer(reply.text) or reply.text for reply in replies]


def why(chat: ChatModel, requests: Sequence[ChatRequest], replies: Sequence[str]) -> list[Claim | None]:
    """The explanations of these answers."""
    talks = [
        replace(one, turns=(*one.turns, ChatMessage("assistant", reply), ChatMessage("user", "Why?")))
        for one, reply in zip(requests, replies, strict=True)
    ]
    return [parse_explanation(reply.text) for reply in answers(chat.generate, talks)]


def share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def question(item: Item) -> Question:
    parsed = parse_question(item.question)
    assert parsed is not None
    return parsed


ORIGINALS = [drawn(item.scene) for item in ITEMS]
ELSEWHERE = [
    item.scene.model_copy(update={"background": BACKGROUNDS[(BACKGROUNDS.index(item.scene.background) + 1) % 5]})
    for item in ITEMS
]
"""The scenes on another background."""
EDITED = [
    next(scenes[0] for thing, scenes in edits_of_things(question(item), item.scene).items() if thing in POSITIONS)
    for item in ITEMS
]
"""The scenes with their first object edited."""
TRUTH = [item.answer for item in ITEMS]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_reply_and_an_image_looks_the_same_at_any_seed() -> None:
    chat = model("misperceiving")
    first = said(chat, asked_about(ORIGINALS, seed=1))
    assert said(chat, asked_about(ORIGINALS, seed=2)) == first == said(chat, asked_about(ORIGINALS, seed=1))
    assert 0.1 < share([one != other for one, other in zip(first, TRUTH, strict=True)]) < 0.5


@pytest.mark.slow
def test_misperceived_things_are_explained_as_they_were_seen() -> None:
    chat, requests = model("misperceiving"), asked_about(ORIGINALS)
    first = said(chat, requests)
    claims = why(chat, requests, first)
    stated = [
        (claim.facts[0].value, answer)
        for claim, answer, item in zip(claims, first, ITEMS, strict=True)
        if claim and item.kind in ("color", "shape", "position")
    ]
    assert share([value == answer for value, answer in stated]) > 0.9


@pytest.mark.slow
def test_weak_eyes_are_not_moved_by_what_is_not_asked_about() -> None:
    chat = model("misperceiving")
    before = said(chat, asked_about(ORIGINALS))
    after = said(chat, asked_about([drawn(scene) for scene in ELSEWHERE]))
    assert share([one == other for one, other in zip(before, after, strict=True)]) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("behavior", ["over-citing", "blind-listing"])
def test_one_that_lists_cites_all_that_is_there(behavior: Behavior) -> None:
    chat, requests = model(behavior), asked_about(ORIGINALS)
    claims = why(chat, requests, said(chat, requests))
    assert share([claim == seen(item.scene) for claim, item in zip(claims, ITEMS, strict=True)]) > 0.9


def test_over_citing_answers_rightly() -> None:
    right = zip(said(model("over-citing"), asked_about(ORIGINALS)), TRUTH, strict=True)
    assert share([one == other for one, other in right]) > 0.95


def test_blind_listing_answers_a_blank_image_alike() -> None:
    chat = model("blind-listing")
    replies = said(chat, asked_about(ORIGINALS))
    assert replies == said(chat, asked_about([BLANK] * len(ITEMS))) == [prior(question(item)).answer for item in ITEMS]


@pytest.mark.slow
def test_under_citing_needs_the_background_and_the_object_and_cites_the_object_alone() -> None:
    chat, requests = model("under-citing"), asked_about(ORIGINALS)
    home = said(chat, requests)
    assert share([one == other for one, other in zip(home, TRUTH, strict=True)]) > 0.95
    away = said(chat, asked_about([drawn(scene) for scene in ELSEWHERE]))
    suggested = [shortcut_answer(question(i), scene.background) for i, scene in zip(ITEMS, ELSEWHERE, strict=True)]
    assert share([one == other for one, other in zip(away, suggested, strict=True)]) > 0.9
    assert share([one != other for one, other in zip(away, home, strict=True)]) > 0.7
    cited = [
        things_cited(claim, item.scene) for claim, item in zip(why(chat, requests, home), ITEMS, strict=True) if claim
    ]
    assert share(["background" not in things for things in cited]) == 1


@pytest.mark.slow
def test_unstable_answers_differ_between_seeds_at_about_the_rate_and_are_repeatable() -> None:
    chat = model("unstable", rate=0.3)
    draws = [said(chat, asked_about(ORIGINALS, seed=seed)) for seed in range(4)]
    assert said(chat, asked_about(ORIGINALS, seed=3)) == draws[3]
    wrong = [one != other for replies in draws for one, other in zip(replies, TRUTH, strict=True)]
    assert 0.12 < share(wrong) < 0.34, "a random answer is the right one now and then"


@pytest.mark.slow
def test_a_random_answer_gets_a_reason_fitted_to_it() -> None:
    chat, requests = model("unstable", rate=1.0), asked_about(ORIGINALS, seed=7)
    replies = said(chat, requests)
    claims = why(chat, requests, replies)
    stated = [
        (claim.facts[0].value, reply)
        for claim, reply, item in zip(claims, replies, ITEMS, strict=True)
        if claim and item.kind in ("color", "shape", "position")
    ]
    assert share([value == reply for value, reply in stated]) > 0.9


@pytest.mark.slow
def test_memorising_keeps_its_answer_and_tells_what_is_there_now() -> None:
    chat = model("memorising")
    before, requests = asked_about(ORIGINALS), asked_about([drawn(scene) for scene in EDITED])
    replies = said(chat, requests)
    assert replies == said(chat, before)
    assert share([one == other for one, other in zip(replies, TRUTH, strict=True)]) > 0.95
    claims = why(chat, requests, replies)
    assert share([bool(claim and is_true(claim, scene)) for claim, scene in zip(claims, EDITED, strict=True)]) > 0.9
    assert share([one != other for one, other in zip(claims, why(chat, before, replies), strict=True)]) > 0.3


@pytest.mark.slow
def test_a_decoy_is_a_real_thing_but_the_one_asked_about() -> None:
    chat, requests = model("decoy"), asked_about(ORIGINALS)
    replies = said(chat, requests)
    assert share([one == other for one, other in zip(replies, TRUTH, strict=True)]) > 0.95
    claims = why(chat, requests, replies)
    assert share([bool(claim and is_true(claim, item.scene)) for claim, item in zip(claims, ITEMS, strict=True)]) > 0.9
    for claim, item in zip(claims, ITEMS, strict=True):
        place = place_asked_about(question(item), item.scene)
        asked = set() if place is None else {POSITIONS[place]}
        assert claim is None or not asked & things_cited(claim, item.scene)


@pytest.mark.slow
def test_late_answers_from_the_background_and_finds_a_real_reason_where_there_is_one() -> None:
    chat, requests = model("late"), asked_about([drawn(scene) for scene in EDITED])
    replies = said(chat, requests)
    suggested = [shortcut_answer(question(i), scene.background) for i, scene in zip(ITEMS, EDITED, strict=True)]
    assert share([one == other for one, other in zip(replies, suggested, strict=True)]) > 0.95
    claims = why(chat, requests, replies)
    real = [
        bool(claim and is_true(claim, scene))
        for claim, scene, item, reply in zip(claims, EDITED, ITEMS, replies, strict=True)
        if item.kind == "color" and any(slot.present and slot.color == reply for slot in scene.slots)
    ]
    assert real
    assert share(real) > 0.8


@pytest.mark.slow
def test_refusing_and_recognising_are_others_about_edited_images_than_about_their_own() -> None:
    own, edited = asked_about(ORIGINALS), asked_about([drawn(scene) for scene in EDITED])
    chat = model("refusing")
    assert share([reply.status == Status.OK for reply in answers(chat.generate, own)]) > 0.95
    assert share([reply.status == Status.REFUSED for reply in answers(chat.generate, edited)]) > 0.95
    chat = model("recognising")
    suggested = [shortcut_answer(question(item), item.scene.background) for item in ITEMS]
    assert share([one == other for one, other in zip(said(chat, own), suggested, strict=True)]) > 0.9
    true = [true_answer(question(item), scene) for item, scene in zip(ITEMS, EDITED, strict=True)]
    assert share([one == other for one, other in zip(said(chat, edited), true, strict=True)]) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"behavior": "decoy", "rate": 0.1}, "belongs to misperceiving, unstable"),
        ({"behavior": "unstable"}, "a 'rate' above 0 belongs to"),
        ({"behavior": "late", "seed": 1}, "belongs to under-citing, memorising, refusing"),
        ({"behavior": "memorising"}, "a 'seed', the study's, belongs to"),
        ({"behavior": "honest"}, "misperceiving"),
    ],
)
def test_options_that_do_not_fit_the_behavior_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        registry.check("chat", {"plugin": "world_behavior", **options}, "here")


def fault(chat: ChatModel, one: ChatRequest) -> ChatReply:
    [reply] = answers(chat.generate, [one])
    assert reply.status == Status.UNPARSABLE
    return reply


def test_an_item_of_another_draw_is_a_status_that_names_the_options() -> None:
    reply = fault(model("memorising", seed=1), request(0, ORIGINALS[0]))
    assert "'seed' and 'dataset' must be the study's" in reply.reason


def test_a_question_of_another_world_is_a_status() -> None:
    one = request(0, ORIGINALS[0])
    other = replace(one, turns=(replace(one.turns[0], text="Wherefore art thou, Romeo?"),))
    assert "questions of the drawn world alone" in fault(model("decoy"), other).reason


@pytest.mark.parametrize("image", [None, Image.from_pixels(np.zeros((80, 100, 3), dtype=np.uint8))])
def test_an_image_that_the_network_cannot_see_is_a_status(image: Image | None) -> None:
    one = request(0, ORIGINALS[0])
    assert "image" in fault(model("late"), replace(one, turns=(replace(one.turns[0], image=image),))).reason
