"""Inference with torch, for the networks that see cells: their counterfactuals need gradients.

In double precision differences between CPUs shrink to 1e-15, far below a byte of an image.
"""

from collections.abc import Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

from cfeval.core.errors import InputError
from cfeval.inference.local.depthwise import DepthwiseConvolution, fits_depthwise
from cfeval_testbed.models.winograd import WinogradConvolution, fits
from cfeval_testbed.weights import load

Network = TypeVar("Network", bound=nn.Module)
_FASTER = (WinogradConvolution, DepthwiseConvolution)


def precise(network: Network) -> Network:
    """The network in double precision and evaluation mode; its weights must not change any more."""
    ready = network.double().eval().requires_grad_(False)
    _exchange(ready)
    return ready


def _exchange(network: nn.Module) -> None:
    """Puts faster convolutions of double precision in the places of those that they fit."""
    for parent in [module for module in network.modules() if not isinstance(module, _FASTER)]:
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Conv2d) and fits(child):
                setattr(parent, name, WinogradConvolution(child))
            elif isinstance(child, nn.Conv2d) and fits_depthwise(child):
                setattr(parent, name, DepthwiseConvolution(child))


def load_precise(name: str, network: Network, dtype: torch.dtype = torch.float64) -> Network:
    """The network with the shipped weights of this name, ready for inference.

    In float32 it is several times as fast, and what it gives differs between kinds of CPU in the last digits.

    Raises:
        InputError: the weights are not there, or of another architecture.
    """
    weights = {key: torch.from_numpy(value).float() for key, value in load(name).items()}
    wanted = {key: value for key, value in network.state_dict().items() if not key.endswith("num_batches_tracked")}
    wrong = [key for key in (wanted | weights) if _shape(wanted, key) != _shape(weights, key)]
    if wrong:
        raise InputError(
            f"the weights {name}.safetensors are of another network: {wrong[0]} is {_shape(weights, wrong[0])}, not "
            f"{_shape(wanted, wrong[0])}; restore data/models or train them again"
        )
    network.load_state_dict(weights, strict=False)
    if dtype == torch.float64:
        return precise(network)
    return network.to(dtype).eval().requires_grad_(False).to(memory_format=torch.channels_last)


def _shape(weights: Mapping[str, Tensor], key: str) -> str:
    return str(tuple(weights[key].shape)) if key in weights else "missing"
