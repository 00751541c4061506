"""Localised edit verification (EDCT-Bench 2026): the image changed where the edit belongs, and hardly elsewhere.

The edited image is laid over the original; pixels that changed are counted inside and outside the mask of what the
instruction names, in each half of it and in each place beside it. It sees that something changed there, not whether it
changed into the right thing, so it never counts as having seen that an edit shows what was asked: use it beside
`semantic`. It lets pass what is faint, local blur, what is smaller than 5 % of the longer side, what overlaps the mask,
and anything beside an edit of the background. What was to be edited is absent where the segmenter is sure of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cfeval.core import plugin, registry
from cfeval.core.images import Mask
from cfeval.edct.interfaces import Verifier, VerifyReply, VerifyRequest
from cfeval.edct.plugins.edit_localisation.change_map import CompareSettings, Comparison, compare
from cfeval.edct.plugins.edit_localisation.decision import (
    Limits,
    decide,
    grown,
    halves_share,
    heat_image,
    mask_image,
    shares,
    stray_share,
)
from cfeval.edct.plugins.segmenters.base import Found, Segmenter
from cfeval.inference.batching import Batcher

_LAID = {
    "matches": "",
    "phase correlation": " (the images were aligned by phase correlation)",
    "nothing": " (the images were compared as they lie)",
}
"""What is said about how the images were laid over each other, beside what is wrong."""


class Plugin(Limits, CompareSettings, plugin.Plugin):
    """Where masks come from, what is compared and how, and what is accepted."""

    mask: dict[str, Any] = plugin.component("segmenters")
    """The segmenter: its plugin and options."""

    def build(self) -> Verifier:
        """The verifier."""
        return Localised(registry.build("segmenters", self.mask), self)


class Localised:
    """Counts changed pixels inside and outside a mask."""

    def __init__(self, segmenter: Segmenter, options: Plugin) -> None:
        self.segmenter, self.options = segmenter, options
        self._requests = Batcher(self._verify_all)

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """Check an edit; without a mask there is no telling."""
        return await self._requests.answer(request)

    def _verify_all(self, requests: Sequence[VerifyRequest]) -> list[VerifyReply]:
        return [self._verify(request) for request in requests]

    def _verify(self, request: VerifyRequest) -> VerifyReply:
        height, width = request.original.pixels.shape[:2]
        edited = request.edited.resized(width, height)
        compared = compare(request.original.pixels, edited.pixels, self.options)
        numbers = {"resized": float(edited is not request.edited), **_figures(compared)}
        found = self.segmenter.find(replace(request, edited=edited), compared.changed)
        numbers |= found.numbers
        mask = _union(found, compared)
        if mask is None:
            reason = found.reason or "the mask is empty"
            heat = heat_image(compared, None, width, height)
            return VerifyReply(
                False if found.refuted else None, reason, numbers, {"heat": heat}, absent=found.absent, content=False
            )
        reply = self._reply(compared, mask, numbers, (width, height))
        return replace(reply, absent=found.absent)

    def _reply(
        self, compared: Comparison, place: Mask, numbers: Mapping[str, float], size: tuple[int, int]
    ) -> VerifyReply:
        mask, valid = grown(place, self.options.dilation), compared.alignment.valid
        counted = replace(
            shares(compared.changed, mask, valid),
            stray=stray_share(compared.coarse, mask),
            halves=halves_share(compared.changed, place & valid),
        )
        accepted, reason = decide(counted, self.options)
        told = {"outside": counted.outside, "stray": counted.stray, "halves": counted.halves}
        told |= {"mask_share": counted.mask, **numbers}
        if counted.inside is not None:
            told = {"inside": counted.inside, **told}
        reason += _LAID[compared.alignment.by] if reason else ""
        images = {"mask": mask_image(mask, *size), "heat": heat_image(compared, mask, *size)}
        return VerifyReply(accepted, reason, told, images, content=False)


def _union(found: Found, compared: Comparison) -> Mask | None:
    """Both masks as they lie over the original at the working size; None where there is no pixel in them."""
    masks = [] if found.original is None else [compared.mask(found.original)]
    masks += [] if found.edited is None else [compared.mask(found.edited, on_edited=True)]
    union = np.logical_or.reduce(masks) if masks else None
    return union if union is not None and union.any() else None


def _figures(compared: Comparison) -> dict[str, float]:
    """How the images lie over each other, in pixels of the original and degrees, and how much changed in all."""
    alignment, valid = compared.alignment, compared.alignment.valid
    turn, (right, down) = alignment.matrix[:, :2], alignment.moved
    lengths = np.linalg.norm(alignment.flow, axis=2) / compared.scale
    return {
        "changed_share": float(compared.changed.sum() / max(1, valid.sum())),
        "valid_share": float(valid.mean()),
        "matches": float(alignment.matches),
        "moved_right": right / compared.scale,
        "moved_down": down / compared.scale,
        "stretched": float(np.sqrt(np.linalg.det(turn))),
        "turned_degrees": float(np.degrees(np.arctan2(turn[1, 0], turn[0, 0]))),
        "flow": float(lengths.mean()),
    }
