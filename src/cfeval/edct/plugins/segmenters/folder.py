"""Own masks: a folder with `<item>-<edit>.png` or `<item>.png`, the original's size, white where the edit belongs."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.images import Mask
from cfeval.core.registry import Diagnostic
from cfeval.edct.interfaces import VerifyRequest
from cfeval.edct.plugins.masks import MaskOptions, examine_masks, mask_files, mask_folder, own_mask
from cfeval.edct.plugins.segmenters.base import Found, Segmenter
from cfeval.inference.local.pretrained import finding


class Plugin(plugin.Plugin):
    """Where the masks lie."""

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
