"""Edit gate: what one edit costs to verify

CPU seconds on one core for a pair of 1024 × 1024 pixels, without a detector. A photograph, edited in one place, bent
and stored as an editing model would return it; the mask is known. Beside it, on the same pair, a plain SSIM of the
gray images.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import cv2
import numpy as np
import skimage
from skimage.metrics import structural_similarity
from tests.answers import answers
from tests.edct.plugins import photographs as photos
from tests.edct.plugins.known_masks import Known

from bench.table import Table
from bench.timing import in_turn
from cfeval.core.images import Image
from cfeval.edct.interfaces import Found, VerifyRequest
from cfeval.edct.plugins.image_comparison import CompareSettings, compare
from cfeval.edct.plugins.localised import Localised, Plugin

SIDE, REPEATS, AIM = 1024, 5, 1.5


def tables() -> list[Table]:
    """The one table."""
    original = photos.photograph("astronaut", SIDE)
    place = photos.ellipse(original.shape, 0.45, 0.55, 0.12)
    returned = photos.both(photos.bent(0.003), photos.softened(0.6), photos.brighter(3), photos.jpeg(85))
    edited = returned(photos.removed(original, place))
    pair = Image.from_pixels(original), Image.from_pixels(edited)
    verifier = Localised(Known(Found(place)), Plugin(mask={}))
    grays = [photos.gray(pixels) for pixels in (original, edited)]
    works = {
        "verification, images decoded and evidence drawn": lambda: answers(verifier.verify, [_request(*pair)]),
        "alignment and change map alone": lambda: compare(original, edited, CompareSettings()),
        "plain SSIM": lambda: structural_similarity(*grays, data_range=255, full=True),
    }
    times = dict(zip(works, in_turn(list(works.values()), REPEATS), strict=True))
    rows = []
    for name, seconds in times.items():
        aim = f"{AIM}" if name.startswith("verification") else ""
        rows.append([name, f"{seconds:.3f}", f"{seconds / times['plain SSIM']:.1f}", aim])
    versions = f"OpenCV {cv2.__version__}, scikit-image {skimage.__version__}, NumPy {np.__version__}"
    title = f"A pair of {SIDE} × {SIDE} pixels"
    return [Table(title, ("", "CPU s", "times plain SSIM", "aim, s"), rows, [f"{versions}; the least of {REPEATS}."])]


def _request(original: Image, edited: Image) -> VerifyRequest:
    """With images that have not been decoded yet."""
    return VerifyRequest("i", Image(original.png), Image(edited.png), "Remove it.", concept="it")
