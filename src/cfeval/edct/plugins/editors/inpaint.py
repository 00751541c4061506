"""Removes what an instruction names, without a key, a GPU or a diffusion model.

A segmenter finds it, and OpenCV paints over it from the pixels around it (Telea 2004, "An Image Inpainting Technique
Based on the Fast Marching Method"). It can do no more than take away: an instruction to add, replace or alter something
is `edit_invalid`. The writer `chat` asks for removals alone with `removals: true`.
"""

from typing import Any

import numpy as np
from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.images import Image, Mask
from cfeval.core.records import Status
from cfeval.edct.interfaces import Editor, EditReply, EditRequest, verify_request
from cfeval.edct.plugins.segmenters.base import Segmenter, wanted

RADIUS = 5
"""Pixels around a pixel that its new color is made of."""


class Plugin(plugin.Plugin):
    """Who finds what is to be removed, and how far around it is painted over."""

    segmenter: dict[str, Any] = plugin.component("segmenters")
    """The segmenter: its plugin and options, such as {plugin: clipseg, model: CIDAS/clipseg-rd64-refined}."""
    dilation: int = Field(8, ge=0, le=500)
    """Pixels by which the found region grows to all sides, because an object's edge and shadow give it away."""

    def build(self) -> Editor:
        """The editor, its segmenter loaded."""
        return Inpaint(registry.build("segmenters", self.segmenter), self.dilation)


class Inpaint:
    """Removes what is found. The metadata are the segmenter's."""

    needs_metadata = True

    def __init__(self, segmenter: Segmenter, dilation: int) -> None:
        self.segmenter, self.dilation = segmenter, dilation

    async def edit(self, request: EditRequest) -> EditReply:
        """Remove something from an image.

        The status is `edit_invalid` where the instruction is no removal, or the segmenter does not find or know what is
        to be removed; `citation_absent` where it is sure that it is not there.
        """
        import cv2

        if request.nothing:
            return EditReply(request.image)
        action = wanted(request.positive, request.concept).action
        if action != "remove":
            wish = "add something" if action == "add" else "change or replace something"
            return EditReply(
                status=Status.EDIT_INVALID, reason=f"inpaint only removes, and the instruction is to {wish}"
            )
        height, width = request.image.pixels.shape[:2]
        wanted_part = verify_request(request, request.image, request.seed)
        mask = self.segmenter.find(wanted_part, np.zeros((height, width), dtype=np.bool_))
        if mask.original is None:
            status = Status.CITATION_ABSENT if mask.absent and not request.before else Status.EDIT_INVALID
            return EditReply(status=status, reason=mask.reason or "the segmenter finds nothing")
        region = self._grown(mask.original, height, width)
        if region.all():
            return EditReply(status=Status.EDIT_INVALID, reason="it fills the image, so that nothing would be left")
        painted = cv2.inpaint(
            np.ascontiguousarray(request.image.pixels), region.astype(np.uint8), RADIUS, cv2.INPAINT_TELEA
        )
        details = {"removed": request.concept, "mask_share": f"{float(region.mean()):.4f}"}
        return EditReply(Image.from_pixels(np.asarray(painted, dtype=np.uint8)), details)

    def _grown(self, mask: Mask, height: int, width: int) -> Mask:
        """A mask at the size of its image, grown to all sides."""
        import cv2

        scaled = cv2.resize(mask.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
        across = 2 * self.dilation + 1
        disk = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (across, across))
        return np.asarray(cv2.dilate(scaled, disk), dtype=np.bool_)
