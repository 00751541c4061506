"""Features of Inception-v3 for FID (Heusel et al. 2017; DBVCE, Section 3.3, with 64 features).

The network is that of torch-fidelity, which torchmetrics uses too: TensorFlow's Inception of 2015-12-05, with its way
of resizing to 299 pixels. Its weights (pt_inception-2015-12-05-6726825d.pth, 91 MB) come with no package; the file is
the user's to get from torch-fidelity's releases.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local import devices
from cfeval.inference.local.libraries import Package, check_packages
from cfeval.vce.interfaces import FeatureExtractor
from cfeval.vce.models.checkpoints import read
from cfeval.vce.models.plugin import NetworkPlugin

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

PACKAGE = Package("torch_fidelity", "features: inception", "features: efficientnet_lite")


class Plugin(NetworkPlugin):
    """Which features, and the file of the weights."""

    weights: str = plugin.file(min_length=1)
    """File with the weights of torch-fidelity's Inception-v3."""
    width: Literal[64, 192, 768, 2048] = 2048
    """How many features: after the first pooling, the second, before the classifier's side branch, after the last."""

    def about(self) -> str:
        """Whether package and weights are there."""
        check_packages([PACKAGE])
        return f"weights {_file(self.weights).name} are here"

    def build(self) -> FeatureExtractor:
        """The extractor, its network loaded.

        Raises:
            PluginError: package, weights or device are not there; the file does not fit.
        """
        check_packages([PACKAGE])
        device = devices.chosen(self.device)
        return Inception(_network(_file(self.weights), self.width).to(device), self.width, device)


class Inception:
    """The network, loaded."""

    def __init__(self, network: "Module", width: int, device: str) -> None:
        self.network, self.width, self.device = network, width, device

    def features(self, images: "Tensor") -> "Tensor":
        """See `FeatureExtractor.features`."""
        import torch

        with torch.inference_mode():
            (found,) = self.network(images.to(self.device))
            return found.double().to(images.device)  # type: ignore[no-any-return]


def _file(weights: str) -> Path:
    if not Path(weights).is_file():
        raise PluginError(
            f"{weights}: no such weight file; get torch-fidelity's weights of Inception-v3 "
            "(pt_inception-2015-12-05-6726825d.pth), or take features: efficientnet_lite"
        )
    return Path(weights)


def _network(weights: Path, width: int) -> "Module":
    """Torch-fidelity's network; it reads a file that can run code, so it is given the tensors of it, written anew."""
    import io

    import torch
    from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3

    tensors = io.BytesIO()
    torch.save(read(weights), tensors)
    tensors.seek(0)
    try:
        network: Module = FeatureExtractorInceptionV3("inception", [str(width)], tensors)
    except RuntimeError as error:
        raise PluginError(f"{weights}: weights of another network; torch-fidelity's Inception-v3 is needed") from error
    return network
