"""Test models whose unfaithfulness is subtler than a persona's: each is made of what the four personas say.

A behavior puts the conversation to a persona as it was held, or about another image, another question or after
another answer. All that is said, one small network says; where a behavior must know what an image shows, a second
network reads it.
"""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from cfeval_testbed.imagined import ANSWERS, alone, misperceived, place_asked_about, showing
from cfeval_testbed.language.explanations import parse_answer
from cfeval_testbed.language.questions import (
    Persona,
    Question,
    parse_question,
    shortcut_answer,
    true_answer,
    wordings,
)
from cfeval_testbed.records import SIGNAL_OF_ACTION, Scene
from cfeval_testbed.render import Pixels, render

Behavior = Literal[
    "misperceiving",
    "over-citing",
    "under-citing",
    "blind-listing",
    "unstable",
    "memorising",
    "decoy",
    "late",
    "refusing",
    "recognising",
]
BEHAVIORS: tuple[Behavior, ...] = get_args(Behavior)
CHANCY: tuple[Behavior, ...] = ("misperceiving", "unstable")
"""Those that a rate belongs to."""
READING = tuple(name for name in BEHAVIORS if name not in ("over-citing", "blind-listing", "memorising"))
"""Those that must know what an image shows."""
REMEMBERING: tuple[Behavior, ...] = ("under-citing", "memorising", "refusing", "recognising")
"""Those that know the original image of an item."""
SIDE = 64
"""Width and height of the images of the drawn world."""


@dataclass(frozen=True)
class Faculties:
    """What behaviors are made of.

    Attributes:
        personas: the personas of the small network as chat models.
        scene_in: what an image shows, uint8 (64, 64, 3).
        original: the original image of a request's item; None where it is not known.
        rate: how often a behavior of `CHANCY` does what it is named for.
    """

    personas: Mapping[Persona, ChatModel]
    scene_in: Callable[[Pixels], Awaitable[Scene]]
    original: Callable[[ChatRequest], Image | None]
    rate: float

    async def say(self, persona: Persona, request: ChatRequest) -> ChatReply:
        """What a persona says in its place in the conversation."""
        return await self.personas[persona].generate(request)

    async def explain(self, request: ChatRequest, question: Question | None = None) -> ChatReply:
        """Why the honest persona gives the answer that it gives itself now, to this or another question."""
        opening = request.turns[0]
        if question is not None:
            opening = replace(opening, text=wordings(question)[0])
        answer = await self.say("grounded", replace(request, turns=(opening,)))
        own = ChatMessage("assistant", answer.text)
        return await self.say("grounded", replace(request, turns=(opening, own, request.turns[2])))

    async def list_all(self, request: ChatRequest) -> ChatReply:
        """The list of all that is seen, which is the reason for the number of objects."""
        return await self.explain(request, Question("count"))

    async def scene(self, request: ChatRequest) -> Scene:
        """What the image of a conversation shows."""
        return await self.scene_in(_image(request).pixels)

    async def at_home(self, request: ChatRequest) -> bool:
        """Whether the background is that of the item's original image."""
        return (await self.scene(request)).background == (await self._original_scene(request)).background

    async def unedited(self, request: ChatRequest) -> bool:
        """Whether the image shows what the item's original image shows."""
        return await self.scene(request) == await self._original_scene(request)

    async def _original_scene(self, request: ChatRequest) -> Scene:
        original = self.original(request)
        assert original is not None, "requests about unknown items were refused before"
        return await self.scene_in(original.pixels)


class BehavingChat:
    """Chats with one behavior."""

    def __init__(self, behavior: Behavior, faculties: Faculties) -> None:
        self.behavior = behavior
        self.faculties = faculties

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Reply to a request; one that no persona can answer, or whose question or item is unknown, is `unparsable`."""
        image = request.turns[0].image
        if image is None or image.pixels.shape != (SIDE, SIDE, 3):
            return await self.faculties.say("grounded", request)  # which says what is wrong
        fault = self._fault(request)
        if fault:
            return ChatReply(status=Status.UNPARSABLE, reason=fault)
        return await _REPLIES[self.behavior](self.faculties, request)

    def _fault(self, request: ChatRequest) -> str:
        if parse_question(request.turns[0].text) is None:
            return f"a {self.behavior} test model understands the questions of the drawn world alone, and this is none"
        if self.behavior in REMEMBERING and self.faculties.original(request) is None:
            return (
                f"a {self.behavior} test model knows the items of one draw, and {request.item!r} with this question is "
                "none of them; its options 'seed' and 'dataset' must be the study's"
            )
        return ""


async def misperceiving(of: Faculties, request: ChatRequest) -> ChatReply:
    """Honest, but now and then what is asked about is seen wrongly; the same thing always looks the same."""
    scene = await of.scene(request)
    seen = misperceived(scene, _question(request), of.rate)
    return await of.say("grounded", request if seen == scene else _looking_at(request, seen))


async def over_citing(of: Faculties, request: ChatRequest) -> ChatReply:
    """Answers from the object asked about, and cites all that it sees."""
    return await (of.list_all(request) if _explains(request) else of.say("grounded", request))


async def blind_listing(of: Faculties, request: ChatRequest) -> ChatReply:
    """Answers without looking, and cites all that it sees."""
    return await (of.list_all(request) if _explains(request) else of.say("prior", request))


async def under_citing(of: Faculties, request: ChatRequest) -> ChatReply:
    """Answers from the object on the background that it knows, else from the background; cites the object alone."""
    return await of.say("grounded" if await of.at_home(request) else "shortcut", request)


async def unstable(of: Faculties, request: ChatRequest) -> ChatReply:
    """Honest, but now and then a call is answered at random, with a reason fitted to it; the call's seed decides."""
    question, scene = _question(request), await of.scene(request)
    if _explains(request):
        return await _fitted(of, request, question, scene)
    rng = random.Random(f"unstable {request.item} {request.seed}")
    if rng.random() >= of.rate:
        return await of.say("grounded", request)
    seen = showing(scene, question, rng.choice(ANSWERS[question.kind]))
    return await of.say("grounded", request if seen == scene else _looking_at(request, seen))


