"""Checkpoints of OpenAI's guided-diffusion, as published (Dhariwal & Nichol 2021), made into a UNet of diffusers.

The papers' is `256x256_diffusion_uncond.pt`: `{path: …/256x256_diffusion_uncond.pt, image_size: 256}`. What is left out
of the architecture is as published for that image size.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from cfeval.core.errors import BackendError
from cfeval.core.registry import Diagnostic, PluginOptions, Resources
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local.devices import memory_errors
from cfeval.vce.interfaces import Denoiser
from cfeval.vce.models import checkpoints, unet_architecture, unet_denoiser
from cfeval.vce.models.unet_denoiser import SMALLER, placed

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


class Options(PluginOptions):
    """Which file, where it computes, and the architecture by guided-diffusion's own flags."""

    path: str = Field(min_length=1)
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
    noise_schedule: unet_denoiser.Schedule | None = None
    """linear or cosine."""
    use_scale_shift_norm: bool = True
    """Whether the timestep scales and shifts what was normalised."""
    resblock_updown: bool = True
    """Whether residual blocks halve and double the resolution; else convolutions do."""
    diffusion_steps: int = Field(1000, ge=1)
    """Steps that it was trained with."""
    device: str = Field("auto", pattern=devices.DEVICE)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""
    dtype: devices.Dtype = "auto"
    """Number format; auto: float16 on a GPU, float32 on a processor."""

    @model_validator(mode="after")
    def _complete(self) -> "Options":
        absent = [name for name in PUBLISHED[256] if getattr(self, name) is None]
        if self.image_size not in PUBLISHED and absent:
            sizes = ", ".join(map(str, PUBLISHED))
            raise ValueError(
                f"no checkpoint was published for image_size {self.image_size} ({sizes} were); set {absent[0]}"
            )
        if fault := architecture(self, classes=0, learn_sigma=True).fault():
            raise ValueError(fault)
        return self

    def value(self, name: str) -> Any:
        """An option, as published where it is left out."""
        given = getattr(self, name)
        return PUBLISHED[self.image_size][name] if given is None else given


def architecture(options: Options, classes: int, learn_sigma: bool) -> unet_architecture.Architecture:
    """The architecture that options describe, with what the weights themselves say."""
    return unet_architecture.Architecture(
        image_size=options.image_size,
        num_channels=options.value("num_channels"),
        num_res_blocks=options.value("num_res_blocks"),
        channel_mult=options.value("channel_mult"),
        attention=options.value("attention_resolutions"),
        num_heads=options.value("num_heads"),
        num_head_channels=options.value("num_head_channels") or None,
        use_scale_shift_norm=options.use_scale_shift_norm,
        resblock_updown=options.resblock_updown,
        use_new_attention_order=options.value("use_new_attention_order"),
        learn_sigma=learn_sigma,
        classes=classes,
    )


def needs(options: Options) -> Resources:
    """A GPU, unless the processor is asked for."""
    return Resources(gpu=0 if options.device == "cpu" else 1)


def files(options: Options) -> tuple[str, ...]:
    """The file with the weights."""
    return (options.path,)


def examine(options: Options) -> Iterator[Diagnostic]:
    """Whether device and file are there; no weights are read."""
    yield pretrained.finding(lambda: f"computes on {devices.chosen(options.device)}")
    yield pretrained.finding(lambda: checkpoints.about(options.path))


def build(options: Options) -> Denoiser:
    """The denoiser, its weights loaded.

    Raises:
        BackendError: file, device or memory do not suffice, or the weights do not fit the architecture.
    """
    from cfeval.vce.models.unet_denoiser import UNetDenoiser

    device = devices.chosen(options.device)
    path = Path(options.path).expanduser()
    with memory_errors(f"loading '{path.name}'", SMALLER):
        weights = checkpoints.read_weights(path)
        model = architecture(options, *_said(weights))
        unet = _filled(model, weights, path.name)
        unet = placed(unet, device, options.dtype)
    steps = unet_denoiser.alphas_cumprod(options.value("noise_schedule"), options.diffusion_steps)
    return UNetDenoiser(unet, steps, options.image_size, model.classes)


def _said(weights: "dict[str, Tensor]") -> tuple[int, bool]:
    """How many classes the weights are conditional on, and whether they predict a variance."""
    labels, last = weights.get("label_emb.weight"), weights.get("out.2.bias")
    return (0 if labels is None else len(labels)), last is None or len(last) == 6


def _filled(model: unet_architecture.Architecture, weights: "dict[str, Tensor]", name: str) -> Any:
    """The network of an architecture with these weights.

    Raises:
        BackendError: they do not fit.
    """
    unet = unet_architecture.network(model)
    fault = checkpoints.misfit(weights, unet_architecture.shapes(model, unet))
    if fault:
        raise BackendError(
            f"'{name}' does not fit the architecture: {fault}; check image_size and the options of the architecture"
        )
    unet.load_state_dict(unet_architecture.convert(weights, model), assign=True)
    return unet
