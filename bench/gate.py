"""`make bench-gate`: CPU seconds that one edit of 1024 × 1024 pixels takes to verify on one core, without a detector.

A photograph, edited in one place, bent and stored as an editing model would return it; the mask is known. Beside it, on
the same pair, a plain SSIM of the gray pictures. A few seconds.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import skimage
from skimage.metrics import structural_similarity
from tests.backends.edit_gate import photographs as photos
from tests.backends.known_masks import Known

from cfeval.backends.edit_gate.compare import CompareSettings, compare
from cfeval.backends.maskers.base import Found
from cfeval.backends.verifiers.base import VerifyRequest
from cfeval.backends.verifiers.localised import Localised, Options
from cfeval.io.pictures import Picture

SIDE, REPEATS, AIM = 1024, 5, 1.5


def main() -> None:
    """Time the pair and print the table."""
    original = photos.photograph("astronaut", SIDE)
    place = photos.ellipse(original.shape, 0.45, 0.55, 0.12)
    returned = photos.both(photos.bent(0.003), photos.softened(0.6), photos.brighter(3), photos.jpeg(85))
    edited = returned(photos.removed(original, place))
    pair = Picture.from_pixels(original), Picture.from_pixels(edited)
    verifier = Localised(Known(Found(place)), Options(mask={}))
    grays = [photos.gray(pixels) for pixels in (original, edited)]
    rows = {
        "verification, pictures decoded and evidence drawn": lambda: verifier.verify([_request(*pair)]),
        "alignment and change map alone": lambda: compare(original, edited, CompareSettings()),
        "plain SSIM": lambda: structural_similarity(*grays, data_range=255, full=True),
    }
    times = {name: _seconds(work) for name, work in rows.items()}
    print(f"{_processor()}, one core; Python {platform.python_version()}, OpenCV {cv2.__version__}, ", end="")
    print(f"scikit-image {skimage.__version__}, NumPy {np.__version__}; {SIDE} × {SIDE} pixels, median of {REPEATS}\n")
    print("| | CPU s | times plain SSIM | aim, s |\n|---|---|---|---|")
    for name, seconds in times.items():
        aim = f"{AIM}" if name.startswith("verification") else ""
        print(f"| {name} | {seconds:.3f} | {seconds / times['plain SSIM']:.1f} | {aim} |")


def _request(original: Picture, edited: Picture) -> VerifyRequest:
    """With pictures that have not been decoded yet."""
    return VerifyRequest("i", Picture(original.png), Picture(edited.png), "Remove it.", concept="it")


def _seconds(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def _processor() -> str:
    """The processor's name, where the system tells it."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
