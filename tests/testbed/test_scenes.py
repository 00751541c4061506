"""Scene edits: exact, reversible, refused where they make no sense."""

import json
import random

import pytest
from hypothesis import given

from cfeval_testbed.records import EditIntent, Referent, Scene
from cfeval_testbed.scenes import (
    SceneEditError,
    apply,
    as_metadata,
    inverse,
    objects,
    replace_slot,
    resolve,
    sample_scene,
    scene_in,
)
from tests.slow import examples
from tests.testbed.strategies import scenes, scenes_and_edits


@given(scenes_and_edits())
@examples(200)
def test_an_edit_and_its_inverse_lead_back(case: tuple[Scene, EditIntent]) -> None:
    scene, intent = case
    edited = apply(scene, intent)
    assert edited != scene
    assert apply(edited, inverse(scene, intent)) == scene


@given(scenes_and_edits())
@examples(100)
def test_an_edit_leaves_every_nuisance_as_it_was(case: tuple[Scene, EditIntent]) -> None:
    scene, intent = case
    edited = apply(scene, intent)
    nuisance = {"dx", "dy", "scale", "angle", "tint"}
    assert (edited.light_angle, edited.brightness, edited.noise_seed) == (
        scene.light_angle,
        scene.brightness,
        scene.noise_seed,
    )
    for before, after in zip(scene.slots, edited.slots, strict=True):
        assert before.model_dump(include=nuisance) == after.model_dump(include=nuisance)


@given(scenes())
@examples(50)
def test_an_absent_target_is_refused(scene: Scene) -> None:
    missing = Referent(color="teal")
    assert resolve(scene, missing) == []
    with pytest.raises(SceneEditError, match="0 objects match"):
        apply(scene, EditIntent(kind="remove", target=missing))


def _two_red_circles() -> Scene:
    scene = sample_scene(random.Random(0), 4, 4)
    return replace_slot(replace_slot(scene, 0, color="red", shape="circle"), 3, color="red", shape="circle")


def test_an_ambiguous_target_is_refused() -> None:
    with pytest.raises(SceneEditError, match="must be one object"):
        apply(_two_red_circles(), EditIntent(kind="color", target=Referent(color="red", shape="circle"), new="blue"))


@pytest.mark.parametrize(
    "intent",
    [
        EditIntent(kind="color", target=Referent(position="top left"), new="teal"),
        EditIntent(kind="color", target=Referent(position="top left"), old="blue", new="green"),
        EditIntent(kind="background", new="lava"),
        EditIntent(kind="add", target=Referent(position="top left"), new="red star"),
    ],
)
def test_values_that_do_not_fit_are_refused(intent: EditIntent) -> None:
    with pytest.raises(SceneEditError):
        apply(_two_red_circles(), intent)


def test_the_number_of_objects_keeps_to_its_bounds() -> None:
    rng = random.Random(3)
    counts = {len(objects(sample_scene(rng, 0, 4))) for _ in range(200)}
    assert counts == {0, 1, 2, 3, 4}


@given(scenes())
@examples(50)
def test_a_scene_comes_back_from_the_metadata_of_a_sample(scene: Scene) -> None:
    assert scene_in(json.loads(json.dumps(as_metadata(scene)))) == scene


def test_metadata_of_another_data_set_hold_no_scene() -> None:
    assert scene_in(None) is scene_in({}) is scene_in({"place": "kitchen"}) is None
