"""Features of EfficientNet-Lite0 (Liu 2020), whose ImageNet weights come with a package and need no download.

They are not Inception's: a Fréchet distance on the 40 of the second tap is `fd_enl0_40`, never FID, and the cosine of
the 1280 that its last layer sees is `s3_enl0`, never S3. The tap lies after the third stage, where the image is an
eighth of its size; each feature is the mean over all places.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cfeval.inference.local import devices
from cfeval.vce.interfaces import FeatureExtractor
from cfeval.vce.models.checkpoints import fit, read
from cfeval.vce.models.plugin import NetworkPlugin
from cfeval.vce.plugins.classifiers.efficientnet_lite import weights_of

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

BLOCKS = {24: 3, 40: 5, 112: 11, 320: 16}
"""How many of the network's blocks make features of that width: its taps, where detectors look too."""

_PIECE = 8
"""Images at a time on a processor, whose caches then hold what the layers pass on."""


class Plugin(NetworkPlugin):
    """Which features, of images of what size."""

    width: Literal[24, 40, 112, 320, 1280] = 40
    """How many features: of the first to the fourth tap, or what the last layer sees."""
    size: int = Field(224, ge=0)
    """Height and width that images are brought to (bilinear); 0: as they are. The network was trained at 224."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision; float64 gives the same figures on every processor, at about twice the time."""

    def about(self) -> str:
        """Whether the weights are there."""
        return f"weights {weights_of(0).name} are here"

    def build(self) -> FeatureExtractor:
        """The extractor, its network loaded.

        Raises:
            PluginError: the package or the device is not there.
        """
        device = devices.chosen(self.device)
        network = _network(self.width).to(device)
        return EfficientNetLite(network.double() if self.dtype == "float64" else network, self, device)


class EfficientNetLite:
    """The part of the network that is needed, loaded."""

    def __init__(self, network: "Module", options: Plugin, device: str) -> None:
        self.network, self.size, self.device = network, options.size, device
        self.width: int = options.width
        self.dtype = options.dtype

    def features(self, images: "Tensor") -> "Tensor":
        """See `FeatureExtractor.features`."""
        import torch

        size = _PIECE if self.device == "cpu" else max(1, len(images))
        with torch.inference_mode():
            return torch.cat([self._of_piece(piece) for piece in torch.split(images, size)]).to(images.device)

    def _of_piece(self, images: "Tensor") -> "Tensor":
        import torch

        maps: Tensor = self.network((self._resized(images.to(self.device, getattr(torch, self.dtype))) - 127) / 128)
        return maps.mean(dim=(2, 3)).double()

    def _resized(self, images: "Tensor") -> "Tensor":
        from torch.nn.functional import interpolate

        if self.size in (0, images.shape[-1]):
            return images
        return interpolate(images, size=(self.size, self.size), mode="bilinear", align_corners=False, antialias=True)


def _network(width: int) -> "Module":
    """The network up to the maps (N, width, h, w) whose means are the features."""
    from torch import nn

    from cfeval.vce.models.efficientnet_lite import network

    whole, path = network(0), weights_of(0)
    fit(whole, read(path), path.name, "EfficientNet-Lite 0")
    stem = (whole._conv_stem, whole._bn0, nn.ReLU6())
    if width in BLOCKS:
        return nn.Sequential(*stem, *whole._blocks[: BLOCKS[width]]).eval()
    return nn.Sequential(*stem, *whole._blocks, whole._conv_head, whole._bn1, nn.ReLU6()).eval()
