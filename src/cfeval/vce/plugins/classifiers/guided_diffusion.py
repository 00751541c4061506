"""The noisy classifiers of OpenAI's guided-diffusion (Dhariwal & Nichol 2021), the papers' UNetE: told the timestep.

The papers' is `256x256_classifier.pt`: `{path: …/256x256_classifier.pt, image_size: 256}`. What is left out of the
architecture is as published for that image size.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local import devices
from cfeval.inference.local.devices import memory_errors
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import checkpoints
from cfeval.vce.models.class_names import IMAGENET, imagenet
from cfeval.vce.models.plugin import NetworkPlugin
from cfeval.vce.plugins.denoisers.guided_diffusion import PUBLISHED

if TYPE_CHECKING:
    from torch import Tensor

    from cfeval.vce.models.unet_classifier import Shape


class Plugin(NetworkPlugin):
    """Which file, where it computes, and the architecture by guided-diffusion's own flags."""

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
    def _complete(self) -> "Plugin":
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
            names = _names(self.classes, len(self.classes) or IMAGENET if last is None else len(last))
            network = _filled(self.shape(len(names)), weights, path.name).to(device)
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


def _names(given: tuple[str, ...], count: int) -> tuple[str, ...]:
    if given and len(given) != count:
        raise PluginError(
            f"'classes' names {len(given)} classes, and the weights have {count}; name all, in their order"
        )
    if not given and count != IMAGENET:
        raise PluginError(f"the weights have {count} classes, which are not ImageNet's; set 'classes' to their names")
    return given or imagenet()


def _filled(shape: "Shape", weights: "dict[str, Tensor]", name: str) -> Any:
    """The network of a shape with these weights.

    Raises:
        PluginError: they do not fit.
    """
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

    def __init__(self, network: Any, classes: tuple[str, ...], options: Plugin) -> None:
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
