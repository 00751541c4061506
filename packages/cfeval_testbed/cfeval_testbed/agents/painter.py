"""Edits images by diffusion: locates what the instruction points at and repaints it; pixels only, no scene record.

What an editor of images returns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfeval_testbed.agents.crops import (
    WINDOW,
    Floats,
    box_around,
    box_blur,
    check_size,
    dilated,
    eroded,
    halve,
    light_of,
)
from cfeval_testbed.models.editor import EditorNetwork, condition_planes, encode_prompts, paint, standard_normal
from cfeval_testbed.models.layers import Array, Weights, sigmoid, to_floats
from cfeval_testbed.models.locator import NOT_FOUND, Locator, Sight, encode_phrases, knows
from cfeval_testbed.records import BACKGROUNDS, COLORS, POSITIONS, SHAPES, SIZES, EditIntent, Referent
from cfeval_testbed.render import Pixels


@dataclass(frozen=True)
class Painting:
    """An edited image, or why there is none.

    Attributes:
        image: uint8 (64, 64, 3), or None on failure.
        mask: bool (64, 64), the pixels that may have changed; None on failure.
        failure: one line, or None.
    """

    image: npt.NDArray[np.uint8] | None = None
    mask: npt.NDArray[np.bool_] | None = None
    failure: str | None = None


_BATCH = 16
_MOVED = 14
"""A pixel that painting moves by no more than this, of 255 in any channel, shows the ground as before."""
_CERTAIN = 0.9
"""Foreground probability above which a pixel is wholly object, below one minus which it is wholly background."""


def object_prompt(size: str, color: str, shape: str) -> str:
    """What the network is told to paint in place of an object."""
    return f"object {size} {color} {shape}"


def background_prompt(background: str) -> str:
    """What the network is told to paint behind the objects."""
    return f"background {background}"


@dataclass(frozen=True)
class _Job:
    """One window to paint; arrays (32, 32, …), the image in [0, 1]."""

    window: Floats
    mask: Floats
    silhouette: Floats
    light: Floats
    prompt: str
    ground: Floats | None
    corner: tuple[int, int]


class DiffusionPainter:
    """The learned editor; equal images, intents and seeds give equal bytes, whatever the batch."""

    def __init__(self, steps: int = 8, network: EditorNetwork | None = None) -> None:
        """`steps` of DDIM; `network` only to try one that is not shipped."""
        self.steps = steps
        self._locator = Locator(Weights.shipped("locator"))
        self._network = network or EditorNetwork(Weights.shipped("editor"))

    def edit(self, images: Sequence[Pixels], intents: Sequence[EditIntent], seeds: Sequence[int]) -> list[Painting]:
        """Each image edited, or the reason why not.

        Args:
            images: uint8 (64, 64, 3).
            intents: one per image.
            seeds: of each image's noise.

        Raises:
            ValueError: an image has another size or type.
        """
        for image in images:
            check_size(image)
        results: list[Painting] = []
        for start in range(0, len(images), _BATCH):
            part = slice(start, start + _BATCH)
            results += self._edit_batch(images[part], intents[part], seeds[part])
        return results

    def unchanged(self, images: Sequence[Pixels]) -> list[EditIntent]:
        """By image, uint8 (64, 64, 3), the edit that paints the object that is seen best once more as it is."""
        sight = self._locator(to_floats(images), encode_phrases([Referent()] * len(images)))
        places = [int(presence.argmax()) for presence in sight.slots.presence]
        seen = [_seen(sight, row, place) for row, place in enumerate(places)]
        return [
            EditIntent(kind="object", target=Referent(position=POSITIONS[one.place]), new=f"{one.color} {one.shape}")
            for one in seen
        ]

    def _edit_batch(
        self, images: Sequence[Pixels], intents: Sequence[EditIntent], seeds: Sequence[int]
    ) -> list[Painting]:
        jobs = [self._prepare(*one) for one in zip(images, intents, self._locate(images, intents), strict=True)]
        ready = [row for row, job in enumerate(jobs) if isinstance(job, _Job)]
        painted = self._paint([job for job in jobs if isinstance(job, _Job)], [seeds[row] for row in ready])
        windows = dict(zip(ready, painted, strict=True))
        return [
            _compose(images[row], job, windows[row]) if isinstance(job, _Job) else Painting(failure=job)
            for row, job in enumerate(jobs)
        ]

    def _locate(self, images: Sequence[Pixels], intents: Sequence[EditIntent]) -> Iterator["_Found"]:
        sight = self._locator(to_floats(images), encode_phrases([intent.target for intent in intents]))
        for row in range(len(images)):
            yield _found(sight, row)

    def _prepare(self, image: Pixels, intent: EditIntent, found: "_Found") -> _Job | str:
        """The window to paint, or why there is none."""
        if intent.kind == "background":
            return _background_job(image, intent, found)
        if not knows(intent.target) or found.place == NOT_FOUND:
            return "the instruction's target was not found in the image"
        prompt = _prompt(intent, found)
        return prompt if not prompt.startswith(("object", "nothing")) else _object_job(image, found, prompt)

    def _paint(self, jobs: Sequence[_Job], seeds: Sequence[int]) -> list[Floats]:
        """The painted windows, (32, 32, 3) in [0, 1]."""
        if not jobs:
            return []
        source = np.stack([job.window for job in jobs]) * 2 - 1
        planes = (_stack([job.mask for job in jobs]), _stack([job.silhouette for job in jobs]))
        condition = condition_planes(source, *planes, _stack([job.light for job in jobs]))
        noise = np.stack([standard_normal(seed) for seed in seeds])
        prompts = encode_prompts([job.prompt for job in jobs])
        painted = paint(self._network, condition, source, noise, prompts, self.steps)
        return list((painted + 1) / 2)


@dataclass(frozen=True)
class _Found:
    """What the locator says of one image: the quadrant, its attributes, the foreground's probability (64, 64)."""

    place: int
    size: str
    color: str
    shape: str
    foreground: Floats


