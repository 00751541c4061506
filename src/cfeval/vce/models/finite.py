"""Weights and outputs that are not finite are refused: of NaN, the largest is the first, and looks like an answer."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cfeval.core.errors import PluginError

if TYPE_CHECKING:
    from torch.nn import Module


def check_weights(network: "Module", name: str) -> None:
    """Refuse a network with a weight that is NaN or infinite.

    Buffers may be infinite, as masks of attention are.

    Raises:
        PluginError: one line that names the first such weight, and how many there are.
    """
    import torch

    wrong = {key: int((~torch.isfinite(value)).sum()) for key, value in network.named_parameters()}
    wrong |= {key: int(torch.isnan(value).sum()) for key, value in network.named_buffers()}
    wrong = {key: count for key, count in wrong.items() if count}
    if wrong:
        first, count = next(iter(wrong.items()))
        more = f", and {len(wrong) - 1} more tensors have such" if len(wrong) > 1 else ""
        raise PluginError(
            f"weights of '{name}' are not finite: {count} of {first} are NaN or infinite{more}; its training diverged, "
            "or the file is damaged: name weights from before"
        )


def check_outputs(values: npt.NDArray[Any], who: str) -> None:
    """Refuse what a network says of images, (N, …), where any of it is NaN or infinite.

    Raises:
        PluginError: one line with who it is and of how many images.
    """
    bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if bad.any():
        raise PluginError(
            f"{who}: its outputs are not finite (NaN or infinite) for {int(bad.sum())} of {len(bad)} images, and no "
            "class can be read from them; check the weights and the network, and set dtype: float32"
        )


def name_of(network: object) -> str:
    """What errors call a network: its own name, or else its class."""
    return str(getattr(network, "name", "") or type(network).__name__)
