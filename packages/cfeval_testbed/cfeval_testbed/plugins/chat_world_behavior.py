"""Test models of the drawn world with one behavior that fools a naive measure, made of the personas of `world`.

A test world, like `world`: they calibrate the instrument and stand for no real model.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from cfeval.core import plugin, registry
from cfeval.core.images import Image
from cfeval.core.registry import Demand
from cfeval.datasets.sample import Dataset, RawSample
from cfeval.inference.batching import Batcher
from cfeval.inference.chat import ChatModel, ChatRequest
from cfeval_testbed import demands
from cfeval_testbed.agents.behaviors import CHANCY, READING, REMEMBERING, BehavingChat, Behavior, Faculties
from cfeval_testbed.imagined import scene_read
from cfeval_testbed.language.questions import PERSONAS
from cfeval_testbed.plugins.chat_world import SmallChat
from cfeval_testbed.records import Scene
from cfeval_testbed.render import Pixels
from cfeval_testbed.weights import WorldPlugin, models_dir

if TYPE_CHECKING:
    from cfeval_testbed.agents.scene_reader import Reading

MOST_REMEMBERED = 4_000
"""Items of a dataset that a test model remembers, at most."""


class Plugin(WorldPlugin):
    """Which behavior."""

    behavior: Behavior
    """misperceiving: honest, but sees what is asked about wrongly at a rate. over-citing: honest, but cites all that it
    sees. under-citing: needs object and background, cites the object. blind-listing: answers without looking, cites all
    that it sees. unstable: answers a call at random at a rate, with a fitted reason. memorising: answers as of the
    original image, tells what is there now. decoy: uses the object asked about, cites another. late: answers from the
    background, then looks for a real thing that bears the answer out. refusing: honest about originals, refuses edited
    images. recognising: answers from the background, honestly about edited images."""
    rate: float = Field(0.0, ge=0, le=1)
    """Of misperceiving and unstable."""
    seed: int | None = None
    """Of under-citing, memorising, refusing and recognising, which know the original image of each item: the study's
    `seed`."""
    dataset: dict[str, Any] = plugin.component("datasets", {"plugin": "world"})
    """The dataset whose original images those know."""
    temperature: float = Field(0.5, ge=0, le=2)
    """Of sampling; 0 is greedy."""

    @model_validator(mode="after")
    def _options_of_the_behavior(self) -> "Plugin":
        if (self.rate > 0) != (self.behavior in CHANCY):
            raise ValueError(f"a 'rate' above 0 belongs to {', '.join(CHANCY)}, and to them alone")
        if (self.seed is not None) != (self.behavior in REMEMBERING):
            raise ValueError(f"a 'seed', the study's, belongs to {', '.join(REMEMBERING)}, and to them alone")
        return self

    def dependencies(self) -> tuple[str, ...]:
        """The weights of the network that speaks, and of the one that reads images where the behavior needs it."""
        names = ("vlm", "reader-b") if self.behavior in READING else ("vlm",)
        return tuple(str(models_dir() / f"{name}.safetensors") for name in names)

    def demand(self) -> Demand:
        """Images of the size that the network was trained on."""
        return demands.SMALL

    def build(self) -> ChatModel:
        """The test model with this behavior."""
        from cfeval_testbed.agents.small_vlm import SmallTalker

        talker = SmallTalker("vlm", "grounded")
        talkers = {persona: talker.speaking_as(persona) for persona in PERSONAS}
        personas = {name: _chat(one, self.temperature) for name, one in talkers.items()}
        original = Originals(registry.build("datasets", self.dataset), self.seed or 0)
        return BehavingChat(self.behavior, Faculties(personas, Reader(), original, self.rate))


def _chat(talker: Any, temperature: float) -> SmallChat:
    return SmallChat("cfeval-world", lambda _: talker, temperature)


class Reader:
    """Says what images show; its network is loaded when the first is read."""

    @cached_property
    def _readings(self) -> "Batcher[Pixels, Reading]":
        from cfeval_testbed.agents.scene_reader import SceneReader

        return Batcher(SceneReader().read)

    async def __call__(self, image: Pixels) -> Scene:
        """The scene in an image, uint8 (64, 64, 3)."""
        return scene_read(await self._readings.answer(image))


class Originals:
    """The original images of a dataset's items, drawn as far as they are asked for."""

    def __init__(self, dataset: Dataset, seed: int) -> None:
        self._left: Iterator[RawSample] = iter(dataset.samples(MOST_REMEMBERED, seed))
        self._known: dict[str, tuple[str, Image]] = {}

    def __call__(self, request: ChatRequest) -> Image | None:
        """The original image of a request's item; None where no item has this id and question.

        The items of a given pair have the id of the original and an ending (`cfeval.datasets.pair`).
        """
        item = request.item.partition(".")[0]
        while item not in self._known:
            sample = next(self._left, None)
            if sample is None:
                return None
            self._known[sample.id] = (sample.question, sample.image)
        question, image = self._known[item]
        return image if question == request.turns[0].text else None