def _found(sight: Sight[Array], row: int) -> _Found:
    return _seen(sight, row, int(sight.choice[row].argmax()))


def _seen(sight: Sight[Array], row: int, place: int) -> _Found:
    slot = min(place, 3)
    return _Found(
        place,
        SIZES[int(sight.slots.size[row, slot].argmax())],
        COLORS[int(sight.slots.color[row, slot].argmax())],
        SHAPES[int(sight.slots.shape[row, slot].argmax())],
        sigmoid(sight.foreground[row]),
    )


def _prompt(intent: EditIntent, found: _Found) -> str:
    """What to paint, or why this editor cannot."""
    if intent.kind == "remove":
        return "nothing"
    color = {"color": intent.new, "object": intent.new.partition(" ")[0]}.get(intent.kind, found.color)
    shape = {"shape": intent.new, "object": intent.new.partition(" ")[2]}.get(intent.kind, found.shape)
    if intent.kind == "add" or color not in COLORS or shape not in SHAPES:
        return f"this editor cannot paint {intent.new!r} as {intent.kind}"
    return object_prompt(found.size, color, shape)


def _object_job(image: Pixels, found: _Found, prompt: str) -> _Job | str:
    outline = found.foreground > 0.5
    quadrant = np.zeros_like(outline)
    row, column = WINDOW * (found.place // 2), WINDOW * (found.place % 2)
    quadrant[row : row + WINDOW, column : column + WINDOW] = True
    box = box_around(outline & quadrant)
    if box is None:
        return "the target's pixels were not found in the image"
    row, column = box.window()
    cut = np.s_[row : row + WINDOW, column : column + WINDOW]
    mask = box.mask()[cut].astype(float)
    silhouette = (outline & quadrant)[cut].astype(float)
    return _Job(image[cut] / 255.0, mask, silhouette, np.zeros_like(mask), prompt, None, (row, column))


def _background_job(image: Pixels, intent: EditIntent, found: _Found) -> _Job | str:
    """The whole image at half its size, its background to be painted."""
    if intent.new not in BACKGROUNDS:
        return f"this editor cannot paint {intent.new!r} as background"
    ground = np.clip((_CERTAIN - found.foreground) / (2 * _CERTAIN - 1), 0, 1)
    whole = image / 255.0
    mask = (halve(ground) > 0.98).astype(float)
    light = halve(light_of(whole, ground))
    return _Job(halve(whole), mask, np.zeros_like(mask), light, background_prompt(intent.new), ground, (0, 0))


def _compose(image: Pixels, job: _Job, window: Floats) -> Painting:
    """The painted window put into the image; what lies outside the mask keeps its bytes.

    So do pixels of the mask that painting hardly changed, and none of whose neighbours it did: ground stays ground.
    """
    if job.ground is not None:
        return _compose_background(image, job, window)
    row, column = job.corner
    cut = np.s_[row : row + WINDOW, column : column + WINDOW]
    painted = image.copy()
    painted[cut] = _to_bytes(window)
    moved = np.abs(painted.astype(int) - image.astype(int)).max(2) > _MOVED
    mask = np.zeros(image.shape[:2], dtype=bool)
    mask[cut] = job.mask > 0.5
    opened = dilated(eroded(moved & mask))
    mask &= dilated(opened, times=2)
    return Painting(np.where(mask[..., None], painted, image), mask)


def _compose_background(image: Pixels, job: _Job, window: Floats) -> Painting:
    """Adds the difference between new and old ground, so that noise and the objects' soft edges stay."""
    ground = job.ground if job.ground is not None else np.ones(image.shape[:2])
    known = job.mask[..., None]
    weight = np.maximum(_enlarge(known), 1e-6)
    change = _enlarge((window - job.window) * known) / weight
    mask = ground > 0
    painted = _to_bytes(image / 255.0 + change * ground[..., None])
    return Painting(np.where(mask[..., None], painted, image), mask)


def _enlarge(window: Floats) -> Floats:
    """Smooth doubling of (32, 32, C) to (64, 64, C), and a spread that reaches pixels beside unknown ones."""
    doubled = window.repeat(2, 0).repeat(2, 1)
    return np.stack([box_blur(doubled[..., channel], 3) for channel in range(doubled.shape[2])], axis=-1)


def _to_bytes(image: Floats) -> Pixels:
    return np.floor(np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8)


def _stack(planes: Sequence[Floats]) -> Array:
    return np.stack(planes)[..., None]
