"""A classifier: a network, its preprocessing and its classes; and the options of every plugin with a network.

Weights and outputs that are not finite are refused: of NaN, the largest is the first, and looks like an answer.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.plugin import Plugin
from cfeval.core.registry import Diagnostic, Resources
from cfeval.inference.local import devices
from cfeval.inference.local.devices import memory_errors, out_of_memory
from cfeval.inference.local.libraries import first_line
from cfeval.inference.local.pretrained import finding

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


class NetworkPlugin(Plugin):
    """Where a network computes; a plugin adds which network."""

    device: str = Field("auto", pattern=devices.DEVICE)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""

    def resources(self) -> Resources:
        """A GPU, unless the processor is asked for."""
        return Resources(gpu=0 if self.device == "cpu" else 1)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the device is there, and what `about` says; no weights are read."""
        yield finding(lambda: f"computes on {devices.chosen(self.device)}")
        yield finding(self.about)

    @abstractmethod
    def about(self) -> str:
        """What can be said of the network in one line before it is loaded; a `CfevalError` says what is wrong."""


Library = Literal["torchvision", "timm"]
"""Where an architecture is defined."""
Interpolation = Literal["bilinear", "bicubic"]
Channels = tuple[float, float, float]
"""Of red, green and blue."""
IMAGENET_MEAN: Channels = (0.485, 0.456, 0.406)
IMAGENET_STD: Channels = (0.229, 0.224, 0.225)
SMALLER = "set device: cpu, or take a smaller network"
"""What to do where the weights do not fit into memory."""


class OutputsError(PluginError):
    """A network has another number of outputs than classes are named; `outputs` is how many."""

    def __init__(self, what: str, outputs: int, classes: int) -> None:
        super().__init__(
            f"{what} has {outputs} outputs, and {classes} classes are named; name all outputs, in their order, by "
            "`classes` (--classes FILE)"
        )
        self.outputs = outputs


class ClassifierPlugin(NetworkPlugin):
    """Where it computes, how, and what it is declared to be."""

    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """What the network computes in; images and logits are float32."""
    robust: bool = False
    """Whether it was trained against perturbed images, so that the cone may rest on it."""
    temperature: float = Field(1.0, gt=0)
    """Calibration temperature that the logits are divided by (docs/guides/classifiers.md has DVCE's)."""
    crop: bool = False
    """Whether what lies at the edges is cut off, as in the network's own evaluation. Not needed where the image set
    has cropped its images, and a classifier then does not see all that a counterfactual changes."""
    perturbation: float = Field(0.0, ge=0, le=1)
    """Noise on every weight, as a share of the standard deviation of all weights together; `classifier_perturbation` in
    DBVCE's code."""
    seed: int = Field(0, ge=0)
    """Of what is drawn: the perturbation, and random weights."""

    def is_here(self) -> bool:
        """Whether it can be built without fetching anything."""
        return True


class ArchitecturePlugin(ClassifierPlugin):
    """An architecture by name, and the classes that its outputs stand for."""

    architecture: str = Field(min_length=1)
    """The name that the library has for it, such as resnet50."""
    library: Library = "torchvision"
    """Where it is defined: torchvision or timm."""
    classes: str = plugin.file("")
    """File with the names of the classes in the order of the outputs: a name a line, or a JSON list. Empty: ImageNet's
    where there are 1000, else their numbers."""
    num_classes: int | None = Field(None, ge=2)
    """Number of classes; none: as many as `classes` names, else 1000."""


