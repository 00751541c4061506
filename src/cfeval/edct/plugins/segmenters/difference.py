"""No detector: the main connected change is taken for the edit itself.

Such a mask can show that the rest of the image changed too (spill). It cannot show that the right thing was edited,
and its share inside is high whatever was done. A main change over `most` of the image may be spill or an edit of the
background; without a detector there is no telling.
"""

import numpy as np
from pydantic import Field

from cfeval.core import plugin
from cfeval.core.images import Mask
from cfeval.edct.interfaces import VerifyRequest
from cfeval.edct.plugins.segmenters.base import Found, Segmenter


class Plugin(plugin.Plugin):
    """What can be an edit."""

    most: float = Field(0.5, gt=0, le=1)
    """Share of the image up to which a connected change is taken for the edit."""
    least: float = Field(0.001, ge=0, lt=1)
    """Share of the image from which on it is."""

    def build(self) -> Segmenter:
        """The segmenter."""
        return Main(self)


class Main:
    """Takes the largest connected change."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Segmenter.find`."""
        import cv2

        del request
        count, labels, figures, _ = cv2.connectedComponentsWithStats(changed.astype(np.uint8))
        areas = figures[1:, cv2.CC_STAT_AREA] / changed.size
        if count == 1 or areas.max() < self.options.least:
            return Found(reason="nothing changed", refuted=True)
        if areas.max() > self.options.most:
            return Found(reason=f"the main change covers {areas.max():.0%} of the image: spill, or a new background")
        return Found(np.asarray(labels == 1 + int(areas.argmax())))
