"""The networks of torchmetrics and piq, built with weights of ours where each would download its own.

Nothing of theirs is changed but where the weights come from.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

PEERS = Path(__file__).parent.parent / ".venv-peers"
"""The environment of what the lock does not hold; its packages come last, so that torch is the same for all."""


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
