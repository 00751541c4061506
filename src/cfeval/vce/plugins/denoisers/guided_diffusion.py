"""Checkpoints of OpenAI's guided-diffusion, as published (Dhariwal & Nichol 2021), made into a UNet of diffusers.

The papers' is `256x256_diffusion_uncond.pt`: `{path: …/256x256_diffusion_uncond.pt, image_size: 256}`. What is left out
of the architecture is as published for that image size.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local import devices
from cfeval.inference.local.devices import memory_errors
from cfeval.vce.interfaces import Denoiser
from cfeval.vce.models import checkpoints, unet_architecture
from cfeval.vce.models.plugin import NetworkPlugin
from cfeval.vce.models.unet_architecture import Architecture
from cfeval.vce.models.unet_denoiser import SMALLER, Schedule, UNetDenoiser, alphas_cumprod, placed

if TYPE_CHECKING:
    from torch import Tensor

COMMON: dict[str, Any] = {
    "num_channels": 256,
    "num_res_blocks": 2,
    "num_heads": 4,
    "num_head_channels": 64,
    "attention_resolutions": (32, 16, 8),
    "use_new_attention_order": False,
    "noise_schedule": "linear",
}
PUBLISHED: dict[int, dict[str, Any]] = {
    64: COMMON
    | {
        "num_channels": 192,
        "num_res_blocks": 3,
        "channel_mult": (1, 2, 3, 4),
        "use_new_attention_order": True,
        "noise_schedule": "cosine",
    },
    128: COMMON | {"channel_mult": (1, 1, 2, 3, 4), "num_head_channels": 0},
    256: COMMON | {"channel_mult": (1, 1, 2, 2, 4, 4)},
    512: COMMON | {"channel_mult": (0.5, 1, 1, 2, 2, 4, 4)},
}
"""What the published checkpoint of an image size has in place of an option that is left out."""


class Plugin(NetworkPlugin):
    """Which file, where it computes, and the architecture by guided-diffusion's own flags."""

    # What has to be said of an image size that no checkpoint was published for.
    needed: ClassVar[tuple[str, ...]] = tuple(PUBLISHED[256])
    path: str = plugin.file(min_length=1)
    """The .pt file with the weights."""
    image_size: int = Field(256, ge=8)
    """Height and width that it was trained at."""
    num_channels: int | None = Field(None, ge=1)
    """Width of the first level, before its multiplier."""
    num_res_blocks: int | None = Field(None, ge=1)
    """Residual blocks a level."""
    channel_mult: tuple[float, ...] | None = Field(None, min_length=1)
    """Width of every level, as multiples of `num_channels`."""
    attention_resolutions: tuple[int, ...] | None = None
    """Heights of the feature maps that attend."""
    num_heads: int | None = Field(None, ge=1)
    """Attention heads, where `num_head_channels` is 0."""
    num_head_channels: int | None = Field(None, ge=0)
    """Channels a head; 0: `num_heads` heads whatever the width."""
    use_new_attention_order: bool | None = None
    """Whether queries, keys and values are told apart before the heads are."""
    noise_schedule: Schedule | None = None
    """linear or cosine."""
    use_scale_shift_norm: bool = True
    """Whether the timestep scales and shifts what was normalised."""
    resblock_updown: bool = True
    """Whether residual blocks halve and double the resolution; else convolutions do."""
    diffusion_steps: int = Field(1000, ge=1)
    """Steps that it was trained with."""
    dtype: devices.Dtype = "auto"
    """Number format; auto: float16 on a GPU, float32 on a processor."""

    @model_validator(mode="after")
    def _complete(self) -> "Plugin":
        absent = [name for name in self.needed if getattr(self, name) is None]
        if self.image_size not in PUBLISHED and absent:
            sizes = ", ".join(map(str, PUBLISHED))
            raise ValueError(
                f"no checkpoint was published for image_size {self.image_size} ({sizes} were); set {absent[0]}"
            )
        if fault := self.architecture(classes=0, learn_sigma=True).fault():
            raise ValueError(fault)
        return self

    def value(self, name: str) -> Any:
        """An option, as published where it is left out."""
        given = getattr(self, name)
        return PUBLISHED[self.image_size][name] if given is None else given

    def architecture(self, classes: int, learn_sigma: bool) -> Architecture:
        """The architecture, with what the weights themselves say."""
        return Architecture(
            image_size=self.image_size,
            num_channels=self.value("num_channels"),
            num_res_blocks=self.value("num_res_blocks"),
            channel_mult=self.value("channel_mult"),
            attention=self.value("attention_resolutions"),
            num_heads=self.value("num_heads"),
            num_head_channels=self.value("num_head_channels") or None,
            use_scale_shift_norm=self.use_scale_shift_norm,
            resblock_updown=self.resblock_updown,
            use_new_attention_order=self.value("use_new_attention_order"),
            learn_sigma=learn_sigma,
            classes=classes,
        )

    def about(self) -> str:
        """Whether the file is there."""
        return checkpoints.about(self.path)

    def build(self) -> Denoiser:
        """The denoiser, its weights loaded.

        Raises:
            PluginError: file, device or memory do not suffice, or the weights do not fit the architecture.
        """
        device = devices.chosen(self.device)
        path = Path(self.path).expanduser()
        with memory_errors(f"loading '{path.name}'", SMALLER):
            weights = checkpoints.read_weights(path)
            model = self.architecture(*said_by(weights))
            unet = filled(model, weights, path.name)
            unet = placed(unet, device, self.dtype)
        steps = alphas_cumprod(self.value("noise_schedule"), self.diffusion_steps)
        return UNetDenoiser(unet, steps, self.image_size, model.classes)


def said_by(weights: "dict[str, Tensor]") -> tuple[int, bool]:
    """How many classes the weights are conditional on, and whether they predict a variance."""
    labels, last = weights.get("label_emb.weight"), weights.get("out.2.bias")
    return (0 if labels is None else len(labels)), last is None or len(last) == 6


def filled(model: Architecture, weights: "dict[str, Tensor]", name: str) -> Any:
    """The network of an architecture with these weights.

    Raises:
        PluginError: they do not fit.
    """
    unet = unet_architecture.network(model)
    fault = checkpoints.misfit(weights, unet_architecture.shapes(model, unet))
    if fault:
        raise PluginError(
            f"'{name}' does not fit the architecture: {fault}; check image_size and the options of the architecture"
        )
    unet.load_state_dict(unet_architecture.convert(weights, model), assign=True)
    return unet