@dataclass(frozen=True)
class Preprocessing:
    """How a network's inputs are made.

    `size` is the height and width of its inputs; `resize` what the shorter side is brought to before they are cut out
    of the middle, in the network's own evaluation. `mean` and `std` are of red, green and blue, for values in [0, 1].
    """

    size: int
    resize: int
    interpolation: str = "bilinear"
    mean: Channels = IMAGENET_MEAN
    std: Channels = IMAGENET_STD

    def __call__(self, images: "Tensor", crop: bool) -> "Tensor":
        """The inputs (N, 3, size, size) for images (N, 3, H, W) in [−1, 1].

        Without `crop` the shorter side becomes `size`, so that all of a square image is seen; with it `resize`.
        """
        fitted = _middle(self._resized((images + 1) / 2, self.resize if crop else self.size), self.size)
        mean, std = (images.new_tensor(value).view(1, 3, 1, 1) for value in (self.mean, self.std))
        return (fitted - mean) / std

    def _resized(self, images: "Tensor", shorter: int) -> "Tensor":
        from torch.nn.functional import interpolate

        height, width = images.shape[-2:]
        least = min(height, width)
        if least == shorter:
            return images
        size = (shorter * height // least, shorter * width // least)
        return interpolate(images, size=size, mode=self.interpolation, align_corners=False, antialias=True)

    def summary(self, crop: bool) -> str:
        """What is done to an image, on one line, for people."""
        share = f", the middle of {self.resize}" if crop and self.resize != self.size else ""
        mean, std = (" ".join(f"{value:.3g}" for value in channels) for channels in (self.mean, self.std))
        return f"{self.size} × {self.size} pixels{share} ({self.interpolation}), mean {mean}, std {std}"

    def but(self, **changes: object) -> "Preprocessing":
        """The same with some parts replaced; None keeps a part. Another `size` keeps the share that is cut off."""
        given = {name: value for name, value in changes.items() if value is not None}
        if isinstance(size := given.get("size"), int):
            given.setdefault("resize", round(self.resize * size / self.size))
        return replace(self, **given)  # type: ignore[arg-type]


def _middle(images: "Tensor", size: int) -> "Tensor":
    top, left = (round((side - size) / 2) for side in images.shape[-2:])
    return images[..., top : top + size, left : left + size]


class NetworkClassifier:
    """See `Classifier`; of any network that takes (N, 3, H, W) and gives logits (N, classes)."""

    timed = False

    def __init__(
        self,
        network: "Module",
        preprocessing: Preprocessing,
        classes: Sequence[str],
        options: ClassifierPlugin,
        name: str,
        notes: Sequence[str] = (),
    ) -> None:
        """Freeze a network and put it on its device.

        Args:
            network: takes inputs (N, 3, H, W) and gives logits (N, classes).
            preprocessing: how inputs are made.
            classes: names of the outputs, in order.
            options: the plugin's.
            name: what errors call it.
            notes: what a user should know of its weights, a line each.

        Raises:
            PluginError: no such device, too little memory there, or weights that are not finite.
        """
        import torch

        from cfeval.vce.models.small_images import shorten

        self.device = torch.device(devices.chosen(options.device))
        self.classes, self.robust, self.name = tuple(classes), options.robust, name
        self.preprocessing, self.options, self.notes = preprocessing, options, tuple(notes)
        self._dtype: torch.dtype = getattr(torch, options.dtype)
        check_weights(network, name)
        perturb(network, options.perturbation, options.seed)
        with memory_errors(f"loading classifier '{name}'", SMALLER):
            frozen = network.eval().requires_grad_(False).to(self.device, self._dtype)
            self.network = frozen.to(memory_format=torch.channels_last)  # convolutions are quicker so
            shorten(self.network)

    def logits(self, images: "Tensor", timesteps: "Tensor | None" = None, prepared: bool = True) -> "Tensor":
        """See `Classifier.logits`."""
        del timesteps
        if not prepared:
            return self._as_they_are(images)
        inputs = self.preprocessing(images, self.options.crop)
        logits: Tensor = self.network(inputs.to(self._dtype))
        return logits.float() / self.options.temperature

    def _as_they_are(self, images: "Tensor") -> "Tensor":
        try:
            logits: Tensor = self.network(images.to(self._dtype))
        except (AssertionError, RuntimeError, ValueError) as error:
            side = self.preprocessing.size
            if out_of_memory(error) or tuple(images.shape[-2:]) == (side, side):
                raise
            shape = " × ".join(map(str, images.shape[-2:]))
            raise PluginError(
                f"classifier '{self.name}' takes no image of {shape} as it is ({first_line(error)}); "
                f"let it prepare its images, or make them {side} × {side}"
            ) from error
        return logits.float()


def perturb(network: "Module", share: float, seed: int) -> None:
    """Add noise to every parameter: normal, with `share` of the standard deviation of all parameters together."""
    import torch

    if not share:
        return
    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        spread = torch.cat([weight.flatten() for weight in network.parameters()]).std()
        for weight in network.parameters():
            weight.add_(share * spread * torch.randn(weight.shape, generator=drawn))


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
