"""The renderer: the same bytes everywhere, and masks that fit."""

import hashlib
import random
from typing import get_args

import numpy as np
import pytest

from cfeval_testbed.records import Scene, ShapeName
from cfeval_testbed.render import coverage, object_masks, render, render_many
from cfeval_testbed.scenes import replace_slot, sample_scene


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    rng = random.Random(11)
    return [sample_scene(rng) for _ in range(12)]


def test_the_bytes_of_a_known_set_of_scenes_never_change(scenes: list[Scene]) -> None:
    digest = hashlib.sha256(render_many(scenes).tobytes()).hexdigest()
    assert digest == "c3f783fe2d613d2fe5c68c62a33eb9a45d7e6262d3a280c909a9ff541d764fc4"


def test_a_scene_drawn_alone_has_the_bytes_it_has_in_a_batch(scenes: list[Scene]) -> None:
    together = render_many(scenes)
    assert all(np.array_equal(render(scene), image) for scene, image in zip(scenes, together, strict=True))


def test_a_scene_survives_json_and_draws_the_same(scenes: list[Scene]) -> None:
    again = Scene.model_validate_json(scenes[0].model_dump_json())
    assert again == scenes[0]
    assert np.array_equal(render(again), render(scenes[0]))


def test_masks_lie_in_their_quadrants_and_are_empty_where_nothing_is(scenes: list[Scene]) -> None:
    for scene in scenes:
        for place, (slot, mask) in enumerate(zip(scene.slots, object_masks(scene), strict=True)):
            assert mask.any() == slot.present
            rows, columns = np.nonzero(mask)
            assert set(rows // 32) <= {place // 2}
            assert set(columns // 32) <= {place % 2}


def test_pixels_outside_every_object_do_not_depend_on_the_objects(scenes: list[Scene]) -> None:
    scene = scenes[0]
    bare = scene
    for place in range(4):
        bare = replace_slot(bare, place, present=False)
    outside = coverage([scene])[0].max(0) == 0
    assert np.array_equal(render(scene)[outside], render(bare)[outside])


@pytest.mark.parametrize("shape", get_args(ShapeName))
def test_small_objects_cover_clearly_less_than_large_ones(shape: ShapeName, scenes: list[Scene]) -> None:
    largest_small = replace_slot(scenes[0], 0, shape=shape, size="small", present=True, scale=1.0)
    smallest_large = replace_slot(scenes[0], 0, shape=shape, size="large", present=True, scale=0.0)
    small, large = coverage([largest_small])[0, 0].sum(), coverage([smallest_large])[0, 0].sum()
    assert large > 1.7 * small
