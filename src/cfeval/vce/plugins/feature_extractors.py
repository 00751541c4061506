"""Features and embeddings of networks whose weights come with no package; their files are the user's to get.

`inception`: Inception-v3 for FID (Heusel et al. 2017; DBVCE, Section 3.3, with 64 features), the network of
torch-fidelity, which torchmetrics uses too: TensorFlow's Inception of 2015-12-05, with its way of resizing to 299
pixels. The file (pt_inception-2015-12-05-6726825d.pth, 91 MB) is among torch-fidelity's releases.

`simsiam`: the embedding of S3, SimSiam's ResNet-50 with its projector (Chen and He 2021; Jeanneret et al. 2023, ACE).
The checkpoint is checkpoint_0099.pth.tar, 100 epochs on ImageNet. Images are taken at their own size, as ACE does.

`vggface2`: the embedding of FVA and FS, VGGFace2's ResNet-50 without its last layer (DiVE, DiME, ACE). The file is
`resnet50_ft_weight.pkl`. Images are brought to 224 pixels, as there.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local import devices
from cfeval.inference.local.libraries import Package, check_packages
from cfeval.vce.interfaces import FeatureExtractor
from cfeval.vce.models import checkpoints, vggface2
from cfeval.vce.models.checkpoints import fit, read
from cfeval.vce.models.classifier import NetworkPlugin

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

PACKAGE = Package("torch_fidelity", "features: inception", "features: efficientnet_lite")


class InceptionPlugin(NetworkPlugin):
    """Features of Inception-v3 for FID (Heusel et al. 2017; DBVCE, Section 3.3, with 64 features)."""

    weights: str = plugin.file(min_length=1)
    """File with the weights of torch-fidelity's Inception-v3."""
    width: Literal[64, 192, 768, 2048] = 2048
    """How many features: after the first pooling, the second, before the classifier's side branch, after the last."""

    def about(self) -> str:
        """Whether package and weights are there."""
        check_packages([PACKAGE])
        return f"weights {_inception_file(self.weights).name} are here"

    def build(self) -> FeatureExtractor:
        """The extractor, its network loaded.

        Raises:
            PluginError: package, weights or device are not there; the file does not fit.
        """
        check_packages([PACKAGE])
        device = devices.chosen(self.device)
        return Inception(_inception(_inception_file(self.weights), self.width).to(device), self.width, device)


class Inception:
    """The network, loaded."""

    def __init__(self, network: "Module", width: int, device: str) -> None:
        self.network, self.width, self.device = network, width, device

    def features(self, images: "Tensor") -> "Tensor":
        """See `FeatureExtractor.features`."""
        import torch

        with torch.inference_mode():
            (features,) = self.network(images.to(self.device))
            return features.double().to(images.device)  # type: ignore[no-any-return]


def _inception_file(weights: str) -> Path:
    if not Path(weights).is_file():
        raise PluginError(
            f"{weights}: no such weight file; get torch-fidelity's weights of Inception-v3 "
            "(pt_inception-2015-12-05-6726825d.pth), or take features: efficientnet_lite"
        )
    return Path(weights)


def _inception(weights: Path, width: int) -> "Module":
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


WIDTH = 2048
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of red, green and blue, for values in [0, 1]."""
_PREFIX = "module.encoder."


class SimSiamPlugin(NetworkPlugin):
    """The embedding of S3: SimSiam's ResNet-50 with its projector (Chen and He 2021; Jeanneret et al. 2023, ACE)."""

    weights: str = plugin.file(min_length=1)
    """SimSiam's checkpoint of ResNet-50."""

    def about(self) -> str:
        """Whether the checkpoint is there."""
        return f"checkpoint {_simsiam_file(self.weights).name} is here"

    def build(self) -> FeatureExtractor:
        """The embedding, its network loaded.

        Raises:
            PluginError: checkpoint or device are not there; the file does not fit.
        """
        path, device = _simsiam_file(self.weights), devices.chosen(self.device)
        state = read(path)
        encoder = {name.removeprefix(_PREFIX): value for name, value in state.items() if name.startswith(_PREFIX)}
        if not encoder:
            raise PluginError(f"{path}: has no weights under '{_PREFIX}'; SimSiam's checkpoint of ResNet-50 is needed")
        network = untrained_simsiam()
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
            features: Tensor = self.network(prepared).double().to(images.device)
            return features


def untrained_simsiam() -> "Module":
    """ResNet-50 with SimSiam's projector of three layers, random weights; the predictor is not part of S3."""
    from torch import nn
    from torchvision.models import resnet50

    def hidden() -> list[nn.Module]:
        return [nn.Linear(WIDTH, WIDTH, bias=False), nn.BatchNorm1d(WIDTH), nn.ReLU(inplace=True)]

    network: nn.Module = resnet50(weights=None, num_classes=WIDTH)
    last = nn.BatchNorm1d(WIDTH, affine=False)
    network.fc = nn.Sequential(*hidden(), *hidden(), nn.Linear(WIDTH, WIDTH), last)
    return network


def _simsiam_file(weights: str) -> Path:
    if not Path(weights).is_file():
        raise PluginError(
            f"{weights}: no such checkpoint; get SimSiam's of ResNet-50 (checkpoint_0099.pth.tar), "
            "or take features: efficientnet_lite under another name than s3"
        )
    return Path(weights)


class VggFace2Plugin(NetworkPlugin):
    """The embedding of FVA and FS: VGGFace2's ResNet-50 without its last layer (DiVE, DiME, ACE)."""

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
            features: Tensor = self.network(resized.flip(1) - self.mean).double().to(images.device)
            return features
