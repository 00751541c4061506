"""Scenes that tests name by what is in them."""

import random

from cfeval.core.records import Metadata
from cfeval_testbed.records import Scene
from cfeval_testbed.scenes import replace_slot, sample_scene, scene_in

Thing = tuple[str, str] | None


def recorded(metadata: Metadata | None) -> Scene:
    """The scene in the metadata of a sample that has one."""
    scene = scene_in(metadata)
    assert scene is not None
    return scene


def scene_of(*things: *tuple[Thing, Thing, Thing, Thing]) -> Scene:
    """Large objects, color and shape by quadrant in reading order, on a gray background."""
    scene = sample_scene(random.Random(3)).model_copy(update={"background": "gray"})
    for place, thing in enumerate(things):
        color, shape = thing or ("red", "circle")
        scene = replace_slot(scene, place, present=thing is not None, color=color, shape=shape, size="large")
    return scene
