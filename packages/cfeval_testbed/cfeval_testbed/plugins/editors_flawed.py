"""For calibration only: the drawn world's perfect editor, with a known fault in a known share of the edits.

Like `scene` it draws an edited record. For a share of the edits, chosen by a hash of item, edit and seed (another try
may be right), record or image is spoilt first: it is known of every edit whether a verifier should accept it.
"""

import random
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from pydantic import Field

from cfeval.core import plugin
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import Demand
from cfeval.core.sampling import derive_seed
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval_testbed import demands
from cfeval_testbed.language.instructions import scene_after
from cfeval_testbed.records import BACKGROUNDS, COLORS, SHAPES, Scene
from cfeval_testbed.render import Pixels, render
from cfeval_testbed.scenes import SceneEditError, replace_slot, scene_in

Fault = Literal["none", "any", "wrong_object", "extra_object", "wrong_value", "spill", "none_made", "no_op", "shifted"]
ANY: tuple[Fault, ...] = ("wrong_object", "extra_object", "wrong_value", "spill", "none_made", "no_op")
"""Those after which an image is no counterfactual."""
SHIFT = 3
"""Pixels by which a shifted image is moved along each axis, at most; its border is repeated."""


class Plugin(plugin.Plugin):
    """What goes wrong, and how often."""

    fault: Fault = "none"
    """any: one of all but shifted, by chance. wrong_object: another thing is edited instead. extra_object: another
    thing is edited too. wrong_value: the right thing becomes something else than told. spill: the edit is made, and
    everything else is redrawn as well. none_made: nothing but the noise is redrawn. no_op: the image is only stored
    anew, as JPEG. shifted: the edit is made, and the image moved; no fault of the edit."""
    share: float = Field(1.0, ge=0, le=1)
    """Share of the edits that have the fault."""

    def demand(self) -> Demand:
        """The record that it changes and draws again."""
        return demands.SCENE

    def build(self) -> Editor:
        """The editor."""
        return Flawed(self)


class Flawed:
    """Draws edited records, some of them spoilt; `details` say which."""

    needs_metadata = True

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def edit(self, request: EditRequest) -> EditReply:
        """Draw an edited scene; an instruction that does not fit the scene is `edit_invalid`."""
        scene = scene_in(request.metadata)
        if scene is None:
            reason = "the sample has no scene record; only drawn scenes have one"
            return EditReply(status=Status.EDIT_INVALID, reason=reason)
        try:
            before = scene_after(scene, request.before)
            after = before if request.nothing else scene_after(before, [request.positive])
        except SceneEditError as error:
            return EditReply(status=Status.EDIT_INVALID, reason=str(error))
        if request.nothing:
            return EditReply(Image.from_pixels(render(after)), {"fault": "none"})
        draw = derive_seed(request.seed, request.item, request.edit, "fault")
        chosen = self.options.fault if draw < self.options.share * 2**31 else "none"
        rng = random.Random(derive_seed(draw, chosen))
        fault = rng.choice(ANY) if chosen == "any" else chosen
        if fault == "no_op":
            return EditReply(request.image.reencoded(), {"fault": fault})
        drawn = render(SPOIL[fault](before, after, rng)) if fault in SPOIL else render(after)
        pixels = _moved(drawn, rng) if fault == "shifted" else drawn
        return EditReply(Image.from_pixels(pixels), {"fault": fault})


def _wrong_object(before: Scene, after: Scene, rng: random.Random) -> Scene:
    return _another(before, before, after, rng)


def _extra_object(before: Scene, after: Scene, rng: random.Random) -> Scene:
    return _another(after, before, after, rng)


def _another(base: Scene, before: Scene, after: Scene, rng: random.Random) -> Scene:
    """`base` with something edited that the instruction does not name: an object, or where there is none, a new one."""
    changed = _changed(before, after)
    free = [place for place in range(4) if place != changed]
    there = [place for place in free if base.slots[place].present]
    if not there:
        return replace_slot(base, rng.choice(free), present=True)
    place = rng.choice(there)
    if changed is not None and not after.slots[changed].present:
        return replace_slot(base, place, present=False)
    return _repainted(base, place, rng)


def _wrong_value(before: Scene, after: Scene, rng: random.Random) -> Scene:
    place = _changed(before, after)
    if place is None:
        return after.model_copy(update={"background": _other(BACKGROUNDS, (before.background, after.background), rng)})
    old, new = before.slots[place], after.slots[place]
    return replace_slot(
        after,
        place,
        present=True,
        color=_other(COLORS, (old.color, new.color), rng),
        shape=_other(SHAPES, (old.shape, new.shape), rng),
    )


def _spill(before: Scene, after: Scene, rng: random.Random) -> Scene:
    changed = _changed(before, after)
    for place in range(4):
        if place != changed and after.slots[place].present:
            after = _repainted(after, place, rng)
    if changed is None:
        return after
    return after.model_copy(update={"background": _other(BACKGROUNDS, (before.background,), rng)})


def _none_made(before: Scene, after: Scene, rng: random.Random) -> Scene:
    del after
    return before.model_copy(update={"noise_seed": rng.getrandbits(32)})


SPOIL: dict[str, Callable[[Scene, Scene, random.Random], Scene]] = {
    "wrong_object": _wrong_object,
    "extra_object": _extra_object,
    "wrong_value": _wrong_value,
    "spill": _spill,
    "none_made": _none_made,
}
"""The scene that is drawn instead, from the scenes before and after a right edit."""


def _changed(before: Scene, after: Scene) -> int | None:
    """The quadrant that a right edit changes; None for the background."""
    return next((place for place in range(4) if before.slots[place] != after.slots[place]), None)


def _repainted(scene: Scene, place: int, rng: random.Random) -> Scene:
    """The scene with an object in another color and of another shape."""
    slot = scene.slots[place]
    return replace_slot(
        scene, place, color=_other(COLORS, (slot.color,), rng), shape=_other(SHAPES, (slot.shape,), rng)
    )


def _other(choices: Sequence[str], taken: Sequence[str], rng: random.Random) -> str:
    return rng.choice([choice for choice in choices if choice not in taken])


def _moved(pixels: Pixels, rng: random.Random) -> Pixels:
    """The image moved by `SHIFT` pixels along one axis or both."""
    across, down = rng.choice([(x, y) for x in (-SHIFT, 0, SHIFT) for y in (-SHIFT, 0, SHIFT) if x or y])
    rows, columns = (
        np.clip(np.arange(side) - by, 0, side - 1) for side, by in zip((64, 64), (down, across), strict=True)
    )
    return pixels[rows][:, columns]


assert {"none", "any", "no_op", "shifted", *SPOIL} == set(get_args(Fault))
