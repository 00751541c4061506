"""Exact masks of drawn scenes, from their record: the object before and after the edit, or all that is background."""

import numpy as np

from cfeval.core import plugin
from cfeval.core.images import Mask
from cfeval.edct.interfaces import Found, Segmenter, VerifyRequest
from cfeval_testbed.language.instructions import scene_after
from cfeval_testbed.records import Scene
from cfeval_testbed.render import coverage
from cfeval_testbed.scenes import SceneEditError, TargetAbsentError, scene_in


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> Segmenter:
        """The segmenter."""
        return Drawn()


class Drawn:
    """Knows where everything was drawn."""

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Segmenter.find`; no mask without a scene record, or for an instruction that does not fit it."""
        del changed
        scene = scene_in(request.metadata)
        if scene is None:
            return Found(reason="the sample has no scene record; only drawn scenes have one")
        try:
            before = scene_after(scene, request.before)
            after = scene_after(before, [request.positive])
        except SceneEditError as error:
            return Found(reason=str(error), absent=isinstance(error, TargetAbsentError) or None)
        if before == after:
            return Found(reason="the instruction changes nothing")
        return Found(_place(before, after), absent=False)


def _place(before: Scene, after: Scene) -> Mask:
    """What a right edit changes, bool (64, 64)."""
    covered = coverage([before, after]) > 0.5
    if before.background != after.background:
        return np.asarray(~covered[0].any(axis=0))
    moved = [one != other for one, other in zip(before.slots, after.slots, strict=True)]
    return np.asarray(covered[:, moved].any(axis=(0, 1)))
