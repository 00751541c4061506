"""Weight files of the networks whose real weights no package carries: random ones, drawn from a seed."""

import pickle
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import torch


@cache
def _folder() -> "TemporaryDirectory[str]":
    """A folder that is gone when the tests end."""
    return TemporaryDirectory(prefix="cfeval-weights-")


@cache
def trunk(net: str) -> Path:
    """Of AlexNet or VGG-16, named as torchvision names them, with something of the classifier beside."""
    from torchvision.models import alexnet, vgg16

    torch.manual_seed(1)
    layers = {"alex": alexnet, "vgg": vgg16}[net]().features
    state = {f"features.{name}": tensor for name, tensor in layers.state_dict().items()}
    return _saved(f"{net}.pth", state | {"classifier.1.weight": torch.zeros(2)})


@cache
def inception() -> Path:
    """Of torch-fidelity's Inception-v3, with batch statistics that keep its activations of one size."""
    return _saved("inception.pth", fidelity_network().state_dict())


@cache
def fidelity_network() -> Any:
    """Torch-fidelity's own network, all features, random weights."""
    from torch_fidelity import feature_extractor_inceptionv3 as module

    torch.manual_seed(2)
    kind = module.FeatureExtractorInceptionV3
    with patch.object(kind, "load_state_dict"), patch.object(module, "load_state_dict_from_url"):
        return kind("inception", ["64", "192", "768", "2048"])


@cache
def simsiam() -> Path:
    """A checkpoint as SimSiam's training writes it."""
    from cfeval.vce.plugins import feature_extractors

    torch.manual_seed(3)
    state = {
        f"module.encoder.{name}": tensor for name, tensor in feature_extractors.untrained_simsiam().state_dict().items()
    }
    state["module.predictor.0.weight"] = torch.zeros(2)
    return _saved(
        "simsiam.pth.tar", {"epoch": 100, "arch": "resnet50", "state_dict": state, "optimizer": {"state": {}}}
    )


@cache
def vggface2() -> Path:
    """VGGFace2's ResNet-50 as a pickle of arrays, with its last layer, which an embedding leaves out."""
    from cfeval.vce.models import vggface2 as module

    torch.manual_seed(4)
    path = Path(_folder().name) / "resnet50_ft_weight.pkl"
    arrays = {name: tensor.numpy() for name, tensor in module.untrained(5).state_dict().items()}
    path.write_bytes(pickle.dumps(arrays, protocol=2))
    return path


def _saved(name: str, content: object) -> Path:
    path = Path(_folder().name) / name
    torch.save(content, path)
    return path
