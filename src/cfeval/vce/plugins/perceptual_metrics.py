"""Learned perceptual distances between two images.

LPIPS (Zhang et al. 2018; DBVCE, Section 3.2, with AlexNet): the heads come with the package lpips (version 0.1 of the
weights). The trunk is torchvision's network with its ImageNet weights, which no package carries: they are in torch's
cache once torchvision has downloaded them, or in a file that `weights` names. Without them there is no LPIPS: a random
trunk gives other figures.

ST-LPIPS, the shift-tolerant one (Ghildyal and Liu 2022, "Shift-Tolerant Perceptual Similarity Metric"), is not LPIPS:
its figures have a name of their own. The weights of trunk and heads come with the package stlpips-pytorch (BSD
2-Clause), of whose modules nothing is imported.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local import devices
from cfeval.inference.local.libraries import file_in, first_line
from cfeval.vce.interfaces import PerceptualDistance
from cfeval.vce.models.architectures import torchvision_file
from cfeval.vce.models.classifier import NetworkPlugin

if TYPE_CHECKING:
    from torchvision.models import WeightsEnum

LPIPS_PACKAGE = "lpips"


class LpipsPlugin(NetworkPlugin):
    """LPIPS, the learned perceptual distance (Zhang et al. 2018; DBVCE, Section 3.2, with AlexNet)."""

    net: Literal["alex", "vgg"] = "alex"
    """alex (the paper's) or vgg."""
    weights: str = plugin.file("")
    """File with torchvision's weights of AlexNet or VGG-16; empty: the one in torch's cache."""
    download: bool = False
    """Whether torchvision may download them where they are not in torch's cache."""

    def about(self) -> str:
        """Whether heads and trunk are there."""
        path = self._trunk()
        if path.is_file():
            return f"weights {self._heads().name} and {path.name} are here"
        if not self.download or self.weights:
            raise self._missing(path)
        return f"weights {path.name} are downloaded when they are first needed"

    def build(self) -> PerceptualDistance:
        """The distance, its network loaded.

        Raises:
            PluginError: heads, trunk or device are not there; a file does not fit.
        """
        from cfeval.vce.models import lpips

        path = self._trunk()
        if not path.is_file():
            if self.weights or not self.download:
                raise self._missing(path)
            try:
                self._published().get_state_dict(progress=False, check_hash=True)
            except (OSError, RuntimeError) as error:
                raise PluginError(f"weights of LPIPS ({self.net}) cannot be downloaded: {first_line(error)}") from error
        return lpips.Lpips(self.net, path).to(devices.chosen(self.device))

    def _heads(self) -> Path:
        return file_in(LPIPS_PACKAGE, f"weights/v0.1/{self.net}.pth")

    def _published(self) -> "WeightsEnum":
        from torchvision.models import AlexNet_Weights, VGG16_Weights

        weights: WeightsEnum = {"alex": AlexNet_Weights, "vgg": VGG16_Weights}[self.net].IMAGENET1K_V1
        return weights

    def _trunk(self) -> Path:
        """The file of the trunk's weights, which may not be there."""
        return Path(self.weights) if self.weights else torchvision_file(self._published())

    def _missing(self, path: Path) -> PluginError:
        if self.weights:
            return PluginError(f"{path}: no such file of weights for LPIPS ({self.net})")
        return PluginError(
            f"LPIPS ({self.net}) needs torchvision's weights {path.name}, which are not in torch's cache; name their "
            "file (weights), allow the download (download: true), or take st_lpips"
        )


ST_LPIPS_PACKAGE = "stlpips_pytorch"


class StLpipsPlugin(NetworkPlugin):
    """ST-LPIPS, the shift-tolerant perceptual distance (Ghildyal and Liu 2022, "Shift-Tolerant Perceptual
    Similarity Metric"). It is not LPIPS: its figures have a name of their own.
    """

    net: Literal["alex", "vgg"] = "alex"
    """alex (2.5 M weights) or vgg (14.7 M, slower)."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision; float64 gives the same figures on every processor, at about twice the time."""

    def about(self) -> str:
        """Whether the weights are there."""
        return f"weights {self._weights().name} are here"

    def build(self) -> PerceptualDistance:
        """The distance, its network loaded.

        Raises:
            PluginError: the package or the device is not there.
        """
        from cfeval.vce.models import lpips

        trunk = {"alex": lpips.shift_tolerant_alexnet, "vgg": lpips.shift_tolerant_vgg16}[self.net]()
        network = lpips.PerceptualNetwork(trunk, f"st_lpips ({self.net})")
        lpips.load_st_lpips(network, self._weights())
        ready = network.eval().requires_grad_(False).to(devices.chosen(self.device))
        return ready.double() if self.dtype == "float64" else ready

    def _weights(self) -> Path:
        return file_in(ST_LPIPS_PACKAGE, f"weights/vST0.0/{self.net}_shift_tolerant.pth")
