"""Segmenters: where in an image does an edit belong? They serve the verifier `localised`.

What an instruction does, and to what: (ADD | MODIFY | REMOVE, target) (EDCT-Bench 2026). The first words decide, after
`Change:`, `please` and the like: a verb of adding, a verb of removing, and everything else modifies. The target is the
concept.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from cfeval.core import plugin
from cfeval.core.images import Mask, Pixels
from cfeval.core.registry import Diagnostic
from cfeval.edct.interfaces import Found, Seen, Segmenter, VerifyRequest
from cfeval.edct.plugins.localised import grown
from cfeval.edct.plugins.masks import ClipSeg, MaskOptions, examine_masks, mask_files, mask_folder, own_mask
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local.detector import BOX_SEGMENTERS, DETECTORS, Box, BoxSegmenter, Detector, filled
from cfeval.inference.local.devices import memory_errors
from cfeval.inference.local.hub import Checkpoint
from cfeval.inference.local.pretrained import finding

Action = Literal["add", "modify", "remove"]
_OPENING = r"(?:\W|(?:change|edit|instruction)\s*:|(?:please|now|then|first|next|finally)\b)*"
_ADDING = r"add|insert|attach|introduce|(?:put|place|hang|lay|draw|paint)\s+(?:an?|another|some|more)"
_REMOVING = r"remove|delete|erase|eliminate|hide|get\s+rid\s+of|(?:take|clear|cut)\s+(?:away|out|off)"
_ADDS, _REMOVES = (re.compile(rf"{_OPENING}(?:{verbs})\b", re.IGNORECASE) for verbs in (_ADDING, _REMOVING))


@dataclass(frozen=True)
class Wanted:
    """What an instruction does, and to what."""

    action: Action
    target: str


def wanted(positive: str, concept: str) -> Wanted:
    """Read an instruction; `concept` is what it changes, in a few words."""
    return Wanted(_action(positive), " ".join(concept.split()))


def _action(positive: str) -> Action:
    if _ADDS.match(positive):
        return "add"
    return "remove" if _REMOVES.match(positive) else "modify"


def look(request: VerifyRequest, see: Callable[[Pixels, str], Seen], both: bool) -> Found:
    """Look for an edit's target: in the edited image for what is added, else in the original (EDCT-Bench 2026).

    Args:
        request: images, instruction and concept.
        see: looks for a text in an image.
        both: look for what is modified in the edited image as well.
    """
    edit = wanted(request.positive, request.concept)
    if not edit.target:
        return Found(reason="the instruction names no concept that could be looked for")
    if edit.action == "add":
        seen = see(request.edited.pixels, edit.target)
        missing = f"no {edit.target!r} is found in the edited image, to which it was to be added"
        return Found(edited=seen.mask, reason="" if seen.mask is not None else missing, refuted=True, numbers=_of(seen))
    seen = see(request.original.pixels, edit.target)
    if seen.mask is None:
        reason = f"no {edit.target!r} is found in the original"
        return Found(reason=reason, numbers=_of(seen), absent=seen.absent or None)
    after = see(request.edited.pixels, edit.target).mask if both and edit.action == "modify" else None
    return Found(seen.mask, after, numbers=_of(seen), absent=False)


def _of(seen: Seen) -> dict[str, float]:
    return {"mask_score": seen.score}


class ClipSegPlugin(pretrained.LocalPlugin):
    """CLIPSeg, a text-prompted segmenter, asked for the concept; see `cfeval.edct.plugins.masks`."""

    threshold: float = Field(0.5, gt=0, lt=1)
    """Probability from which on a pixel belongs to the target."""
    absent: float | None = Field(None, ge=0, lt=1)
    """Where no pixel's probability is over it, the target is taken not to be there; none: this is never said."""
    both: bool = False
    """Whether what is modified is looked for in the edited image as well."""
    kinds: ClassVar[tuple[str, ...]] = ("clipseg",)

    def build(self) -> Segmenter:
        """The segmenter, its model loaded.

        Raises:
            PluginError: checkpoint, device or memory do not suffice.
        """
        with memory_errors(f"loading model '{self.model}'", pretrained.SMALLER):
            return Segmented(ClipSeg(self.model, self.revision, devices.chosen(self.device)), self)


