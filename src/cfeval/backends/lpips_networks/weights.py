"""Weights of the perceptual networks: what is called how in their files."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cfeval.backends.torch_files import fit, read

if TYPE_CHECKING:
    from torch import Tensor

    from cfeval.backends.lpips_networks.network import PerceptualNetwork

State = Mapping[str, "Tensor"]


def load_lpips(network: "PerceptualNetwork", trunk: Path, heads: Path) -> None:
    """Fit torchvision's weights of a trunk, and the heads of the package lpips.

    Raises:
        BackendError: a file cannot be read or does not fit.
    """
    state = {
        name.replace("features.", "layers.", 1): tensor
        for name, tensor in read(trunk).items()
        if name.startswith("features.")
    }
    own = {name: tensor for name, tensor in network.state_dict().items() if name in ("shift", "scale")}
    fit(network, state | _heads(read(heads)) | own, trunk)


def load_st_lpips(network: "PerceptualNetwork", path: Path) -> None:
    """Fit a weight file of ST-LPIPS, which holds trunk, heads and the scale of the inputs.

    Raises:
        BackendError: the file cannot be read or does not fit.
    """
    found = read(path)
    trunk = {f"layers.{name.split('.', 2)[2]}": tensor for name, tensor in found.items() if name.startswith("net.")}
    scaling = {
        name.removeprefix("scaling_layer."): tensor
        for name, tensor in found.items()
        if name.startswith("scaling_layer.")
    }
    fit(network, trunk | _heads(found) | scaling, path)


def _heads(state: State) -> dict[str, "Tensor"]:
    """`lin3.model.1.weight` → `heads.3.weight`."""
    return {
        f"heads.{name.removeprefix('lin').split('.')[0]}.weight": tensor
        for name, tensor in state.items()
        if name.startswith("lin") and ".model." in name
    }
