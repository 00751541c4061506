"""Checks edits with reader B, which neither editor nor VLM has seen: the wanted change is there, and no other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfeval_testbed.agents.crops import check_size
from cfeval_testbed.models.layers import Array, Weights, to_floats
from cfeval_testbed.models.vision import SceneReader as Network
from cfeval_testbed.models.vision import SlotLogits
from cfeval_testbed.records import BACKGROUNDS, COLORS, POSITIONS, SHAPES, SIZES, EditIntent, Referent, Scene
from cfeval_testbed.render import Pixels

_BATCH = 64
_CHANGED = 12
"""A pixel counts as changed when a channel moves by more than this, of 255."""
_CHANGED_SHARE = 0.02
"""Largest share of pixels outside the mask that may change."""


@dataclass(frozen=True)
class Reading:
    """What a reader sees: for each quadrant (size, color, shape) or None, and the background."""

    slots: tuple[tuple[str, str, str] | None, ...]
    background: str


class SceneReader:
    """The independent eyes."""

    def __init__(self) -> None:
        self._reader = Network(Weights.shipped("reader-b"))

    def read(self, images: Sequence[Pixels]) -> list[Reading]:
        """What is in each image, uint8 (64, 64, 3)."""
        for image in images:
            check_size(image)
        readings: list[Reading] = []
        for start in range(0, len(images), _BATCH):
            logits = self._reader(to_floats(images[start : start + _BATCH]))
            readings += [_reading(logits, row) for row in range(len(logits.presence))]
        return readings

    def check(
        self,
        originals: Sequence[Pixels],
        edited: Sequence[Pixels],
        intents: Sequence[EditIntent],
        masks: Sequence[npt.NDArray[np.bool_] | None] | None = None,
    ) -> list[bool]:
        """Whether each edit did what was asked and left everything else as it was.

        Args:
            originals: uint8 (64, 64, 3).
            edited: as originals.
            intents: what was asked for.
            masks: bool (64, 64), where pixels may change; without one, the target's quadrant or, for backgrounds, all.
        """
        readings = zip(self.read(originals), self.read(edited), intents, strict=True)
        wanted = [after in expected_readings(before, intent) for before, after, intent in readings]
        regions = masks if masks is not None else [None] * len(intents)
        pixels = zip(originals, edited, intents, regions, strict=True)
        kept = [pixels_kept(before, after, _region(intent, mask)) for before, after, intent, mask in pixels]
        return [did and same for did, same in zip(wanted, kept, strict=True)]


def _reading(logits: SlotLogits[Array], row: int) -> Reading:
    slots = tuple(
        (
            SIZES[int(logits.size[row, place].argmax())],
            COLORS[int(logits.color[row, place].argmax())],
            SHAPES[int(logits.shape[row, place].argmax())],
        )
        if float(logits.presence[row, place]) > 0
        else None
        for place in range(4)
    )
    return Reading(slots, BACKGROUNDS[int(logits.background[row].argmax())])


def expected_readings(before: Reading, intent: EditIntent) -> list[Reading]:
    """What a right edit may look like: one reading for every object that the instruction can mean."""
    if intent.kind == "background":
        return [Reading(before.slots, intent.new)]
    places = [place for place in range(len(before.slots)) if _fits(intent.target, before, place)]
    return [_changed(before, place, intent) for place in places]


def _fits(target: Referent, reading: Reading, place: int) -> bool:
    slot = reading.slots[place]
    if slot is None or target.position not in (None, POSITIONS[place]):
        return False
    return all(
        name in (None, value) for name, value in zip((target.size, target.color, target.shape), slot, strict=True)
    )


def _changed(before: Reading, place: int, intent: EditIntent) -> Reading:
    size, color, shape = before.slots[place] or ("", "", "")
    after: tuple[str, str, str] | None = None
    if intent.kind == "color":
        after = (size, intent.new, shape)
    elif intent.kind == "shape":
        after = (size, color, intent.new)
    elif intent.kind == "object":
        new_color, _, new_shape = intent.new.partition(" ")
        after = (size, new_color, new_shape)
    return Reading((*before.slots[:place], after, *before.slots[place + 1 :]), before.background)


def _region(intent: EditIntent, mask: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_]:
    """Where pixels may change."""
    if mask is not None:
        return mask
    region = np.zeros((64, 64), dtype=bool)
    if intent.target.position is None:
        return ~region
    place = POSITIONS.index(intent.target.position)
    row, column = 32 * (place // 2), 32 * (place % 2)
    region[row : row + 32, column : column + 32] = True
    return region


def reading_of(scene: Scene) -> Reading:
    """What a perfect reader would see in the image of a scene."""
    slots = tuple((slot.size, slot.color, slot.shape) if slot.present else None for slot in scene.slots)
    return Reading(slots, scene.background)


def pixels_kept(before: Pixels, after: Pixels, region: npt.NDArray[np.bool_]) -> bool:
    """Whether at most a small share of the pixels outside the region changed."""
    if region.all():
        return True
    return bool(moved_pixels(before, after)[~region].mean() <= _CHANGED_SHARE)


def moved_pixels(before: Pixels, after: Pixels) -> npt.NDArray[np.bool_]:
    """The pixels that changed beyond noise, (H, W)."""
    return np.asarray(np.abs(before.astype(int) - after.astype(int)).max(2) > _CHANGED)
