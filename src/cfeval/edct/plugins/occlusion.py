"""Where a classifier sees what an instruction names: the regions without which the class loses probability.

Occlusion (Zeiler and Fergus 2014, "Visualizing and Understanding Convolutional Networks", Section 4.2): windows of the
image are painted over in its mean color, one after the other; each pixel gets the mean loss of the windows over it.
Needs no segmentation weights, so that classes are found roughly and by what the classifier goes by, not by outline.

It knows the names of its classes and their last words, such as `cat` for `Egyptian cat`, and no other words.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.images import Image, Mask, Pixels
from cfeval.edct.interfaces import Found, Seen, Segmenter, VerifyRequest
from cfeval.edct.plugins.segmenters import look

if TYPE_CHECKING:
    from torch import Tensor

SIDE = 224
"""Height and width at which images are shown to the classifier, pixels."""
CELL = SIDE // 8
WINDOW = 2 * CELL
"""Height and width of a window, pixels; windows begin at every cell."""
BATCH = 4  # more at once are slower on a processor
Heat = npt.NDArray[np.float64]


class Plugin(plugin.Plugin):
    """Which classifier, and what counts as found."""

    classifier: dict[str, Any] = plugin.component("classifiers")
    """The classifier: its plugin and options."""
    least: float = Field(0.05, gt=0, lt=1)
    """Probability of the class below which it is not found in an image."""
    threshold: float = Field(0.3, gt=0, lt=1)
    """Share of the greatest loss from which on a pixel belongs to the target."""

    def build(self) -> Segmenter:
        """The segmenter, its classifier loaded."""
        return Occluded(registry.build("classifiers", self.classifier), self)


class Occluded:
    """Asks a classifier about the image without each of its parts."""

    def __init__(self, classifier: Any, options: Plugin) -> None:
        self.classifier, self.options = classifier, options

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Segmenter.find`; a word that names no class is said to be unknown."""
        del changed
        concept = " ".join(request.concept.split())
        if concept and not matching(concept, self.classifier.classes):
            return Found(reason=f"the classifier has no class {concept!r}, so it cannot tell where that is")
        return look(request, self._see, both=False)

    def _see(self, pixels: Pixels, text: str) -> Seen:
        places = matching(text, self.classifier.classes)
        probability, heat = self._heat(pixels, places)
        if probability < self.options.least or heat.max() <= 0:
            return Seen(None, probability)
        return Seen(heat >= self.options.threshold * heat.max(), probability)

    def _heat(self, pixels: Pixels, places: Sequence[int]) -> tuple[float, Heat]:
        """The probability of classes together, and the mean loss of it at each pixel, (SIDE, SIDE)."""
        import cv2
        import torch

        small = torch.from_numpy(Image.from_pixels(pixels).resized(SIDE, SIDE).pixels.copy())
        image = small.permute(2, 0, 1)[None].float() / 127.5 - 1
        corners = [(top, left) for top in _STARTS for left in _STARTS]
        views = [image, *(_without(image, corner) for corner in corners)]
        with torch.inference_mode():
            batches = (torch.cat(views[start : start + BATCH]) for start in range(0, len(views), BATCH))
            logits = torch.cat([self.classifier.logits(batch.to(self.classifier.device)) for batch in batches])
        shares = logits.softmax(1)[:, list(places)].sum(1).double().cpu().numpy()
        loss, count = np.zeros((SIDE, SIDE)), np.zeros((SIDE, SIDE))
        for (top, left), share in zip(corners, shares[1:], strict=True):
            window = np.s_[top : top + WINDOW, left : left + WINDOW]
            loss[window] += max(shares[0] - share, 0)
            count[window] += 1
        return float(shares[0]), np.asarray(cv2.GaussianBlur(loss / count, (0, 0), CELL / 3), dtype=np.float64)


_STARTS = range(0, SIDE - WINDOW + 1, CELL)


def _without(image: "Tensor", corner: tuple[int, int]) -> "Tensor":
    top, left = corner
    view = image.clone()
    view[:, :, top : top + WINDOW, left : left + WINDOW] = image.mean(dim=(2, 3), keepdim=True)
    return view


def matching(text: str, classes: Sequence[str]) -> list[int]:
    """The places of the classes that a text names, in full or by their last word; of several words the longest.

    Singular and plural are the same. Nothing where the text names none, or names ones that share no word.
    """
    words = [_singular(word) for word in re.findall(r"[\w'-]+", text.lower())]
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length, -1, -1):  # the last words of a noun phrase are its head
            named = words[start : start + length]
            if places := [place for place, name in enumerate(classes) if _is_named(named, name)]:
                return places
    return []


def _is_named(words: Sequence[str], name: str) -> bool:
    own = [_singular(word) for word in re.findall(r"[\w'-]+", name.lower())]
    return own[-len(words) :] == list(words)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
