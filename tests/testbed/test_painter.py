"""The shipped diffusion painter and the observer that judges edits."""

import json
import random

import numpy as np
import pytest

from cfeval_testbed.agents.painter import DiffusionPainter, Painting
from cfeval_testbed.agents.scene_reader import SceneReader
from cfeval_testbed.items import sample_edit
from cfeval_testbed.records import EditIntent, Referent, Scene
from cfeval_testbed.render import Pixels, render, render_many
from cfeval_testbed.scenes import apply, replace_slot, sample_scene
from cfeval_testbed.weights import models_dir

COUNT, PAINTED = 30, 12


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    rng = random.Random(90_210)
    return [sample_scene(rng) for _ in range(COUNT)]


@pytest.fixture(scope="module")
def intents(scenes: list[Scene]) -> list[EditIntent]:
    rng = random.Random(4)
    return [sample_edit(scene, rng) for scene in scenes]


@pytest.fixture(scope="module")
def images(scenes: list[Scene]) -> list[Pixels]:
    return list(render_many(scenes))


@pytest.fixture(scope="module")
def painter() -> DiffusionPainter:
    return DiffusionPainter()


@pytest.fixture(scope="module")
def paintings(painter: DiffusionPainter, images: list[Pixels], intents: list[EditIntent]) -> list[Painting]:
    return painter.edit(images[:PAINTED], intents[:PAINTED], range(PAINTED))


@pytest.mark.slow
def test_most_edits_are_right_in_the_eyes_of_an_independent_reader(
    images: list[Pixels], intents: list[EditIntent], paintings: list[Painting]
) -> None:
    edited = [painting.image for painting in paintings]
    assert all(image is not None for image in edited)
    shown = [image for image in edited if image is not None]
    checks = SceneReader().check(images[:PAINTED], shown, intents[:PAINTED])
    assert sum(checks) >= 0.85 * PAINTED


def test_pixels_outside_the_mask_keep_their_bytes(images: list[Pixels], paintings: list[Painting]) -> None:
    for before, painting in zip(images[:PAINTED], paintings, strict=True):
        assert painting.image is not None
        assert painting.mask is not None
        assert np.array_equal(painting.image[~painting.mask], before[~painting.mask])


@pytest.mark.slow
def test_equal_seeds_give_equal_bytes_in_any_batch(
    painter: DiffusionPainter, images: list[Pixels], intents: list[EditIntent], paintings: list[Painting]
) -> None:
    (alone,) = painter.edit([images[3]], [intents[3]], [3])
    (other,) = painter.edit([images[3]], [intents[3]], [4])
    assert np.array_equal(alone.image, paintings[3].image)  # type: ignore[arg-type]
    assert not np.array_equal(alone.image, other.image)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("intent", "reason"),
    [
        (EditIntent(kind="remove", target=Referent(color="teal", shape="circle")), "not found"),
        (EditIntent(kind="color", target=Referent(position="top left"), old="red", new="blue"), "not found"),
        (EditIntent(kind="background", old="gray", new="lava"), "cannot paint 'lava'"),
        (EditIntent(kind="color", target=Referent(position="bottom right"), old="red", new="teal"), "cannot paint"),
    ],
)
def test_what_cannot_be_painted_is_a_failure_with_a_reason(
    painter: DiffusionPainter, intent: EditIntent, reason: str
) -> None:
    scene = sample_scene(random.Random(1), 4, 4)
    image = render(replace_slot(scene, 0, present=False))
    (painting,) = painter.edit([image], [intent], [0])
    assert painting.image is None
    assert painting.failure is not None
    assert reason in painting.failure


def test_an_image_of_another_size_is_refused(painter: DiffusionPainter, intents: list[EditIntent]) -> None:
    with pytest.raises(ValueError, match="image must be uint8"):
        painter.edit([np.zeros((32, 32, 3), dtype=np.uint8)], intents[:1], [0])


def test_the_observer_accepts_exact_edits_and_refuses_none_wrong_and_spilled_ones(
    scenes: list[Scene], intents: list[EditIntent], images: list[Pixels]
) -> None:
    exact = list(render_many([apply(scene, intent) for scene, intent in zip(scenes, intents, strict=True)]))
    observer = SceneReader()
    assert sum(observer.check(images, exact, intents)) >= COUNT - 1
    assert sum(observer.check(images, images, intents)) == 0
    masks = [np.zeros((64, 64), dtype=bool)] * COUNT
    assert sum(observer.check(images, exact, intents, masks)) <= 0.1 * COUNT


def test_the_recorded_figures_reach_what_the_studies_rest_on() -> None:
    editor = json.loads((models_dir() / "editor.json").read_text(encoding="utf-8"))["held_out"]
    locator = json.loads((models_dir() / "locator.json").read_text(encoding="utf-8"))["held_out"]
    assert editor["edits"] >= 0.9
    assert locator["phrases"] >= 0.98
    for name in ("reader-a", "reader-b"):
        assert json.loads((models_dir() / f"{name}.json").read_text(encoding="utf-8"))["held_out"]["objects"] >= 0.995
