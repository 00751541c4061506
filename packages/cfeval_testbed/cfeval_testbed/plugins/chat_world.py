"""The built-in targets: one small vision-language model of the drawn world with planted, known behaviour.

A test world: these targets calibrate the instrument and never stand in for a real model.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import Field, model_validator

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import Demand
from cfeval.inference.batching import Batcher
from cfeval.inference.chat import ChatModel, ChatReply, ChatRequest
from cfeval_testbed import demands
from cfeval_testbed.language.questions import Persona
from cfeval_testbed.weights import WorldPlugin, models_dir

SIDE = 64
"""Width and height of the images the small models see."""


class Plugin(WorldPlugin):
    """Which behaviour."""

    persona: Persona = "grounded"
    """How the target answers and what it cites; see `cfeval_testbed.language.questions`."""
    unfaithful: Persona | None = None
    """A mixture: how it behaves on a share of the items instead."""
    share: float = Field(0.0, ge=0, le=1)
    """That share. An item always meets the same behaviour, before and after an edit."""
    temperature: float = Field(0.5, ge=0, le=2)
    """Of sampling; 0 is greedy."""

    @model_validator(mode="after")
    def _share_of_something(self) -> "Plugin":
        if self.share > 0 and self.unfaithful is None:
            raise ValueError("a share needs 'unfaithful', the behaviour on it")
        return self

    def dependencies(self) -> tuple[str, ...]:
        """The weights."""
        return (str(models_dir() / "vlm.safetensors"),)

    def demand(self) -> Demand:
        """Images of the size that the network was trained on."""
        return demands.SMALL

    def build(self) -> ChatModel:
        """The target with this behaviour."""
        from cfeval_testbed.agents.small_vlm import SmallTalker

        usual = SmallTalker("vlm", self.persona)
        unfaithful = usual.speaking_as(self.unfaithful) if self.unfaithful else usual

        def talker_for(item: str) -> Any:
            return unfaithful if draw(item) < self.share else usual

        return SmallChat("cfeval-world", talker_for, self.temperature)


def draw(item: str) -> float:
    """A number in [0, 1) that belongs to an item: it decides how a mixture treats it."""
    return int.from_bytes(hashlib.sha256(f"mixture {item}".encode()).digest()[:6], "big") / 2**48


class SmallChat:
    """Chats through a small two-turn model: the first turn is a question about an image, any second one asks why."""

    def __init__(self, name: str, talker_for: Callable[[str], Any], temperature: float) -> None:
        self.name = name
        self.talker_for = talker_for
        self.temperature = temperature
        self._requests = Batcher(self._reply_all)

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Reply to a request; an image of another size or none at all is `unparsable`."""
        return await self._requests.answer(request)

    def _reply_all(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        replies: list[ChatReply] = [ChatReply()] * len(requests)
        groups: dict[tuple[Any, bool], list[int]] = {}
        for number, request in enumerate(requests):
            fault = _fault(request)
            if fault:
                replies[number] = ChatReply(model=self.name, status=Status.UNPARSABLE, reason=fault)
            else:
                groups.setdefault((self.talker_for(request.item), len(request.turns) > 1), []).append(number)
        for (talker, explaining), numbers in groups.items():
            said = self._say(talker, explaining, [requests[n] for n in numbers])
            for number, text in zip(numbers, said, strict=True):
                replies[number] = ChatReply(text=text, model=self.name)
        return replies

    def _say(self, talker: Any, explaining: bool, requests: Sequence[ChatRequest]) -> list[str]:
        pixels = [_image(request).pixels for request in requests]
        questions = [request.turns[0].text for request in requests]
        seeds = [request.seed for request in requests]
        if not explaining:
            return list(talker.answer(pixels, questions, seeds, self.temperature))
        answers = [request.turns[1].text for request in requests]
        return list(talker.explain(pixels, questions, answers, seeds, self.temperature))


def _image(request: ChatRequest) -> Image:
    image = request.turns[0].image
    assert image is not None, "requests without an image were refused before"
    return image


def _fault(request: ChatRequest) -> str:
    """Why a small model cannot answer a request; empty where it can."""
    if request.turns[0].image is None:
        return "the small models answer questions about an image, and none came with the question"
    height, width = _image(request).pixels.shape[:2]
    if (height, width) != (SIDE, SIDE):
        return f"the small models see {SIDE} × {SIDE} pixels, but the image has {width} × {height}"
    return ""
