"""Editors that need no provider and no diffusion model.

`gated` is any editor with a verifier behind it: what is not verified is made once more, and then given up (EDCT-Bench
2026). An image in which nothing was edited is rejected before any verifier is asked. Where the verifier says that what
was to be edited is not in the original, no other attempt helps: that is a finding about the explanation that cites it.
The first attempt is the editor's own: the same request with the same seed, so that calls that are stored serve the
condition without a gate as well.

`inpaint` removes what an instruction names. A segmenter finds it, and OpenCV paints over it from the pixels around it
(Telea 2004, "An Image Inpainting Technique Based on the Fast Marching Method"). It can do no more than take away: an
instruction to add, replace or alter something is `edit_invalid`. The writer `chat` asks for removals alone with
`removals: true`.
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate
from cfeval.core.sampling import derive_seed
from cfeval.edct.interfaces import (
    EditAttempt,
    Editor,
    EditReply,
    EditRequest,
    Segmenter,
    Verifier,
    VerifyReply,
    VerifyRequest,
    verify_request,
)
from cfeval.edct.metrics import is_unedited
from cfeval.edct.plugins.segmenters import wanted


class GatedPlugin(plugin.Plugin):
    """Any editor with a verifier behind it: what is not verified is made once more, and then given up (EDCT-Bench
    2026).
    """

    editor: dict[str, Any] = plugin.component("editors")
    """The editor: its plugin and options."""
    verifier: dict[str, Any] = plugin.component("verifiers")
    """The verifier: its plugin and options."""
    retries: int = Field(1, ge=0, le=20)
    """Further attempts, each with a seed of its own, where the one before was rejected (EDCT-Bench 2026: one). None
    where the verifier cannot tell: it would hardly tell of another."""
    unsure: Literal["accept", "reject"] = "reject"
    """What becomes of an edit of which the verifier cannot tell."""

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """Those of the editor and the verifier, and as many again for each further attempt."""
        once = tuple(call for family, spec in self.components() for call in registry.estimate_calls(family, spec))
        return once + self.retries * tuple(replace(call, repair=True) for call in once)

    def build(self) -> Editor:
        """The editor with its gate."""
        editor, verifier = (registry.build(family, spec) for family, spec in self.components())
        return Gated(editor, verifier, self)


class Gated:
    """Lets through what the verifier accepts. The metadata are the verifier's; the editor gets them where it asks."""

    needs_metadata = True

    def __init__(self, editor: Editor, verifier: Verifier, options: GatedPlugin) -> None:
        self.editor, self.verifier, self.options = editor, verifier, options

    async def edit(self, request: EditRequest) -> EditReply:
        """Edit an image; one rejected to the end is `edit_invalid`, a failure of the editor itself stays its own.

        Where there was nothing to edit in the original, it is `citation_absent`; not so after earlier edits, which may
        have taken it away.
        """
        editor_request = request if self.editor.needs_metadata else replace(request, metadata=None)
        if request.nothing:  # there is nothing to verify
            return await self.editor.edit(editor_request)
        attempts: tuple[EditAttempt, ...] = ()
        calls: tuple[str, ...] = ()
        for attempt in range(1 + self.options.retries):
            seed = derive_seed(request.seed, "retry", attempt) if attempt else request.seed
            reply = await self.editor.edit(replace(editor_request, seed=seed))
            calls += reply.calls
            details = {**reply.details, "verified_attempts": str(len(attempts))}
            if reply.status != Status.OK or reply.image is None:
                return replace(reply, details=details, calls=calls, attempts=attempts)
            verification = await self._verify(verify_request(request, reply.image, derive_seed(seed, "verify")))
            attempts += (EditAttempt(seed, reply.image, verification, reply.details),)
            reply = replace(reply, details={**details, "verified_attempts": str(len(attempts))}, calls=calls)
            if self.options.unsure == "accept" if verification.verified is None else verification.verified:
                return replace(reply, attempts=attempts)
            if verification.verified is None or verification.absent:
                break
        reason = f"not verified: {verification.reason or 'the verifier gives no reason'}"
        status = Status.CITATION_ABSENT if verification.absent and not request.before else Status.EDIT_INVALID
        return replace(reply, attempts=attempts, image=None, status=status, reason=reason)

    async def _verify(self, request: VerifyRequest) -> VerifyReply:
        height, width = request.original.pixels.shape[:2]
        if is_unedited(request.original.pixels, request.edited.resized(width, height).pixels):
            return VerifyReply(False, "the image did not change")
        return await self.verifier.verify(request)


# Pixels around a pixel that its new color is made of.
RADIUS = 5


class InpaintPlugin(plugin.Plugin):
    """Removes what an instruction names, without a key, a GPU or a diffusion model."""

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

        scaled = cv2.resize(mask.original.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
        across = 2 * self.dilation + 1
        disk = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (across, across))
        region = np.asarray(cv2.dilate(scaled, disk), dtype=np.bool_)
        if region.all():
            return EditReply(status=Status.EDIT_INVALID, reason="it fills the image, so that nothing would be left")
        painted = cv2.inpaint(
            np.ascontiguousarray(request.image.pixels), region.astype(np.uint8), RADIUS, cv2.INPAINT_TELEA
        )
        details = {"removed": request.concept, "mask_share": f"{float(region.mean()):.4f}"}
        return EditReply(Image.from_pixels(np.asarray(painted, dtype=np.uint8)), details)
