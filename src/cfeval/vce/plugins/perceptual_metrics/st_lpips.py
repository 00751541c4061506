"""ST-LPIPS, the shift-tolerant perceptual distance (Ghildyal and Liu 2022, "Shift-Tolerant Perceptual Similarity
Metric"). It is not LPIPS: its figures have a name of their own.

The weights of trunk and heads come with the package stlpips-pytorch (BSD 2-Clause), of whose modules nothing is
imported.
"""

from pathlib import Path
from typing import Literal

from cfeval.inference.local import devices
from cfeval.inference.local.libraries import file_in
from cfeval.vce.interfaces import PerceptualDistance
from cfeval.vce.models.plugin import NetworkPlugin

PACKAGE = "stlpips_pytorch"


class Plugin(NetworkPlugin):
    """Which trunk."""

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
        return file_in(PACKAGE, f"weights/vST0.0/{self.net}_shift_tolerant.pth")
