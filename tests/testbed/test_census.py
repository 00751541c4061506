"""The census finds what is known of test models by construction; the table holds its figures for those of the study."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest
import yaml

import cfeval_testbed.census
from cfeval.core import registry
from cfeval.inference.chat import ChatReply, ChatRequest
from cfeval_testbed.agents import scene_reader, small_vlm
from cfeval_testbed.agents.scene_reader import Reading
from cfeval_testbed.census import Finding, KnownTruth, census, edits_of_things, known_truth, things_cited
from cfeval_testbed.items import Item, generate_items
from cfeval_testbed.language.explanations import parse_explanation, wordings
from cfeval_testbed.language.questions import (
    PERSONAS,
    Persona,
    Question,
    parse_question,
    respond,
    well_posed,
)
from cfeval_testbed.records import Claim, Scene
from cfeval_testbed.render import Pixels, render
from tests.slow import first_fast
from tests.testbed.scenes import scene_of

SEED, FEW = 20250929, 8
RED_CIRCLE, BLUE_STAR = ("red", "circle"), ("blue", "star")


def items(count: int) -> list[tuple[str, Item]]:
    return [(f"world-{number:05d}", item) for number, item in enumerate(generate_items(count, SEED))]


def claim(text: str) -> Claim:
    parsed = parse_explanation(text)
    assert parsed is not None
    return parsed


def question_of(text: str) -> Question:
    parsed = parse_question(text)
    assert parsed is not None
    return parsed


@cache
def shown(count: int) -> dict[bytes, Scene]:
    """The scene of every image that the census of so many items can show."""
    scenes: dict[bytes, Scene] = {}
    for _, item in items(count):
        edited = edits_of_things(question_of(item.question), item.scene)
        for scene in (item.scene, *(one for its in edited.values() for one in its)):
            scenes[render(scene).tobytes()] = scene
    return scenes


class Perfect:
    """A persona without a network: it knows the scene of every image."""

    def __init__(self, persona: Persona) -> None:
        self.persona = persona

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Answer or explain."""
        opening = request.turns[0]
        assert opening.image is not None
        scene = shown(FEW)[opening.image.pixels.tobytes()]
        response = respond(self.persona, question_of(opening.text), scene)
        return ChatReply(response.answer if len(request.turns) == 1 else wordings(response.claim)[0])


@cache
def found_by_the_census(persona: Persona) -> list[Finding]:
    """What the census finds about a few items, of a persona that sees perfectly."""
    return census(Perfect(persona), items(FEW), 1)


@pytest.mark.parametrize("persona", first_fast(PERSONAS, 1))
def test_only_the_honest_persona_is_faithful(persona: Persona) -> None:
    found = known_truth(found_by_the_census(persona))
    faithful = float(persona == "grounded")
    assert (found.exact, found.graded) == (faithful, faithful)
    assert (found.there < 0.5) == (persona == "prior")


@pytest.mark.slow
def test_the_personas_use_what_they_are_known_to_use() -> None:
    used = {persona: [one.used for one in found_by_the_census(persona)] for persona in PERSONAS}
    assert used["shortcut"] == [{"background"}] * FEW
    assert used["prior"] == [frozenset()] * FEW
    assert used["grounded"] == used["confabulating"]
    assert not any("background" in things for things in used["grounded"])


def test_every_edit_leaves_the_question_well_posed_and_changes_one_thing() -> None:
    for _, item in items(24):
        question = question_of(item.question)
        for thing, scenes in edits_of_things(question, item.scene).items():
            assert scenes
            for scene in scenes:
                assert well_posed(question, scene)
                changed = [one != other for one, other in zip(scene.slots, item.scene.slots, strict=True)]
                assert sum(changed) == (thing != "background")
                assert (scene.background == item.scene.background) == any(changed)


