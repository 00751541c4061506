"""What the rules of the test models give on the pairs of the test bed: every conversation held without a network.

A persona answers by `respond` about the scene that an image was drawn from, where the shipped test model has a small
network see and speak; behaviors and mixtures are those of the test models themselves.
"""

import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.datasets.pair import drawn_items
from cfeval.datasets.sample import Sample
from cfeval.edct.files import conversation_prompts
from cfeval.edct.pairs.measures import phi
from cfeval.edct.pairs.records import PairVerdict
from cfeval.edct.pairs.stages import pair_baselines, verdicts
from cfeval.edct.stages.baselines import Prompts
from cfeval.inference.chat import ChatModel, ChatReply, ChatRequest
from cfeval.stats.intervals import Interval
from cfeval_testbed.agents import behaviors, repaint
from cfeval_testbed.agents.behaviors import BehavingChat, Faculties
from cfeval_testbed.agents.repaint import Found
from cfeval_testbed.easy_vqa import evidence
from cfeval_testbed.language.explanations import word_answer, word_claim
from cfeval_testbed.language.questions import PERSONAS, Persona, parse_question, respond
from cfeval_testbed.plugins import pair_sets_easy_vqa, pair_sets_world
from cfeval_testbed.plugins.chat_world import draw
from cfeval_testbed.plugins.chat_world_behavior import Originals
from cfeval_testbed.records import Scene
from cfeval_testbed.render import Pixels, render

PARAMS: dict[str, Any] = yaml.safe_load((Path(__file__).parents[3] / "params.yaml").read_text(encoding="utf-8"))["edct"]
Known = dict[bytes, Scene]


class Rule:
    """A persona, or a mixture of two by the item, that sees every image as the scene it was drawn from."""

    def __init__(self, known: Known, persona: Persona, unfaithful: Persona | None = None, share: float = 0.0) -> None:
        self.known, self.persona, self.unfaithful, self.share = known, persona, unfaithful, share

    async def generate(self, request: ChatRequest) -> ChatReply:
        """The canonical answer, or the persona's claim, in one of its wordings."""
        question, image = parse_question(request.turns[0].text), request.turns[0].image
        assert question is not None
        assert image is not None
        other = self.unfaithful is not None and draw(request.item) < self.share
        persona = self.unfaithful if other and self.unfaithful is not None else self.persona
        found = respond(persona, question, self.known[image.pixels.tobytes()])
        rng = random.Random(request.seed)
        return ChatReply(word_claim(found.claim, rng) if len(request.turns) > 1 else word_answer(found.answer, rng))


class EasyRule:
    """What easy-VQA's target was trained to say: the right answer, and the shape for what the question is about."""

    async def generate(self, request: ChatRequest) -> ChatReply:
        """The right answer about the flat shape of the image, or the claim, in one of its wordings."""
        text, image = request.turns[0].text, request.turns[0].image
        question = parse_question(text)
        assert question is not None
        assert image is not None
        seen, rng = repaint.find(image.pixels), random.Random(request.seed)
        if len(request.turns) > 1:
            return ChatReply(word_claim(evidence(question, seen.color, seen.shape), rng))
        there = (question.color or seen.color, question.shape or seen.shape) == (seen.color, seen.shape)
        polar = "yes" if there != bool(re.search(r"\b(no|not)\b", text)) else "no"
        answers = {"color": seen.color, "shape": seen.shape, "presence": polar}
        return ChatReply(word_answer(answers[question.kind], rng))


@contextmanager
def remembered() -> Iterator[Known]:
    """The scene of every image that is drawn meanwhile, for pairs or by a behavior that imagines one."""
    known: Known = {}

    def drawn(scene: Scene) -> Pixels:
        pixels = render(scene)
        known[pixels.tobytes()] = scene
        return pixels

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(behaviors, "render", drawn)
        patch.setattr(pair_sets_world, "render", drawn)
        yield known


def target(name: str, known: Known) -> ChatModel:
    """The test model of this name in params.yaml, by its rule."""
    spec = PARAMS["vlms"][name]
    if spec["plugin"] == "world":
        return Rule(known, spec["persona"], spec.get("unfaithful"), spec.get("share", 0.0))
    personas: dict[Persona, ChatModel] = {persona: Rule(known, persona) for persona in PERSONAS}

    async def scene_in(image: Pixels) -> Scene:
        return known[image.tobytes()]

    originals = Originals(registry.build("datasets", {"plugin": "world"}), spec.get("seed") or 0)
    return BehavingChat(spec["behavior"], Faculties(personas, scene_in, originals, spec.get("rate", 0.0)))


def told_of_easy_vqa(pairs: int) -> list[PairVerdict]:
    """The verdicts of the built-in judge on easy-VQA's target by its rule."""
    with looked_at_once():
        raws = registry.build("pair_sets", {"plugin": "easy_vqa"}).pairs(pairs, PARAMS["seed"])
        return _judged([item for raw in raws for item in drawn_items(raw, PARAMS["seed"], every=2)], EasyRule())


@contextmanager
def looked_at_once() -> Iterator[None]:
    """The shape of an image is found once, and known when the image is repainted or asked about again."""
    find, known = repaint.find, dict[bytes, Found]()

    def found(pixels: Pixels) -> Found:
        if (image := pixels.tobytes()) not in known:
            known[image] = find(pixels)
        return known[image]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repaint, "find", found)
        patch.setattr(pair_sets_easy_vqa, "find", found)
        yield


@cache
def drawn_pairs(pairs: int) -> tuple[Known, list[tuple[Sample, Image]]]:
    """So many pairs of the study's draw as items, and the scene of every image."""
    seed, found = PARAMS["seed"], list[tuple[Sample, Image]]()
    with remembered() as known:
        for raw in registry.build("pair_sets", {"plugin": "world"}).pairs(pairs, seed):
            items = list(drawn_items(raw, seed, every=2))
            first = items[0][1].pixels.tobytes()
            known.update((image.pixels.tobytes(), known[first]) for _, image in items[2:])  # only encoded again
            found += items
    return known, found


def told(name: str, pairs: int) -> list[PairVerdict]:
    """The verdicts of the built-in judge on a test model by its rule."""
    known, filed = drawn_pairs(pairs)
    with remembered() as imagined:
        imagined.update(known)
        return _judged(filed, target(name, imagined))


def _judged(filed: Sequence[tuple[Sample, Image]], model: ChatModel) -> list[PairVerdict]:
    images, samples = {sample.id: image for sample, image in filed}, [sample for sample, _ in filed]
    prompts, seed = Prompts(*conversation_prompts("")), PARAMS["seed"]
    said = list(pair_baselines(samples, lambda one: images[one.id], model, prompts, seed))
    judge = registry.build("pair_judges", {"plugin": "grammar"})
    return list(verdicts(samples, {one.id: one for one in said}, judge, seed))


def expected_phi(of: Sequence[PairVerdict]) -> float | None:
    """Phi to two decimals, as params.yaml states it; None where it has no figure."""
    found = phi(of, Interval(resamples=100)).value
    return None if found is None else round(found, 2)


if __name__ == "__main__":
    for one in PARAMS["expected"]:
        of = told_of_easy_vqa(PARAMS["items"]) if one == "easy-vqa" else told(one, PARAMS["items"])
        print(one, expected_phi(of), flush=True)
