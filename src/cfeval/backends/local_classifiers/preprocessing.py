"""From images as the study has them to what a network was trained on; differentiable."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

Channels = tuple[float, float, float]
IMAGENET_MEAN: Channels = (0.485, 0.456, 0.406)
IMAGENET_STD: Channels = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Preprocessing:
    """How a network's inputs are made.

    `size` is the height and width of its inputs; `resize` what the shorter side is brought to before they are cut out
    of the middle, in the network's own evaluation. `mean` and `std` are of red, green and blue, for values in [0, 1].
    """

    size: int
    resize: int
    interpolation: str = "bilinear"
    mean: Channels = IMAGENET_MEAN
    std: Channels = IMAGENET_STD

    def __call__(self, images: "Tensor", crop: bool) -> "Tensor":
        """The inputs (N, 3, size, size) for images (N, 3, H, W) in [−1, 1].

        Without `crop` the shorter side becomes `size`, so that all of a square image is seen; with it `resize`.
        """
        fitted = _middle(self._resized((images + 1) / 2, self.resize if crop else self.size), self.size)
        mean, std = (images.new_tensor(value).view(1, 3, 1, 1) for value in (self.mean, self.std))
        return (fitted - mean) / std

    def _resized(self, images: "Tensor", shorter: int) -> "Tensor":
        from torch.nn.functional import interpolate

        height, width = images.shape[-2:]
        least = min(height, width)
        if least == shorter:
            return images
        size = (shorter * height // least, shorter * width // least)
        return interpolate(images, size=size, mode=self.interpolation, align_corners=False, antialias=True)

    def but(self, **changes: object) -> "Preprocessing":
        """The same with some parts replaced; None keeps a part. Another `size` keeps the share that is cut off."""
        given = {name: value for name, value in changes.items() if value is not None}
        if isinstance(size := given.get("size"), int):
            given.setdefault("resize", round(self.resize * size / self.size))
        return replace(self, **given)  # type: ignore[arg-type]


def _middle(images: "Tensor", size: int) -> "Tensor":
    top, left = (round((side - size) / 2) for side in images.shape[-2:])
    return images[..., top : top + size, left : left + size]
