"""The networks of lpips, torchmetrics and piq, built with weights of ours where each would download its own.

Nothing of theirs is changed but where the weights come from; the heads of LPIPS are the published ones, which the
package lpips carries.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from cfeval.inference.local.libraries import file_in
from cfeval.vce.models import lpips as trunks
from cfeval.vce.models.checkpoints import read

State = Mapping[str, Tensor]
PEERS = Path(__file__).parent.parent / ".venv-peers"
"""The environment of what the lock does not hold; its packages come last, so that torch is the same for all."""


@cache
def trunk(net: str) -> dict[str, Tensor]:
    """Weights of AlexNet or VGG-16 as torchvision names them, drawn so that no layer's output dies away (He 2015)."""
    torch.manual_seed(1)
    layers = {"alex": trunks.alexnet, "vgg": trunks.vgg16}[net]().layers
    return {f"features.{name}": _drawn(tensor) for name, tensor in layers.state_dict().items()}


def inception() -> dict[str, Tensor]:
    """Weights of torch-fidelity's Inception-v3."""
    from torch_fidelity import feature_extractor_inceptionv3 as module

    torch.manual_seed(2)
    kind = module.FeatureExtractorInceptionV3
    with patch.object(kind, "load_state_dict"), patch.object(module, "load_state_dict_from_url"):
        blank: nn.Module = kind("inception", ["2048"])
    return {
        name: _drawn(tensor) if tensor.dim() == 4 else tensor.clone() for name, tensor in blank.state_dict().items()
    }


def lpips_package(net: str) -> Callable[[Tensor, Tensor], Tensor]:
    """LPIPS of the package lpips."""
    import lpips

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchvision's, about the old way in which it is called
        network: Any = lpips.LPIPS(net=net, pnet_rand=True, verbose=False)
    _fill(network.net, net)
    return lambda first, second: network(first, second).flatten()


def lpips_torchmetrics(net: str) -> Callable[[Tensor, Tensor], Tensor]:
    """LPIPS of torchmetrics, before it is averaged over the pairs."""
    from torchmetrics.functional.image.lpips import _LPIPS

    network: Any = _LPIPS(net=net, pnet_rand=True)
    _fill(network.net, net)
    return lambda first, second: network(first, second).flatten()


def lpips_piq(net: str) -> Callable[[Tensor, Tensor], Tensor] | None:
    """LPIPS of piq, which knows VGG-16 alone and takes images in [0, 1]; None for another trunk."""
    if net != "vgg":
        return None
    from torchvision.models import vgg16

    heads = read(file_in("lpips", "weights/v0.1/vgg.pth"))
    widths = [heads[f"lin{number}.model.1.weight"] for number in range(5)]
    own = vgg16(weights=None)
    own.load_state_dict(trunk("vgg"), strict=False)
    piq = piq_package()
    weights = patch("torch.hub.load_state_dict_from_url", lambda *_, **__: widths)
    with weights, patch("piq.perceptual.vgg16", lambda **_: own):
        network = piq.LPIPS(reduction="none")
    return lambda first, second: network((first + 1) / 2, (second + 1) / 2)


def inception_torchmetrics(width: int) -> Callable[[Tensor], Tensor]:
    """The extractor of torchmetrics' FID, with TensorFlow's way of resizing (`antialias=False`)."""
    from torch_fidelity import feature_extractor_inceptionv3 as module
    from torchmetrics.image.fid import NoTrainInceptionV3

    weights = inception()
    with patch.object(module, "load_state_dict_from_url", lambda *_, **__: weights):
        network: Any = NoTrainInceptionV3("inception-v3-compat", [str(width)], antialias=False)
    return lambda images: network(images)


def inception_piq(width: int) -> Callable[[Tensor], Tensor]:
    """The extractor of piq's FID, which takes images in [0, 1]; its maps averaged over their places."""
    piq = piq_package()
    extractors = sys.modules["piq.feature_extractors.fid_inception"]
    kind = piq.feature_extractors.InceptionV3
    weights = inception()
    with patch.object(extractors, "load_state_dict_from_url", lambda *_, **__: weights), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchvision's, about how it is called
        network = kind([kind.BLOCK_INDEX_BY_DIM[width]])
    network.eval()
    return lambda images: network(images / 255)[0].mean(dim=(2, 3))


@cache
def piq_package() -> Any:
    """Piq, from this environment or from the peers'.

    Raises:
        ModuleNotFoundError: it is in neither.
    """
    with _peers():
        import piq
    return piq


@contextmanager
def _peers() -> Iterator[None]:
    found = [str(folder) for folder in PEERS.glob("lib/python*/site-packages")]
    before = list(sys.path)
    sys.path.extend(found)
    try:
        yield
    finally:
        sys.path[:] = before


def _drawn(tensor: Tensor) -> Tensor:
    if tensor.dim() < 2:
        return torch.zeros_like(tensor)
    return nn.init.kaiming_normal_(torch.empty_like(tensor), nonlinearity="relu")


def _fill(network: nn.Module, net: str) -> None:
    """Give a trunk, whose layers stand in slices under torchvision's numbers, our weights."""
    state = trunk(net)
    network.load_state_dict({name: state[f"features.{name.split('.', 1)[1]}"] for name in network.state_dict()})
