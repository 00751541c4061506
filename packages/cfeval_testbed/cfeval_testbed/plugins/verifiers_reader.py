"""Verifies edits of drawn scenes: a network that no editor was trained with reads them, and pixels are compared.

It reads the new value where the edit belongs, counts what else reads differently, and says whether what was to be
edited is in the original at all, by its scene record.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cfeval.core.images import Image, Pixels
from cfeval.edct.interfaces import Verifier, VerifyReply, VerifyRequest
from cfeval.inference.batching import Batcher
from cfeval_testbed.agents.crops import dilated, eroded
from cfeval_testbed.language.instructions import scene_after
from cfeval_testbed.records import Scene
from cfeval_testbed.render import coverage
from cfeval_testbed.scenes import SceneEditError, TargetAbsentError, scene_in
from cfeval_testbed.weights import WorldPlugin, models_dir

MARGIN = 6
"""How far around the object, before and after, pixels may change."""
MOST_OF_A_PLACE = 0.5
"""Share of the pixels of one place off the target that may change."""
if TYPE_CHECKING:
    from cfeval_testbed.agents.scene_reader import Reading, SceneReader

Mask = npt.NDArray[np.bool_]


class Plugin(WorldPlugin):
    """Whether images are laid over each other."""

    align: bool = False
    """Whether an image that came back shifted is moved back first; it takes some 50 ms an edit."""

    def dependencies(self) -> tuple[str, ...]:
        """The reader's weights."""
        return (str(Path(models_dir()) / "reader-b.safetensors"),)

    def build(self) -> Verifier:
        """The verifier."""
        from cfeval_testbed.agents.scene_reader import SceneReader

        return Reader(SceneReader(), self.align)


class Reader:
    """An edit is right where what is read off the image is the wanted scene, whole, and no pixel off the target moved.

    Numbers: `as_asked`, 1 where the target reads as it was to become; `others`, how many other things read differently
    than they should: objects, empty quadrants, the background.
    """

    def __init__(self, observer: "SceneReader", align: bool = False) -> None:
        self.observer, self.align = observer, align
        self._requests = Batcher(self._verify_all)

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """Check an edit; without a scene record, or for an instruction that does not fit it, there is no telling."""
        return await self._requests.answer(request)

    def _verify_all(self, requests: Sequence[VerifyRequest]) -> list[VerifyReply]:
        wanted = [_wanted(request) for request in requests]
        if self.align:
            requests = [_moved_back(request) for request in requests]
        known = [number for number, scenes in enumerate(wanted) if not isinstance(scenes, VerifyReply)]
        readings = self.observer.read([requests[number].edited.pixels for number in known])
        read = dict(zip(known, readings, strict=True))
        return [
            scenes if isinstance(scenes, VerifyReply) else _reply(request, *scenes, read[number])
            for number, (request, scenes) in enumerate(zip(requests, wanted, strict=True))
        ]


def _wanted(request: VerifyRequest) -> tuple[Scene, Scene] | VerifyReply:
    """The scene before and after a right edit, or why there is no telling."""
    scene = scene_in(request.metadata)
    if scene is None or request.edited.pixels.shape != request.original.pixels.shape:
        return VerifyReply(None, "no scene record, or an image of another size")
    try:
        before = scene_after(scene, request.before)
        after = scene_after(before, [request.positive])
    except SceneEditError as error:
        return VerifyReply(None, str(error), absent=isinstance(error, TargetAbsentError) or None)
    return (before, after) if before != after else VerifyReply(None, "the instruction changes nothing")


def _moved_back(request: VerifyRequest) -> VerifyRequest:
    """The request with the edited image moved to where the original lies, by whole pixels.

    What the edited image has not is taken from the original.
    """
    from cfeval.edct.plugins.image_comparison import CompareSettings, compare

    pixels = request.edited.pixels
    if pixels.shape != request.original.pixels.shape:
        return request
    compared = compare(request.original.pixels, pixels, CompareSettings())
    right, down = (round(length / compared.scale) for length in compared.alignment.moved)
    if not right and not down:
        return request
    height, width = pixels.shape[:2]
    laid = request.original.pixels.copy()
    rows, columns = (slice(max(0, -by), min(side, side - by)) for by, side in ((down, height), (right, width)))
    laid[rows, columns] = pixels[rows.start + down : rows.stop + down, columns.start + right : columns.stop + right]
    return replace(request, edited=Image.from_pixels(laid))


def _reply(request: VerifyRequest, before: Scene, after: Scene, read: "Reading") -> VerifyReply:
    from cfeval_testbed.agents.scene_reader import reading_of

    old, new, now = (_things(reading) for reading in (reading_of(before), reading_of(after), read))
    made = all(seen == then for was, then, seen in zip(old, new, now, strict=True) if was != then)
    others = sum(seen != then for was, then, seen in zip(old, new, now, strict=True) if was == then)
    faults = [] if made else ["the target does not read as it was to become"]
    faults += [f"{others} other things read differently"] if others else []
    if not faults and not _kept(request.original.pixels, request.edited.pixels, _region(before, after)):
        faults = ["pixels changed off the target"]
    numbers = {"as_asked": float(made), "others": float(others)}
    return VerifyReply(not faults, "; ".join(faults), numbers, absent=False)


def _kept(before: Pixels, after: Pixels, region: Mask) -> bool:
    """Whether few pixels changed off the region, and nowhere most of one place: a small sticker is few pixels."""
    from cfeval.edct.plugins.localised import stray_share
    from cfeval_testbed.agents.scene_reader import moved_pixels, pixels_kept

    strays = stray_share(moved_pixels(before, after), region)
    return pixels_kept(before, after, region) and strays <= MOST_OF_A_PLACE


def _things(reading: "Reading") -> tuple[object, ...]:
    return (*reading.slots, reading.background)


def _region(scene: Scene, wanted: Scene) -> Mask:
    """Where a right edit may change pixels, bool (64, 64)."""
    return _off_the_objects(scene) if scene.background != wanted.background else _around(scene, wanted)


def _off_the_objects(scene: Scene) -> Mask:
    """Everything but the inside of the objects."""
    inside = coverage([scene])[0].max(axis=0) > 0.98
    return ~eroded(inside)


def _around(scene: Scene, wanted: Scene) -> Mask:
    """The object before and after the edit, and a margin."""
    changed = [n for n, (old, new) in enumerate(zip(scene.slots, wanted.slots, strict=True)) if old != new]
    covered = coverage([scene, wanted])[:, changed].max(axis=(0, 1)) > 0
    return dilated(covered, times=MARGIN)
