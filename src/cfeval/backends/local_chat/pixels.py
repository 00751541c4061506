"""Limits on the pixels of an image: the processor's own where it has them, else kept by resizing beforehand."""

import math
from dataclasses import dataclass
from typing import Any

from PIL import Image


@dataclass(frozen=True)
class Limits:
    """How many pixels an image may have, width × height; None leaves it to the processor."""

    fewest: int | None = None
    most: int | None = None

    def __bool__(self) -> bool:
        """Whether there is any limit."""
        return self.fewest is not None or self.most is not None

    def __str__(self) -> str:
        """The limits in words."""
        said = {"at least": self.fewest, "at most": self.most}
        return "images have " + " and ".join(f"{how} {n:,} pixels" for how, n in said.items() if n is not None)


def obeyed(processor: Any, limits: Limits) -> bool:
    """Hand the limits to an image processor; False where it has none of its own, and nothing was changed.

    Processors of the Qwen-VL kind keep them as the shortest and longest "edge", in pixels of the whole image.
    """
    settings = getattr(getattr(processor, "valid_kwargs", None), "__annotations__", {})
    size = dict(processor.size or {})
    if not {"min_pixels", "max_pixels"} <= set(settings) or not {"shortest_edge", "longest_edge"} <= set(size):
        return False
    fewest = size["shortest_edge"] if limits.fewest is None else limits.fewest
    most = size["longest_edge"] if limits.most is None else limits.most
    processor.size = type(processor.size)(shortest_edge=min(fewest, most), longest_edge=max(fewest, most))
    return True


def fitted(image: Image.Image, limits: Limits) -> Image.Image:
    """The image, made smaller or larger where it breaks a limit; its proportions stay, within a pixel."""
    area = image.width * image.height
    if limits.most is not None and area > limits.most:
        scale = math.sqrt(limits.most / area)
        size = max(1, math.floor(image.width * scale)), max(1, math.floor(image.height * scale))
    elif limits.fewest is not None and area < limits.fewest:
        scale = math.sqrt(limits.fewest / area)
        size = math.ceil(image.width * scale), math.ceil(image.height * scale)
    else:
        return image
    return image.resize(size, Image.Resampling.BICUBIC)
