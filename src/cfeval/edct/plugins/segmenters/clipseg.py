"""CLIPSeg, a text-prompted segmenter, asked for the concept; see `cfeval.edct.plugins.masks`."""

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from cfeval.core.images import Mask, Pixels
from cfeval.edct.interfaces import VerifyRequest
from cfeval.edct.plugins.segmenters.base import Found, Seen, Segmenter, look
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local import pretrained as plugin
from cfeval.inference.local.devices import memory_errors

if TYPE_CHECKING:
    from cfeval.edct.plugins.masks import ClipSeg


class Plugin(plugin.LocalPlugin):
    """Which checkpoint, and what counts as found."""

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
        from cfeval.edct.plugins.masks import ClipSeg

        with memory_errors(f"loading model '{self.model}'", pretrained.SMALLER):
            return Segmented(ClipSeg(self.model, self.revision, devices.chosen(self.device)), self)


class Segmented:
    """Asks a segmenter for the target."""

    def __init__(self, segmenter: "ClipSeg", options: Plugin) -> None:
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
