"""The test bed's vision, against the records of scenes."""

import random
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import Found, View, Vision, VisionError
from cfeval_testbed.language.questions import QUESTION_KINDS, Question, true_answer, well_posed, wordings
from cfeval_testbed.records import COLORS, SHAPES, Scene
from cfeval_testbed.render import render
from cfeval_testbed.scenes import objects, sample_scene
from tests.images import image


def vision(**options: Any) -> Vision:
    built: Vision = registry.build("vision_tools", {"plugin": "world", **options})
    return built


EYES = vision()
SCENES = [sample_scene(random.Random(seed)) for seed in range(12)]


def view(scene: Scene) -> View:
    return View(Image.from_pixels(render(scene)), (0, 0, 64, 64))


@pytest.mark.parametrize("scene", SCENES)
def test_objects_are_found_by_what_they_are(scene: Scene) -> None:
    there = [slot for _, slot in objects(scene)]
    seen = view(scene)
    assert len(EYES.find(seen, "object")) == len(there)
    for slot in there:
        names = {
            slot.shape: [s for s in there if s.shape == slot.shape],
            f"{slot.color} objects": [s for s in there if s.color == slot.color],
            f"{slot.size} {slot.color} {slot.shape}": [
                s for s in there if (s.size, s.color, s.shape) == (slot.size, slot.color, slot.shape)
            ],
        }
        for name, same in names.items():
            assert len(EYES.find(seen, name)) == len(same), name


@pytest.mark.parametrize("scene", SCENES[:4])
def test_boxes_are_the_quadrants_and_parts_are_looked_at_alone(scene: Scene) -> None:
    positions = [position for position, _ in objects(scene)]
    seen = view(scene)
    for name, box in {"top left": (0, 0, 32, 32), "bottom right": (32, 32, 64, 64)}.items():
        corner = View(seen.image, box)
        assert [found.box for found in EYES.find(corner, "object")] == ([box] if name in positions else [])
        assert len(EYES.find(seen, f"object in the {name}")) == positions.count(name)
    top = sum(position.startswith("top") for position in positions)
    assert len(EYES.find(seen, "objects in the top half")) == top


@pytest.mark.slow
@pytest.mark.parametrize("kind", QUESTION_KINDS)
def test_the_worlds_questions_are_answered(kind: Any) -> None:
    rng, asked = random.Random(1), 0
    for scene in SCENES:
        question = Question(kind, *_named(kind, rng))
        if well_posed(question, scene):
            for words in wordings(question):
                assert EYES.ask(view(scene), words) == true_answer(question, scene)
            asked += 1
    assert asked or kind == "robot"


def _named(kind: str, rng: random.Random) -> tuple[str | None, str | None]:
    color = rng.choice(COLORS) if kind in ("shape", "presence") else None
    return color, rng.choice(SHAPES) if kind in ("color", "position", "presence") else None


@pytest.mark.parametrize("scene", SCENES[:4])
def test_the_text_that_is_true_matches_best(scene: Scene) -> None:
    position, slot = objects(scene)[0]
    seen = view(scene)
    [found, *_] = EYES.find(seen, f"object in the {position}")
    other = next(color for color in COLORS if color != slot.color)
    texts = [f"{other} {slot.shape}", f"{slot.color} {slot.shape}", f"{other} thing"]
    scores = EYES.match(View(seen.image, found.box, found), texts)
    assert max(range(3), key=scores.__getitem__) == 1
    assert sum(scores) == pytest.approx(1)
    assert scores[1] > 0.6


@pytest.mark.parametrize("scene", SCENES[:6])
def test_programs_can_verify_properties_and_presence(scene: Scene) -> None:
    position, slot = objects(scene)[0]
    seen = view(scene)
    other = next(color for color in COLORS if all(color != s.color for _, s in objects(scene)))
    lines = [
        "def execute_command(image):",
        "    patch = ImagePatch(image)",
        f"    thing = patch.find('object in the {position}')[0]",
        f"    said = [thing.verify_property('{slot.shape}', '{slot.color}')]",
        f"    said += [patch.exists('{slot.color} {slot.shape}')]",
        f"    said += [thing.verify_property('object', '{slot.size}'), thing.exists('{slot.shape}')]",
        f"    said += [not thing.verify_property('{slot.shape}', '{other}'), not patch.exists('{other} object')]",
        "    return all(said)",
    ]
    run = run_program("vipergpt", "\n".join(lines), seen, EYES)
    assert (run.result, run.fault) == ("yes", "")


def test_counts_and_presence_of_a_kind_are_answered() -> None:
    scene = SCENES[0]
    _, slot = objects(scene)[0]
    count = str(sum(s.color == slot.color for _, s in objects(scene)))
    assert EYES.ask(view(scene), f"How many {slot.color} objects are there?") == count
    assert EYES.ask(view(scene), f"Is there a {slot.size} {slot.shape}?") == "yes"


def test_what_is_not_offered_is_said_in_one_line() -> None:
    seen = view(SCENES[0])
    found = Found((0, 0, 32, 32), key="0")
    refused = [
        (lambda: EYES.depth(seen), "no depth"),
        (lambda: EYES.inside(seen, View(seen.image, found.box, found)), "no outlines"),
        (lambda: EYES.find(seen, "unicorn"), "it finds objects by size"),
        (lambda: EYES.ask(seen, "Who painted this?"), "no question of the test bed"),
        (lambda: EYES.match(seen, ["a happy thing"]), "must name one of them"),
        (lambda: EYES.tell("What is red?", False), "set its option 'llm'"),
        (lambda: EYES.find(View(image(size=(80, 100)), (0, 0, 100, 80)), "object"), "64 × 64"),
    ]
    for operation, reason in refused:
        with pytest.raises(VisionError, match=reason):
            operation()
    assert EYES.inside(View(seen.image, (0, 0, 10, 10)), seen)
