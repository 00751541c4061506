"""Checkpoints of OpenAI's guided-diffusion as published (Dhariwal & Nichol 2021), and of I2SB, which have its network.

The papers' denoiser is `256x256_diffusion_uncond.pt`: `{path: …/256x256_diffusion_uncond.pt, image_size: 256}`; it is
made into a UNet of diffusers. Their noisy classifier, UNetE, which is told the timestep, is `256x256_classifier.pt`.
What is left out of the architecture is as published for that image size.

Checkpoints of I2SB and RCSB are bridges from noise in a region to the image (Liu et al. 2023; Sobieski et al. 2025),
networks without a variance. Such a denoiser serves the preset `rcsb` alone. RCSB's own for ImageNet is
`{path: …/latest.pt, image_size: 256}`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local import devices
from cfeval.inference.local.devices import memory_errors
from cfeval.vce.interfaces import Classifier, Denoiser
from cfeval.vce.models import checkpoints, unet_architecture
from cfeval.vce.models.class_names import IMAGENET, imagenet
from cfeval.vce.models.classifier import NetworkPlugin
from cfeval.vce.models.unet_architecture import Architecture
from cfeval.vce.models.unet_denoiser import SMALLER, BridgeDenoiser, Schedule, UNetDenoiser, alphas_cumprod, placed

if TYPE_CHECKING:
    from torch import Tensor

    from cfeval.vce.models.unet_classifier import Shape

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


class DenoiserPlugin(NetworkPlugin):
    """Checkpoints of OpenAI's guided-diffusion as published (Dhariwal & Nichol 2021), made into a UNet of diffusers."""

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
    def _complete(self) -> "DenoiserPlugin":
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


_PREFIX = "diffusion_model."


class BridgePlugin(DenoiserPlugin):
    """Checkpoints of I2SB and RCSB: bridges from noise in a region to the image (Liu et al. 2023; Sobieski et al.
    2025).
    """

    needed: ClassVar[tuple[str, ...]] = tuple(name for name in PUBLISHED[256] if name != "noise_schedule")
    diffusion_steps: int = Field(1000, ge=2, multiple_of=2)
    """Steps of the bridge (RCSB's for CelebA: 500)."""
    beta_max: float = Field(1.0, gt=0, le=100)
    """Its largest beta, in units of one step."""

    @model_validator(mode="after")
    def _rises(self) -> "BridgePlugin":
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
            stored = checkpoints.read_weights(path, "net")
            weights = {
                name.removeprefix(_PREFIX): tensor for name, tensor in stored.items() if name.startswith(_PREFIX)
            }
            if not weights or said_by(weights)[1]:
                raise PluginError(
                    f"'{path.name}' is no bridge of I2SB (`{_PREFIX}…`, three channels out); "
                    "give one of its checkpoints"
                )
            model = self.architecture(*said_by(weights))
            unet = placed(filled(model, weights, path.name), device, self.dtype)
        return BridgeDenoiser(unet, self.diffusion_steps, self.beta_max, self.image_size)