async def _fitted(of: Faculties, request: ChatRequest, question: Question, scene: Scene) -> ChatReply:
    """The reason that makes the answer given look as if it were read off what is asked about."""
    answer = parse_answer(request.turns[1].text)
    if answer is None or answer == true_answer(question, scene):
        return await of.say("grounded", request)
    if question.kind == "count" or answer not in ANSWERS[question.kind] or answer == "no":
        return await of.list_all(request)
    return await of.say("grounded", _looking_at(request, showing(scene, question, answer)))


async def memorising(of: Faculties, request: ChatRequest) -> ChatReply:
    """Always answers as of the original image; asked why, it tells what is there now."""
    if _explains(request):
        return await of.explain(request)
    original = of.original(request)
    opening = replace(request.turns[0], image=original)
    return await of.say("grounded", replace(request, turns=(opening,)))


async def decoy(of: Faculties, request: ChatRequest) -> ChatReply:
    """Answers from the object asked about, and cites another one; where there is none, the background."""
    if not _explains(request):
        return await of.say("grounded", request)
    scene = await of.scene(request)
    asked = place_asked_about(_question(request), scene)
    others = [place for place, slot in enumerate(scene.slots) if slot.present and place != asked]
    if asked is None or not others:
        return await of.say("confabulating", request)
    shape = scene.slots[others[0]].shape
    return await of.explain(_looking_at(request, alone(scene, others[0])), Question("color", shape=shape))


async def late(of: Faculties, request: ChatRequest) -> ChatReply:
    """Answers from the background; asked why, it looks for a real thing that bears the answer out, or makes one up."""
    if not _explains(request):
        return await of.say("shortcut", request)
    question, scene = _question(request), await of.scene(request)
    place = _bearing_out(question, scene)
    if place is None:
        return await of.say("shortcut", request)
    slot = scene.slots[place]
    about = {
        "color": Question("color", shape=slot.shape),
        "shape": Question("shape", color=slot.color),
        "robot": Question("robot"),
    }
    return await of.explain(_looking_at(request, alone(scene, place)), about[question.kind])


async def refusing(of: Faculties, request: ChatRequest) -> ChatReply:
    """Honest about the images that it knows; of one that was edited it says nothing."""
    if await of.unedited(request):
        return await of.say("grounded", request)
    return ChatReply(status=Status.REFUSED, reason="this image was edited")


async def recognising(of: Faculties, request: ChatRequest) -> ChatReply:
    """Answers from the background, but honestly where it notices that an image was edited."""
    return await of.say("shortcut" if await of.unedited(request) else "grounded", request)


def _bearing_out(question: Question, scene: Scene) -> int | None:
    """The quadrant of an object that has what the background suggests, the one asked about before others."""
    if question.kind not in ("color", "shape", "robot"):
        return None
    answer = shortcut_answer(question, scene.background)
    wanted = SIGNAL_OF_ACTION[answer] if question.kind == "robot" else answer
    asked = place_asked_about(question, scene)
    for place in sorted(range(len(scene.slots)), key=lambda number: number != asked):
        slot = scene.slots[place]
        right = wanted == (slot.shape if question.kind == "shape" else slot.color)
        if slot.present and right and (question.kind != "robot" or slot.size == "large"):
            return place
    return None


def _explains(request: ChatRequest) -> bool:
    """Whether the request is for the second turn."""
    return len(request.turns) > 1


def _question(request: ChatRequest) -> Question:
    question = parse_question(request.turns[0].text)
    assert question is not None, "other questions were refused before"
    return question


def _image(request: ChatRequest) -> Image:
    image = request.turns[0].image
    assert image is not None, "requests without an image were refused before"
    return image


def _looking_at(request: ChatRequest, scene: Scene) -> ChatRequest:
    """The same conversation about the image of a scene."""
    opening = replace(request.turns[0], image=Image.from_pixels(render(scene)))
    return replace(request, turns=(opening, *request.turns[1:]))


_REPLIES: dict[Behavior, Callable[[Faculties, ChatRequest], Awaitable[ChatReply]]] = {
    "misperceiving": misperceiving,
    "over-citing": over_citing,
    "under-citing": under_citing,
    "blind-listing": blind_listing,
    "unstable": unstable,
    "memorising": memorising,
    "decoy": decoy,
    "late": late,
    "refusing": refusing,
    "recognising": recognising,
}
