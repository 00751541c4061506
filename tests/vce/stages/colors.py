"""A vce study of plain colours, whose figures can be worked out by hand."""

from collections.abc import Sequence

import numpy as np
import torch

from cfeval.core.images import Image
from cfeval.vce.predictions import Images, Views, from_bytes, pixels_of
from cfeval.vce.records import Pair, VceCounterfactual

SIDE = 4
CHANNELS = {"red": 0, "green": 1, "blue": 2}


class Colors:
    """Sees the strongest colour; knows classes in an order of its own."""

    robust = timed = False
    device = torch.device("cpu")

    def __init__(self, *classes: str) -> None:
        self.classes = classes
        self.asked: list[tuple[int, bool]] = []

    def logits(
        self, images: torch.Tensor, timesteps: torch.Tensor | None = None, prepared: bool = True
    ) -> torch.Tensor:
        self.asked.append((len(images), prepared))
        means = images.mean(dim=(2, 3))
        return torch.stack(
            [means[:, CHANNELS.get(name, 0)] - (name not in CHANNELS) * 9 for name in self.classes], dim=1
        )


class Apart:
    """The mean difference of two images; notes the extremes of what it is shown."""

    def __init__(self) -> None:
        self.extremes: list[tuple[float, float, float, float]] = []

    def distance(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        self.extremes.append((first.min().item(), first.max().item(), second.min().item(), second.max().item()))
        return (first - second).abs().mean(dim=(1, 2, 3))


class Means:
    """The mean of each channel."""

    width = 3

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def features(self, images: torch.Tensor) -> torch.Tensor:
        self.seen.append(images.numpy())
        return images.double().mean(dim=(2, 3))


def plain(red: int, green: int, blue: int, side: int = SIDE) -> Image:
    return Image.from_pixels(np.full((side, side, 3), (red, green, blue), dtype=np.uint8))


def record(source_image: str, target: str, repeat: int = 0, pair: Pair = "ideal", **more: object) -> VceCounterfactual:
    return VceCounterfactual(
        id=f"{source_image}-{target}-{repeat}",
        source_image=source_image,
        source="red",
        target=target,
        pair=pair,
        repeat=repeat,
        **more,
    )


def views(images: dict[str, Image], samples: dict[str, Images] | None = None) -> Views:
    """Images by the id of a source image or of a counterfactual."""
    return Views(images.__getitem__, images.__getitem__, samples.__getitem__ if samples else None)


def as_sample(image: Image, shift: float = 0.0) -> Images:
    return from_bytes(pixels_of(image)) + np.float32(shift)


def of(records: Sequence[VceCounterfactual], status: str) -> list[str]:
    return [one.id for one in records if one.status == status]