class ClassifierPlugin(NetworkPlugin):
    """The noisy classifiers of OpenAI's guided-diffusion (Dhariwal & Nichol 2021), the papers' UNetE: told the
    timestep.
    """

    path: str = plugin.file(min_length=1)
    """The .pt file with the weights."""
    classes: tuple[str, ...] = ()
    """Names of the classes, in the order of the logits; empty: ImageNet's, where there are 1000."""
    image_size: int = Field(256, ge=8)
    """Height and width that it was trained at."""
    classifier_width: int = Field(128, ge=32, multiple_of=32)
    """Width of the first level, before its multiplier."""
    classifier_depth: int | None = Field(None, ge=1)
    """Residual blocks a level."""
    channel_mult: tuple[float, ...] | None = Field(None, min_length=1)
    """Width of every level, as multiples of `classifier_width`."""
    classifier_attention_resolutions: tuple[int, ...] = (32, 16, 8)
    """Heights of the feature maps that attend."""
    head_channels: int = Field(64, ge=1)
    """Channels of an attention head."""
    classifier_use_scale_shift_norm: bool = True
    """Whether the timestep scales and shifts what was normalised."""
    classifier_resblock_updown: bool = True
    """Whether residual blocks halve the resolution; else convolutions do."""
    temperature: float = Field(1.0, gt=0)
    """Of the calibration, which the logits are divided by."""

    @model_validator(mode="after")
    def _complete(self) -> "ClassifierPlugin":
        if self.image_size not in PUBLISHED and self.channel_mult is None:
            sizes = ", ".join(map(str, PUBLISHED))
            raise ValueError(f"none was published for image_size {self.image_size} ({sizes} were); set channel_mult")
        halvings = len(self.mult) - 1
        if self.image_size % 2**halvings:
            raise ValueError(f"image_size {self.image_size} cannot be halved {halvings} times")
        if any(width % 32 or width % self.head_channels for width in self.widths):
            raise ValueError(f"channels {self.widths} must be multiples of 32 and of head_channels")
        return self

    @property
    def mult(self) -> tuple[float, ...]:
        """Multiples of the width, as published where they are left out."""
        return self.channel_mult or PUBLISHED[self.image_size]["channel_mult"]

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels of every level."""
        return tuple(int(self.classifier_width * factor) for factor in self.mult)

    @property
    def depth(self) -> int:
        """Residual blocks a level, as published where they are left out."""
        return self.classifier_depth or (4 if self.image_size == 64 else 2)

    def about(self) -> str:
        """Whether the file is there."""
        return checkpoints.about(self.path)

    def class_names(self) -> tuple[str, ...]:
        """The given ones, else ImageNet's: without names the weights must have as many classes."""
        return self.classes or imagenet()

    def build(self) -> Classifier:
        """The classifier, its weights loaded.

        Raises:
            PluginError: file, device or memory do not suffice, the weights do not fit the architecture, or the classes
                are not as many as the logits.
        """
        device = devices.chosen(self.device)
        path = Path(self.path).expanduser()
        with memory_errors(f"loading '{path.name}'", "set device: cpu, or take a larger machine"):
            weights = checkpoints.read_weights(path)
            last = weights.get("out.2.c_proj.bias")
            count = len(self.classes) or IMAGENET if last is None else len(last)
            if self.classes and len(self.classes) != count:
                raise PluginError(
                    f"'classes' names {len(self.classes)} classes, and the weights have {count}; name all, "
                    "in their order"
                )
            if not self.classes and count != IMAGENET:
                raise PluginError(
                    f"the weights have {count} classes, which are not ImageNet's; set 'classes' to their names"
                )
            names = self.classes or imagenet()
            network = _filled_classifier(self.shape(len(names)), weights, path.name).to(device)
        return NoisyClassifier(network, names, self)

    def shape(self, classes: int) -> "Shape":
        """The architecture, for so many classes."""
        from cfeval.vce.models.unet_classifier import Shape

        attention = self.classifier_attention_resolutions
        return Shape(
            image_size=self.image_size,
            width=self.classifier_width,
            widths=self.widths,
            attends=tuple(self.image_size / 2**level in attention for level in range(len(self.widths))),
            blocks=self.depth,
            head_channels=self.head_channels,
            scale_shift=self.classifier_use_scale_shift_norm,
            resblock_updown=self.classifier_resblock_updown,
            classes=classes,
        )


def _filled_classifier(shape: "Shape", weights: "dict[str, Tensor]", name: str) -> Any:
    import torch

    from cfeval.vce.models.unet_classifier import Classifier as Network

    with torch.device("meta"):
        network = Network(shape)
    if fault := checkpoints.misfit(weights, network.state_dict()):
        raise PluginError(
            f"'{name}' does not fit the architecture: {fault}; check image_size and the options of the architecture"
        )
    network.load_state_dict(weights, assign=True)
    return network


class NoisyClassifier:
    """See `cfeval.vce.interfaces.Classifier`; images in [−1, 1] are what it was trained on."""

    robust, timed = False, True

    def __init__(self, network: Any, classes: tuple[str, ...], options: ClassifierPlugin) -> None:
        self.network = network.eval().requires_grad_(False)
        self.classes = classes
        self.device = next(network.parameters()).device
        self._size, self._temperature = options.image_size, options.temperature

    def logits(self, images: "Tensor", timesteps: "Tensor | None" = None, prepared: bool = True) -> "Tensor":
        """See `Classifier.logits`.

        Raises:
            PluginError: not `prepared`, and of another size than it was trained at.
        """
        import torch
        from torch.nn.functional import interpolate

        size = (self._size, self._size)
        if prepared and images.shape[2:] != size:
            images = interpolate(images, size=size, mode="bilinear", align_corners=False, antialias=True)
        if images.shape[2:] != size:
            height, width = images.shape[2:]
            raise PluginError(
                f"the noisy classifier takes images of {self._size} × {self._size} pixels, not {width} × {height}"
            )
        if timesteps is None:
            timesteps = torch.zeros(len(images), dtype=torch.long, device=images.device)
        logits: Tensor = self.network(images, timesteps)
        return logits / self._temperature if prepared else logits
