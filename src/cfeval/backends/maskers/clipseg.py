"""CLIPSeg, a text-prompted segmenter, asked for the concept; see `cfeval.backends.clipseg`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from cfeval.backends.local_models import devices, pretrained
from cfeval.backends.local_models.memory import memory_errors
from cfeval.backends.local_models.options import LocalOptions
from cfeval.backends.maskers.base import Found, Mask, Masker, Pixels, Seen, look
from cfeval.backends.registry import Finding, Needs
from cfeval.backends.verifiers.base import VerifyRequest

if TYPE_CHECKING:
    from cfeval.backends.clipseg import ClipSeg


class Options(LocalOptions):
    """Which checkpoint, and what counts as found."""

    threshold: float = Field(0.5, gt=0, lt=1)
    """Probability from which on a pixel belongs to the target."""
    both: bool = False
    """Whether what is modified is looked for in the edited picture as well."""


def needs(options: Options) -> Needs:
    """A GPU, unless the processor is asked for."""
    return Needs(gpu=0 if options.device == "cpu" else 1)


def files(options: Options) -> tuple[str, ...]:
    """The checkpoint's files, where it is a folder."""
    return tuple(map(str, pretrained.checkpoint_of(options.model, options.revision).files()))


def examine(options: Options) -> Iterator[Finding]:
    """Whether device and checkpoint are there and fit."""
    yield from pretrained.examine(
        pretrained.checkpoint_of(options.model, options.revision), ("clipseg",), options.device
    )


def build(options: Options) -> Masker:
    """The masker, its model loaded.

    Raises:
        BackendError: checkpoint, device or memory do not suffice.
    """
    from cfeval.backends.clipseg import ClipSeg

    with memory_errors(f"loading model '{options.model}'", pretrained.SMALLER):
        return Segmented(ClipSeg(options.model, options.revision, devices.chosen(options.device)), options)


class Segmented:
    """Asks a segmenter for the target."""

    def __init__(self, segmenter: "ClipSeg", options: Options) -> None:
        self.segmenter, self.options = segmenter, options

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Masker.find`."""
        del changed
        return look(request, self._see, self.options.both)

    def _see(self, pixels: Pixels, text: str) -> Seen:
        probability = self.segmenter(pixels, text)
        mask = probability >= self.options.threshold
        return Seen(mask if mask.any() else None, float(probability.max()))
