"""Double precision for inference: differences between CPUs shrink to 1e-15, far below a byte of a picture or a word."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from cfeval.world.render import Image
from cfeval.world.weights import load

Network = TypeVar("Network", bound=nn.Module)


def precise(network: Network) -> Network:
    """The network in double precision and evaluation mode."""
    return network.double().eval().requires_grad_(False)


def load_precise(name: str, network: Network) -> Network:
    """The network with the shipped weights of this name, ready for inference.

    Raises:
        RuntimeError: the weights are of another architecture.
    """
    weights = load(name)
    missing, unexpected = network.load_state_dict({key: value.float() for key, value in weights.items()}, strict=False)
    lacking = [key for key in missing if not key.endswith("num_batches_tracked")]
    if lacking or unexpected:
        raise RuntimeError(f"weights {name} do not fit the network: missing {lacking}, unexpected {unexpected}")
    return precise(network)


def to_precise(images: Sequence[Image]) -> Tensor:
    """uint8 pictures (64, 64, 3) to one float64 tensor (N, 3, 64, 64) in [0, 1]."""
    stacked = np.stack(images).transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(stacked)).double() / 255
