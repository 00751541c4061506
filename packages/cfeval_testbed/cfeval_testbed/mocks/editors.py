"""An editor that paints a patch whose colour follows from the instruction: for tests."""

import hashlib

import numpy as np
from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import Editor, EditReply, EditRequest


class Plugin(plugin.Plugin):
    """How to edit."""

    strength: float = Field(1.0, ge=0, le=1)
    """How much of the patch's colour replaces the image's."""
    statuses: dict[str, Status] = {}
    crash_on: tuple[str, ...] = ()

    def build(self) -> Editor:
        """The mock editor."""
        return Scripted(self)


class Scripted:
    """Paints the upper left quarter; see `Plugin`."""

    needs_metadata = False

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def edit(self, request: EditRequest) -> EditReply:
        """Paint an image."""
        if request.item in self.options.crash_on:
            raise PluginError(f"mock crash on item '{request.item}'")
        if request.item in self.options.statuses:
            return EditReply(status=self.options.statuses[request.item], reason="mock")
        pixels = request.image.pixels.copy()
        patch = pixels[: pixels.shape[0] // 2, : pixels.shape[1] // 2]
        color = np.frombuffer(hashlib.sha256(f"{request.positive}{request.seed}".encode()).digest()[:3], np.uint8)
        patch[:] = (patch * (1 - self.options.strength) + color * self.options.strength).astype(np.uint8)
        return EditReply(Image.from_pixels(pixels), {"strength": str(self.options.strength)})
