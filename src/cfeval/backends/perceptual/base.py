"""What every perceptual distance offers (DBVCE, Section 3.2: LPIPS)."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class PerceptualDistance(Protocol):
    """A perceptual distance; 0 for equal images, larger for less alike."""

    def distance(self, first: "Tensor", second: "Tensor") -> "Tensor":
        """The distance of each pair, (N,); images (N, 3, H, W), float32 in [−1, 1]."""
        ...