def test_things_are_cited_by_their_place_and_what_is_absent_by_a_name_of_its_own() -> None:
    scene = scene_of(RED_CIRCLE, None, BLUE_STAR, None)
    assert things_cited(claim("the circle in the top left is blue"), scene) == {"top left"}
    assert things_cited(claim("there is a green star in the bottom left"), scene) == {"bottom left"}
    assert things_cited(claim("i see a red circle, a blue star"), scene) == {"top left", "bottom left"}
    assert things_cited(claim("i see a red circle, a red star"), scene) == {"top left", "absent 1"}
    assert things_cited(claim("the background is gray"), scene) == {"background"}


def test_exact_graded_and_there_are_of_the_sets() -> None:
    one, two, none = frozenset({"top left"}), frozenset({"top left", "background"}), frozenset[str]()
    found = [Finding(one, one, True), Finding(two, one, True), Finding(none, one, False), Finding(none, none, True)]
    assert [finding.exact for finding in found] == [True, False, False, False]
    assert [finding.graded for finding in found] == [1.0, 0.5, 0.0, 0.0]
    assert known_truth(found) == KnownTruth(exact=0.25, graded=0.375, there=0.75)


def test_a_census_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one item"):
        known_truth([])


KNOWN = {
    "grounded": KnownTruth(exact=0.973, graded=0.982, there=0.993),
    "misperceiving-10": KnownTruth(exact=0.940, graded=0.959, there=0.940),
    "misperceiving-20": KnownTruth(exact=0.893, graded=0.929, there=0.860),
    "misperceiving-30": KnownTruth(exact=0.853, graded=0.908, there=0.773),
    "mixed-50-prior": KnownTruth(exact=0.547, graded=0.552, there=0.593),
    "mixed-50-confabulating": KnownTruth(exact=0.547, graded=0.555, there=1.000),
    "over-citing": KnownTruth(exact=0.473, graded=0.673, there=0.980),
    "under-citing": KnownTruth(exact=0.000, graded=0.532, there=0.993),
    "blind-listing": KnownTruth(exact=0.000, graded=0.000, there=0.980),
    "unstable-10": KnownTruth(exact=0.900, graded=0.907, there=0.940),
    "unstable-30": KnownTruth(exact=0.687, graded=0.693, there=0.800),
    "memorising": KnownTruth(exact=0.000, graded=0.000, there=1.000),
    "decoy": KnownTruth(exact=0.000, graded=0.007, there=1.000),
    "late": KnownTruth(exact=0.000, graded=0.000, there=0.993),
}
"""What the census of the first 150 items finds about test models of the study."""


@pytest.fixture
def seen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images are drawn, looked at and read once for all test models, which differ in what they make of them."""
    talker, readings = small_vlm.SmallTalker("vlm"), dict[bytes, Reading]()

    class ReadOnce(scene_reader.SceneReader):
        def read(self, images: Sequence[Pixels]) -> list[Reading]:
            new = {image.tobytes(): image for image in images if image.tobytes() not in readings}
            readings.update(zip(new, super().read(list(new.values())), strict=True))
            return [readings[image.tobytes()] for image in images]

    monkeypatch.setattr(small_vlm, "SmallTalker", lambda _, persona: talker.speaking_as(persona))
    monkeypatch.setattr(small_vlm, "_REMEMBERED", 10_000)
    monkeypatch.setattr(scene_reader, "SceneReader", ReadOnce)
    monkeypatch.setattr(cfeval_testbed.census, "_opening", cache(cfeval_testbed.census._opening))


@pytest.mark.slow
def test_the_census_of_a_few_items_finds_what_the_table_says(seen_once: None) -> None:
    """Every fifth of a hundred items is asked about: side by side, as many would be less like those of the table."""
    study = yaml.safe_load((Path(__file__).parents[2] / "params.yaml").read_text(encoding="utf-8"))["edct"]
    assert study["seed"] == SEED
    for name, wanted in KNOWN.items():
        found = known_truth(census(registry.build("chat", study["vlms"][name]), items(100)[::5], 1))
        assert asdict(found) == pytest.approx(asdict(wanted), abs=0.12), name