class Segmented:
    """Asks a segmenter for the target."""

    def __init__(self, segmenter: ClipSeg, options: ClipSegPlugin) -> None:
        self.segmenter, self.options = segmenter, options

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Segmenter.find`."""
        del changed
        return look(request, self._see, self.options.both)

    def _see(self, pixels: Pixels, text: str) -> Seen:
        probability = self.segmenter(pixels, text)
        mask = probability >= self.options.threshold
        score, absent = float(probability.max()), self.options.absent
        return Seen(mask if mask.any() else None, score, absent is not None and score <= absent)


class DetectorPlugin(pretrained.LocalPlugin):
    """Finds the target by an open-vocabulary detector and outlines it by SAM 2; see
    `cfeval.inference.local.detector`.
    """

    sam: str = ""
    """SAM 2 for the outline: a folder or a hub name; empty: the box is the mask."""
    sam_revision: str = ""
    """Branch, tag or commit of SAM 2 on the hub; empty: its main branch."""
    threshold: float | None = Field(None, gt=0, lt=1)
    """Score from which on a box is found; none: what the library takes for the kind of detector, see `DETECTORS`."""
    boxes: int = Field(1, ge=1)
    """How many of the boxes found belong to the target, the surest first, at most."""
    absent: float | None = Field(None, gt=0, lt=1)
    """Where no box has this score, the target is taken not to be in the image; none: this is never said."""
    both: bool = False
    """Whether what is modified is looked for in the edited image as well."""

    @field_validator("sam_revision")
    @classmethod
    def _of_a_model(cls, revision: str, info: ValidationInfo) -> str:
        if revision and not info.data.get("sam"):
            raise ValueError("is the revision of a segmenter, and no 'sam' is given")
        return revision

    def dependencies(self) -> tuple[str, ...]:
        """The checkpoints' files, where they are folders."""
        return tuple(str(path) for checkpoint, _ in self._checkpoints() for path in checkpoint.files())

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether device and checkpoints are there and fit."""
        for checkpoint, kinds in self._checkpoints():
            yield from pretrained.diagnose_checkpoint(checkpoint, kinds, self.device)

    def build(self) -> Segmenter:
        """The segmenter, its models loaded.

        Raises:
            PluginError: checkpoints, device or memory do not suffice.
        """
        device = devices.chosen(self.device)
        checkpoint, *outliner = self._checkpoints()
        with memory_errors(f"loading model '{self.model}'", pretrained.SMALLER):
            threshold = self.threshold or DETECTORS[pretrained.check_kind(*checkpoint)]
            loaded = pretrained.load(checkpoint[0], "AutoModelForZeroShotObjectDetection", device)
            detector = Detector(loaded, min(threshold, self.absent or threshold), self.boxes)
            for sam, kinds in outliner:
                pretrained.check_kind(sam, kinds)
                # Checkpoints name the processor of the video model, which takes other inputs.
                segmenter = BoxSegmenter(pretrained.load(sam, "Sam2Model", device, "Sam2Processor"))
                return Detected(detector, segmenter, threshold, self)
        return Detected(detector, None, threshold, self)

    def _checkpoints(self) -> list[tuple[Checkpoint, tuple[str, ...]]]:
        """The checkpoints, and the kinds that each may be of."""
        found = [(pretrained.checkpoint_of(self.model, self.revision), tuple(DETECTORS))]
        if self.sam:
            found.append((pretrained.checkpoint_of(self.sam, self.sam_revision), BOX_SEGMENTERS))
        return found


class Detected:
    """Looks for the target with a detector, and outlines it; a box counts from `threshold` on."""

    def __init__(
        self, detector: Detector, segmenter: BoxSegmenter | None, threshold: float, options: DetectorPlugin
    ) -> None:
        self.detector, self.segmenter, self.threshold, self.options = detector, segmenter, threshold, options

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Segmenter.find`."""
        del changed
        return look(request, self._see, self.options.both)

    def _see(self, pixels: Pixels, text: str) -> Seen:
        found = self.detector(pixels, text)
        boxes = [box for score, box in found if score >= self.threshold]
        mask = self._outlined(pixels, boxes) if boxes else None
        absent = self.options.absent is not None and not found
        return Seen(mask if mask is not None and mask.any() else None, found[0][0] if found else 0.0, absent)

    def _outlined(self, pixels: Pixels, boxes: list[Box]) -> Mask:
        return self.segmenter(pixels, boxes) if self.segmenter else filled(boxes, pixels.shape)


class DifferencePlugin(plugin.Plugin):
    """No detector: the main change, with what lies close to it, is taken for the edit itself.

    Such a mask can show that the rest of the image changed too (spill). It cannot show that the right thing was edited,
    and its share inside is high whatever was done. A main change over `most` of the image may be spill or an edit of
    the background; without a detector there is no telling.
    """

    most: float = Field(0.5, gt=0, le=1)
    """Share of the image up to which a connected change is taken for the edit."""
    least: float = Field(0.001, ge=0, lt=1)
    """Share of the image from which on it is."""
    gap: float = Field(0.05, ge=0, le=0.5)
    """How far apart the parts of one change may lie, as a share of the longer side."""

    def build(self) -> Segmenter:
        """The segmenter."""
        return Main(self)


class Main:
    """Takes the largest change."""

    def __init__(self, options: DifferencePlugin) -> None:
        self.options = options

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Segmenter.find`."""
        import cv2

        del request
        count, labels = cv2.connectedComponents(grown(changed, self.options.gap / 2).astype(np.uint8))
        areas = np.bincount(labels[changed], minlength=count) / changed.size
        if areas.max() < self.options.least:
            return Found(reason="nothing changed", refuted=True)
        if areas.max() > self.options.most:
            return Found(reason=f"the main change covers {areas.max():.0%} of the image: spill, or a new background")
        return Found(changed & (labels == int(areas.argmax())))


class FolderPlugin(plugin.Plugin):
    """Own masks: a folder with `<item>-<edit>.png` or `<item>.png`, the original's size, white where the edit
    belongs.
    """

    folder: str = Field(min_length=1)
    """The folder."""

    def dependencies(self) -> tuple[str, ...]:
        """The masks."""
        return tuple(map(str, mask_files(MaskOptions(masks=self.folder))))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether there are any."""
        yield finding(lambda: examine_masks(MaskOptions(masks=self.folder)))

    def build(self) -> Segmenter:
        """The segmenter.

        Raises:
            PluginError: no such folder, or no mask in it.
        """
        return Own(mask_folder(self.folder))


class Own:
    """Takes masks from a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Segmenter.find`."""
        del changed
        masked = own_mask(self.folder, request.item, request.edit, request.original.pixels.shape)
        return Found(masked.mask, reason=masked.reason)
