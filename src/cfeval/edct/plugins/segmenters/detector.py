"""Finds the target by an open-vocabulary detector and outlines it by SAM 2; see `cfeval.inference.local.detector`."""

from collections.abc import Iterator

from pydantic import Field, ValidationInfo, field_validator

from cfeval.core.images import Mask, Pixels
from cfeval.core.registry import Diagnostic
from cfeval.edct.interfaces import VerifyRequest
from cfeval.edct.plugins.segmenters.base import Found, Seen, Segmenter, look
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local import pretrained as plugin
from cfeval.inference.local.detector import BOX_SEGMENTERS, DETECTORS, Box, BoxSegmenter, Detector, filled
from cfeval.inference.local.devices import memory_errors
from cfeval.inference.local.hub import Checkpoint


class Plugin(plugin.LocalPlugin):
    """Which detector, which segmenter, and what counts as found."""

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

    def __init__(self, detector: Detector, segmenter: BoxSegmenter | None, threshold: float, options: Plugin) -> None:
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
