"""VGGFace2's ResNet-50 (Cao et al. 2018), whose layers halve the image where Caffe's do; the field's network of faces.

Two conversions of its weights are in use, with other names for the same layers: that of FVA (`resnet50_ft_weight.pkl`,
a pickle of arrays) and that of the attribute oracles of STEEX and DiME (`conv2_1_1x1_reduce.weight`, …).
"""

import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfeval.core.errors import InputError
from cfeval.inference.local.libraries import first_line
from cfeval.vce.models.checkpoints import read
from cfeval.vce.models.inert_pickle import Unpickler

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

WIDTH = 2048
MEAN_BGR = (91.4953, 103.8827, 131.0912)
"""Of blue, green and red in [0, 255], which the network of FVA takes."""
SIZE = 224
_ARRAYS = {("_reconstruct", "multiarray"), ("ndarray", "numpy"), ("dtype", "numpy")}
"""What builds arrays: the function and the end of its module, which later versions of numpy moved."""
_PARTS = {"1x1_reduce": ("conv1", "bn1"), "3x3": ("conv2", "bn2"), "1x1_increase": ("conv3", "bn3")}
_LAYER = re.compile(r"conv([2-5])_(\d)_(1x1_reduce|3x3|1x1_increase|1x1_proj)(_bn)?$")


def untrained(outputs: int) -> "Module":
    """The network with random weights; `outputs` of its last layer, 0: without it, so that it gives 2,048 features."""
    from torch import nn
    from torchvision.models import resnet50

    network: Any = resnet50(weights=None, num_classes=outputs or 1)
    for layer in (network.layer2, network.layer3, network.layer4):
        layer[0].conv1.stride, layer[0].conv2.stride = (2, 2), (1, 1)
    network.maxpool = nn.MaxPool2d(3, 2, padding=0, ceil_mode=True)
    if not outputs:
        network.fc = nn.Identity()
    trunk: nn.Module = network
    return trunk


def weights_in(path: Path) -> "dict[str, Tensor]":
    """The weights of a file by torchvision's names of the layers, whichever conversion it is.

    Raises:
        InputError: it cannot be read, or holds no weights.
    """
    tensors = _arrays(path) if path.suffix == ".pkl" else read(path)
    return {own: tensor for name, tensor in tensors.items() if (own := _own_name(name))}


class _Arrays(Unpickler):
    """Builds numpy's arrays too."""

    def find_class(self, module: str, name: str) -> Any:
        """See `Unpickler.find_class`."""
        of_numpy = module.split(".")[0] == "numpy" and (name, module.split(".")[-1]) in _ARRAYS
        if of_numpy or (module, name) == ("_codecs", "encode"):
            return pickle.Unpickler.find_class(self, module, name)
        return super().find_class(module, name)


def _arrays(path: Path) -> "dict[str, Tensor]":
    import numpy as np
    import torch

    try:
        with path.open("rb") as file:
            content = _Arrays(file, encoding="latin1").load()
    except Exception as error:  # a broken file makes unpickling raise almost anything
        raise InputError(f"{path}: cannot be read as VGGFace2's weights ({first_line(error)})") from error
    held = content if isinstance(content, Mapping) else {}
    return {str(name): torch.from_numpy(value) for name, value in held.items() if isinstance(value, np.ndarray)}


def _own_name(name: str) -> str:
    """A layer's name in torchvision's ResNet-50; empty of what is none of it."""
    *before, module, kind = name.split(".") if "." in name else ("", "", name)
    if module in ("classifier", "fc"):
        return f"fc.{kind}"
    if module.startswith("conv1_7x7_s2"):
        return f"{'bn1' if module.endswith('_bn') else 'conv1'}.{kind}"
    if match := _LAYER.match(module):
        stage, block, part, norm = match.groups()
        layer = f"layer{int(stage) - 1}.{int(block) - 1}"
        if part == "1x1_proj":
            return f"{layer}.downsample.{1 if norm else 0}.{kind}"
        return f"{layer}.{_PARTS[part][bool(norm)]}.{kind}"
    plain = ".".join([*before, module, kind])
    return plain[match.start() :] if (match := re.search(r"(^|(?<=\.))(layer[1-4]\.\d|conv1\.|bn1\.)", plain)) else ""
