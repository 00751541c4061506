"""No detector: the main change, with what lies close to it, is taken for the edit itself.

Such a mask can show that the rest of the image changed too (spill). It cannot show that the right thing was edited,
and its share inside is high whatever was done. A main change over `most` of the image may be spill or an edit of the
background; without a detector there is no telling.
"""

import numpy as np
from pydantic import Field

from cfeval.core import plugin
from cfeval.core.images import Mask
from cfeval.edct.interfaces import VerifyRequest
from cfeval.edct.plugins.edit_localisation.decision import grown
from cfeval.edct.plugins.segmenters.base import Found, Segmenter


class Plugin(plugin.Plugin):
    """What can be an edit."""

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

    def __init__(self, options: Plugin) -> None:
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
