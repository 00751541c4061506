"""Verifies edits of drawn scenes: a network that no editor was trained with reads them, and pixels are compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from cfeval.backends.registry import PluginOptions
from cfeval.backends.verifiers.base import Verifier, VerifyReply, VerifyRequest
from cfeval.records.world import Scene
from cfeval.world.grammar import parse_instruction
from cfeval.world.render import coverage
from cfeval.world.scenes import SceneEditError, apply
from cfeval.world.weights import models_dir

MARGIN = 6
"""How far around the object, before and after, pixels may change."""
Mask = npt.NDArray[np.bool_]


class Options(PluginOptions):
    """There are none."""


def files(options: Options) -> tuple[str, ...]:
    """The reader's weights."""
    del options
    return (str(Path(models_dir()) / "reader-b.safetensors"),)


def build(options: Options) -> Verifier:
    """The verifier."""
    del options
    from cfeval.world.observer import Observer

    return Reader(Observer())


class Reader:
    """An edit is right where the wanted attribute is read, all else is read as before, and no other pixel moved."""

    def __init__(self, observer: Any) -> None:
        self.observer = observer

    def verify(self, requests: Sequence[VerifyRequest]) -> list[VerifyReply]:
        """Check every edit; without a scene record, or for an unreadable instruction, it cannot tell."""
        regions = [_region(request) for request in requests]
        known = [n for n, region in enumerate(regions) if region is not None]
        found = self.observer.check(
            [requests[n].original.pixels for n in known],
            [requests[n].edited.pixels for n in known],
            [parse_instruction(requests[n].positive) for n in known],
            [regions[n] for n in known],
        )
        told = dict(zip(known, found, strict=True))
        return [_reply(told[n]) if n in told else VerifyReply(None, "no scene record") for n in range(len(requests))]


def _reply(right: bool) -> VerifyReply:
    return VerifyReply(right, "" if right else "not the wanted change, or not only that")


def _region(request: VerifyRequest) -> Mask | None:
    """Where a right edit may change pixels, bool (64, 64); None where there is no telling."""
    intent = parse_instruction(request.positive)
    if intent is None or request.scene is None:
        return None
    try:
        edited = apply(request.scene, intent)
    except SceneEditError:
        return None
    return _off_the_objects(request.scene) if intent.kind == "background" else _around(request.scene, edited)


def _off_the_objects(scene: Scene) -> Mask:
    """Everything but the inside of the objects."""
    inside = coverage([scene])[0].max(axis=0) > 0.98
    return ~np.asarray(ndimage.binary_erosion(inside), dtype=np.bool_)


def _around(scene: Scene, edited: Scene) -> Mask:
    """The object before and after the edit, and a margin."""
    changed = [n for n, (old, new) in enumerate(zip(scene.slots, edited.slots, strict=True)) if old != new]
    covered = coverage([scene, edited])[:, changed].max(axis=(0, 1)) > 0
    return np.asarray(ndimage.binary_dilation(covered, iterations=MARGIN), dtype=np.bool_)
