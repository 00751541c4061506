"""The embedding of S3: SimSiam's ResNet-50 with its projector (Chen and He 2021; Jeanneret et al. 2023, ACE).

The checkpoint (checkpoint_0099.pth.tar, 100 epochs on ImageNet) comes with no package; the file is the user's to get.
Images are taken at their own size, as ACE does.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local import devices
from cfeval.vce.interfaces import FeatureExtractor
from cfeval.vce.models.checkpoints import fit, read
from cfeval.vce.models.plugin import NetworkPlugin

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

WIDTH = 2048
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of red, green and blue, for values in [0, 1]."""
_PREFIX = "module.encoder."


class Plugin(NetworkPlugin):
    """The file of the weights."""

    weights: str = plugin.file(min_length=1)
    """SimSiam's checkpoint of ResNet-50."""

    def about(self) -> str:
        """Whether the checkpoint is there."""
        return f"checkpoint {_file(self.weights).name} is here"

    def build(self) -> FeatureExtractor:
        """The embedding, its network loaded.

        Raises:
            PluginError: checkpoint or device are not there; the file does not fit.
        """
        path, device = _file(self.weights), devices.chosen(self.device)
        state = read(path)
        encoder = {name.removeprefix(_PREFIX): value for name, value in state.items() if name.startswith(_PREFIX)}
        if not encoder:
            raise PluginError(f"{path}: has no weights under '{_PREFIX}'; SimSiam's checkpoint of ResNet-50 is needed")
        network = untrained()
        fit(network, encoder, path.name, "SimSiam's ResNet-50")
        return SimSiam(network.eval().requires_grad_(False).to(device), device)


class SimSiam:
    """The network, loaded."""

    width = WIDTH

    def __init__(self, network: "Module", device: str) -> None:
        import torch

        self.network, self.device = network, device
        self.mean, self.std = (torch.tensor(value, device=device).view(1, 3, 1, 1) for value in (MEAN, STD))

    def features(self, images: "Tensor") -> "Tensor":
        """See `FeatureExtractor.features`."""
        import torch

        with torch.inference_mode():
            prepared = (images.to(self.device).float() / 255 - self.mean) / self.std
            found: Tensor = self.network(prepared).double().to(images.device)
            return found


def untrained() -> "Module":
    """ResNet-50 with SimSiam's projector of three layers, random weights; the predictor is not part of S3."""
    from torch import nn
    from torchvision.models import resnet50

    def hidden() -> list[nn.Module]:
        return [nn.Linear(WIDTH, WIDTH, bias=False), nn.BatchNorm1d(WIDTH), nn.ReLU(inplace=True)]

    network: nn.Module = resnet50(weights=None, num_classes=WIDTH)
    last = nn.BatchNorm1d(WIDTH, affine=False)
    network.fc = nn.Sequential(*hidden(), *hidden(), nn.Linear(WIDTH, WIDTH), last)
    return network


def _file(weights: str) -> Path:
    if not Path(weights).is_file():
        raise PluginError(
            f"{weights}: no such checkpoint; get SimSiam's of ResNet-50 (checkpoint_0099.pth.tar), "
            "or take features: efficientnet_lite under another name than s3"
        )
    return Path(weights)
