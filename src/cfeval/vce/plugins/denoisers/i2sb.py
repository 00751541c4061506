"""Checkpoints of I2SB and RCSB: bridges from noise in a region to the image (Liu et al. 2023; Sobieski et al. 2025).

Their network is one of guided-diffusion without a variance, and its options are those of that plugin. Such a denoiser
serves the preset `rcsb` alone. RCSB's own for ImageNet is `{path: …/latest.pt, image_size: 256}`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from cfeval.core.errors import PluginError
from cfeval.inference.local import devices
from cfeval.inference.local.devices import memory_errors
from cfeval.vce.interfaces import Denoiser
from cfeval.vce.models import checkpoints
from cfeval.vce.models.bridge_denoiser import BridgeDenoiser
from cfeval.vce.models.unet_denoiser import SMALLER, placed
from cfeval.vce.plugins.denoisers import guided_diffusion
from cfeval.vce.plugins.denoisers.guided_diffusion import filled, said_by

if TYPE_CHECKING:
    from torch import Tensor

_PREFIX = "diffusion_model."


class Plugin(guided_diffusion.Plugin):
    """Which file, where it computes, the bridge, and the architecture by guided-diffusion's own flags."""

    needed: ClassVar[tuple[str, ...]] = tuple(
        name for name in guided_diffusion.PUBLISHED[256] if name != "noise_schedule"
    )
    diffusion_steps: int = Field(1000, ge=2, multiple_of=2)
    """Steps of the bridge (RCSB's for CelebA: 500)."""
    beta_max: float = Field(1.0, gt=0, le=100)
    """Its largest beta, in units of one step."""

    @model_validator(mode="after")
    def _rises(self) -> "Plugin":
        if self.noise_schedule:
            raise ValueError("a bridge has a schedule of its own; leave noise_schedule out")
        return self

    def build(self) -> Denoiser:
        """The denoiser, its weights loaded.

        Raises:
            PluginError: file, device or memory do not suffice, or the weights do not fit the architecture.
        """
        device = devices.chosen(self.device)
        path = Path(self.path).expanduser()
        with memory_errors(f"loading '{path.name}'", SMALLER):
            weights = _network(checkpoints.read_weights(path, "net"), path.name)
            model = self.architecture(*said_by(weights))
            unet = placed(filled(model, weights, path.name), device, self.dtype)
        return BridgeDenoiser(unet, self.diffusion_steps, self.beta_max, self.image_size)


def _network(weights: "dict[str, Tensor]", name: str) -> "dict[str, Tensor]":
    """The network's own weights, under guided-diffusion's names.

    Raises:
        PluginError: the file has none, or they also predict a variance.
    """
    own: dict[str, Any] = {
        key.removeprefix(_PREFIX): value for key, value in weights.items() if key.startswith(_PREFIX)
    }
    if not own or said_by(own)[1]:
        raise PluginError(
            f"'{name}' is no bridge of I2SB (`{_PREFIX}…`, three channels out); give one of its checkpoints"
        )
    return own
