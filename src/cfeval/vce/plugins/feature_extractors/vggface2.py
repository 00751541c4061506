"""The embedding of FVA and FS: VGGFace2's ResNet-50 without its last layer (DiVE, DiME, ACE).

The file (`resnet50_ft_weight.pkl`) is the user's to get. Images are brought to 224 pixels, as there.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from cfeval.core import plugin
from cfeval.inference.local import devices
from cfeval.vce.interfaces import FeatureExtractor
from cfeval.vce.models import checkpoints, vggface2
from cfeval.vce.models.plugin import NetworkPlugin

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


class Plugin(NetworkPlugin):
    """The file of the weights."""

    weights: str = plugin.file(min_length=1)
    """VGGFace2's `resnet50_ft` in PyTorch's names: a pickle of arrays, safetensors, or of torch.save."""

    def about(self) -> str:
        """Whether the file is there."""
        return checkpoints.about(self.weights)

    def build(self) -> FeatureExtractor:
        """The embedding, its network loaded.

        Raises:
            InputError: the file cannot be read.
            PluginError: there is none, its weights do not fit, or the device is not there.
        """
        path, device = Path(self.weights).expanduser(), devices.chosen(self.device)
        checkpoints.about(self.weights)
        network = vggface2.untrained(0)
        trunk = {name: value for name, value in vggface2.weights_in(path).items() if not name.startswith("fc.")}
        checkpoints.fit(network, trunk, path.name, "VGGFace2's ResNet-50")
        return VggFace2(network.eval().requires_grad_(False).to(device), device)


class VggFace2:
    """The network, loaded."""

    width = vggface2.WIDTH

    def __init__(self, network: "Module", device: str) -> None:
        import torch

        self.network, self.device = network, device
        self.mean = torch.tensor(vggface2.MEAN_BGR, device=device).view(1, 3, 1, 1)

    def features(self, images: "Tensor") -> "Tensor":
        """See `FeatureExtractor.features`."""
        import torch
        from torch.nn.functional import interpolate

        with torch.inference_mode():
            size = (vggface2.SIZE, vggface2.SIZE)
            given = images.to(self.device).float()
            resized = interpolate(given, size=size, mode="bilinear", align_corners=False, antialias=True)
            found: Tensor = self.network(resized.flip(1) - self.mean).double().to(images.device)
            return found
