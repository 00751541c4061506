"""What every feature extractor offers (DBVCE, Section 3.3: the Inception features of FID)."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class FeatureExtractor(Protocol):
    """A frozen network that turns images into feature vectors; `width` is their length."""

    width: int

    def features(self, images: "Tensor") -> "Tensor":
        """The features (N, width), float64; images (N, 3, H, W), uint8 RGB."""
        ...
