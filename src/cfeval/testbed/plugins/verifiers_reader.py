"""Verifies edits of drawn scenes: a network that no editor was trained with reads them, and pixels are compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cfeval.edct.interfaces import Verifier, VerifyReply, VerifyRequest
from cfeval.inference.batching import Batcher
from cfeval.testbed.language.instructions import scene_after
from cfeval.testbed.records import Scene
from cfeval.testbed.render import coverage
from cfeval.testbed.scenes import SceneEditError, scene_in
from cfeval.testbed.weights import WorldPlugin, models_dir

MARGIN = 6
"""How far around the object, before and after, pixels may change."""
if TYPE_CHECKING:
    from cfeval.testbed.agents.scene_reader import Observer, Reading

Mask = npt.NDArray[np.bool_]


class Plugin(WorldPlugin):
    """Without options."""

    def dependencies(self) -> tuple[str, ...]:
        """The reader's weights."""
        return (str(Path(models_dir()) / "reader-b.safetensors"),)

    def build(self) -> Verifier:
        """The verifier."""
        from cfeval.testbed.agents.scene_reader import Observer

        return Reader(Observer())


class Reader:
    """An edit is right where the edited scene is read, whole, off the picture, and no pixel off the target moved."""

    def __init__(self, observer: "Observer") -> None:
        self.observer = observer
        self._requests = Batcher(self._verify_all)

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """Check an edit; without a scene record, or for an instruction that does not fit it, there is no telling."""
        return await self._requests.answer(request)

    def _verify_all(self, requests: Sequence[VerifyRequest]) -> list[VerifyReply]:
        wanted = [_wanted(request) for request in requests]
        known = [number for number, scenes in enumerate(wanted) if scenes is not None]
        readings = self.observer.read([requests[number].edited.pixels for number in known])
        read = dict(zip(known, readings, strict=True))
        pairs = zip(requests, wanted, strict=True)
        return [_reply(request, scenes, read.get(number)) for number, (request, scenes) in enumerate(pairs)]


def _wanted(request: VerifyRequest) -> tuple[Scene, Scene] | None:
    """The scene before and after a right edit; None where there is none, or where nothing would change."""
    scene = scene_in(request.metadata)
    if scene is None or request.edited.pixels.shape != request.original.pixels.shape:
        return None
    try:
        before = scene_after(scene, request.before)
        after = scene_after(before, [request.positive])
    except SceneEditError:
        return None
    return (before, after) if before != after else None


def _reply(request: VerifyRequest, wanted: tuple[Scene, Scene] | None, read: "Reading | None") -> VerifyReply:
    from cfeval.testbed.agents.scene_reader import pixels_kept, reading_of

    if wanted is None or read is None:
        return VerifyReply(None, "no scene record, or the instruction does not fit it")
    if read != reading_of(wanted[1]):
        return VerifyReply(False, "the picture does not show the wanted scene")
    if not pixels_kept(request.original.pixels, request.edited.pixels, _region(*wanted)):
        return VerifyReply(False, "pixels changed off the target")
    return VerifyReply(True)


def _region(scene: Scene, wanted: Scene) -> Mask:
    """Where a right edit may change pixels, bool (64, 64)."""
    return _off_the_objects(scene) if scene.background != wanted.background else _around(scene, wanted)


def _off_the_objects(scene: Scene) -> Mask:
    """Everything but the inside of the objects."""
    from scipy import ndimage

    inside = coverage([scene])[0].max(axis=0) > 0.98
    return ~np.asarray(ndimage.binary_erosion(inside), dtype=np.bool_)


def _around(scene: Scene, wanted: Scene) -> Mask:
    """The object before and after the edit, and a margin."""
    from scipy import ndimage

    changed = [n for n, (old, new) in enumerate(zip(scene.slots, wanted.slots, strict=True)) if old != new]
    covered = coverage([scene, wanted])[:, changed].max(axis=(0, 1)) > 0
    return np.asarray(ndimage.binary_dilation(covered, iterations=MARGIN), dtype=np.bool_)
