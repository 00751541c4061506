"""Hypothesis strategies for the test bed."""

import random

from hypothesis import strategies as st

from cfeval_testbed.items import sample_edit
from cfeval_testbed.records import ALL_COLORS, ALL_SHAPES, BACKGROUNDS, POSITIONS, SIZES, EditIntent, Referent, Scene
from cfeval_testbed.scenes import sample_scene

colors, shapes = st.sampled_from(ALL_COLORS), st.sampled_from(ALL_SHAPES)
things = st.builds(lambda color, shape: f"{color} {shape}", colors, shapes)
referents = st.builds(
    Referent,
    color=st.none() | colors,
    shape=st.none() | shapes,
    size=st.none() | st.sampled_from(SIZES),
    position=st.none() | st.sampled_from(POSITIONS),
)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Any scene with an object."""
    return sample_scene(random.Random(draw(st.integers(0, 2**32))))


@st.composite
def scenes_and_edits(draw: st.DrawFn) -> tuple[Scene, EditIntent]:
    """A scene and an edit that fits it."""
    scene = draw(scenes())
    return scene, sample_edit(scene, random.Random(draw(st.integers(0, 2**32))))


@st.composite
def intents(draw: st.DrawFn) -> EditIntent:
    """Any intent that an instruction can be written for."""
    kind = draw(st.sampled_from(["color", "shape", "object", "remove", "add", "background"]))
    if kind == "background":
        return EditIntent(
            kind="background", old=draw(st.sampled_from(BACKGROUNDS)), new=draw(st.sampled_from(BACKGROUNDS))
        )
    target = draw(referents)
    if kind in ("color", "shape"):
        words = colors if kind == "color" else shapes
        return EditIntent(kind=kind, target=target, old=draw(words), new=draw(words))
    old = "" if kind == "add" else draw(st.just("") | things)
    return EditIntent(kind=kind, target=target, old=old, new="" if kind == "remove" else draw(things))
