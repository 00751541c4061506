"""Segmenters: where in an image does an edit belong? They serve the verifier `localised`.

What an instruction does, and to what: (ADD | MODIFY | REMOVE, target) (EDCT-Bench 2026). The first words decide, after
`Change:`, `please` and the like: a verb of adding, a verb of removing, and everything else modifies. The target is the
concept.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationInfo, field_validator

from cfeval.core import plugin, registry
from cfeval.core.images import Image, Mask, Pixels
from cfeval.core.registry import Diagnostic
from cfeval.edct.interfaces import Found, Seen, Segmenter, VerifyRequest
from cfeval.edct.plugins.localised import grown
from cfeval.edct.plugins.masks import ClipSeg, MaskOptions, examine_masks, mask_files, mask_folder, own_mask
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local.detector import BOX_SEGMENTERS, DETECTORS, BoxSegmenter, Detector, filled
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
    action: Action = "add" if _ADDS.match(positive) else "remove" if _REMOVES.match(positive) else "modify"
    return Wanted(action, " ".join(concept.split()))


def look(request: VerifyRequest, see: Callable[[Pixels, str], Seen], both: bool) -> Found:
    """Look for an edit's target: in the edited image for what is added, else in the original (EDCT-Bench 2026).

    Args:
        both: look for what is modified in the edited image as well.
    """
    edit = wanted(request.positive, request.concept)
    if not edit.target:
        return Found(reason="the instruction names no concept that could be looked for")
    adds = edit.action == "add"
    seen = see((request.edited if adds else request.original).pixels, edit.target)
    numbers = {"mask_score": seen.score}
    if adds:
        missing = f"no {edit.target!r} is found in the edited image, to which it was to be added"
        return Found(edited=seen.mask, reason="" if seen.mask is not None else missing, refuted=True, numbers=numbers)
    if seen.mask is None:
        reason = f"no {edit.target!r} is found in the original"
        return Found(reason=reason, numbers=numbers, absent=seen.absent or None)
    after = see(request.edited.pixels, edit.target).mask if both and edit.action == "modify" else None
    return Found(seen.mask, after, numbers=numbers, absent=False)


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
        checkpoints = [(pretrained.checkpoint_of(self.model, self.revision), tuple(DETECTORS))]
        if self.sam:
            checkpoints.append((pretrained.checkpoint_of(self.sam, self.sam_revision), BOX_SEGMENTERS))
        return checkpoints


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
        detections = self.detector(pixels, text)
        boxes = [box for score, box in detections if score >= self.threshold]
        mask = (self.segmenter(pixels, boxes) if self.segmenter else filled(boxes, pixels.shape)) if boxes else None
        absent = self.options.absent is not None and not detections
        return Seen(mask if mask is not None and mask.any() else None, detections[0][0] if detections else 0.0, absent)


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


# Height and width at which images are shown to the classifier, pixels.
SIDE = 224
CELL = SIDE // 8
# Height and width of a window, pixels; windows begin at every cell.
WINDOW = 2 * CELL
_STARTS = range(0, SIDE - WINDOW + 1, CELL)
BATCH = 4  # more at once are slower on a processor
Heat = npt.NDArray[np.float64]


class ClassifierPlugin(plugin.Plugin):
    """Where a classifier sees what an instruction names: the regions without which the class loses probability.

    Occlusion (Zeiler and Fergus 2014, "Visualizing and Understanding Convolutional Networks", Section 4.2): windows of
    the image are painted over in its mean color, one after the other; each pixel gets the mean loss of the windows over
    it. Needs no segmentation weights, so that classes are found roughly and by what the classifier goes by, not by
    outline. It knows the names of its classes and their last words, such as `cat` for `Egyptian cat`, and no other
    words.
    """

    classifier: dict[str, Any] = plugin.component("classifiers")
    """The classifier: its plugin and options."""
    least: float = Field(0.05, gt=0, lt=1)
    """Probability of the class below which it is not found in an image."""
    threshold: float = Field(0.3, gt=0, lt=1)
    """Share of the greatest loss from which on a pixel belongs to the target."""

    def build(self) -> Segmenter:
        """The segmenter, its classifier loaded."""
        return Occluded(registry.build("classifiers", self.classifier), self)


class Occluded:
    """Asks a classifier about the image without each of its parts."""

    def __init__(self, classifier: Any, options: ClassifierPlugin) -> None:
        self.classifier, self.options = classifier, options

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Segmenter.find`; a word that names no class is said to be unknown."""
        del changed
        concept = " ".join(request.concept.split())
        if concept and not matching(concept, self.classifier.classes):
            return Found(reason=f"the classifier has no class {concept!r}, so it cannot tell where that is")
        return look(request, self._see, both=False)

    def _see(self, pixels: Pixels, text: str) -> Seen:
        places = matching(text, self.classifier.classes)
        import cv2
        import torch

        small = torch.from_numpy(Image.from_pixels(pixels).resized(SIDE, SIDE).pixels.copy())
        image = small.permute(2, 0, 1)[None].float() / 127.5 - 1
        windows = [np.s_[top : top + WINDOW, left : left + WINDOW] for top in _STARTS for left in _STARTS]
        views = [image]
        for window in windows:
            view = image.clone()
            view[:, :, *window] = image.mean(dim=(2, 3), keepdim=True)
            views.append(view)
        with torch.inference_mode():
            batches = (torch.cat(views[start : start + BATCH]) for start in range(0, len(views), BATCH))
            logits = torch.cat([self.classifier.logits(batch.to(self.classifier.device)) for batch in batches])
        shares = logits.softmax(1)[:, list(places)].sum(1).double().cpu().numpy()
        loss, count = np.zeros((SIDE, SIDE)), np.zeros((SIDE, SIDE))
        for window, share in zip(windows, shares[1:], strict=True):
            loss[window] += max(shares[0] - share, 0)
            count[window] += 1
        probability = float(shares[0])
        heat = np.asarray(cv2.GaussianBlur(loss / count, (0, 0), CELL / 3), dtype=np.float64)
        if probability < self.options.least or heat.max() <= 0:
            return Seen(None, probability)
        return Seen(heat >= self.options.threshold * heat.max(), probability)


def matching(text: str, classes: Sequence[str]) -> list[int]:
    """The places of the classes that a text names, in full or by their last word; of several words the longest.

    Singular and plural are the same. Nothing where the text names none, or names ones that share no word.
    """
    tokens, names = _singular_words(text), [_singular_words(name) for name in classes]
    for length in range(len(tokens), 0, -1):
        for start in range(len(tokens) - length, -1, -1):  # the last words of a noun phrase are its head
            named = tokens[start : start + length]
            if places := [place for place, name in enumerate(names) if name[-length:] == named]:
                return places
    return []


def _singular_words(text: str) -> list[str]:
    tokens = re.findall(r"[\w'-]+", text.lower())
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in tokens]
