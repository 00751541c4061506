"""Networks that the user brings whole: what they return is made logits over the named classes, and tried once."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, PositiveFloat

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import first_line
from cfeval.vce.models.class_names import named
from cfeval.vce.models.classifier import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Channels,
    ClassifierPlugin,
    Interpolation,
    NetworkClassifier,
    OutputsError,
    Preprocessing,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Outputs = Literal["logits", "probabilities"]
_CROPPED = 224 / 256
"""The share of the shorter side that `crop` leaves, as in the usual evaluation on ImageNet."""


class OwnNetworkPlugin(ClassifierPlugin):
    """How images are prepared, and what its outputs stand for."""

    classes: str = plugin.file("")
    """File with the names of the classes in the order of the outputs: a name a line, or a JSON list. Empty: ImageNet's.
    Of a network with one output, the first class is that of low values, the second that of high ones."""
    size: int = Field(224, ge=8)
    """Height and width of the network's inputs."""
    interpolation: Interpolation = "bilinear"
    """How images are resized."""
    mean: Channels = IMAGENET_MEAN
    """Mean of red, green and blue that is taken off, for values in [0, 1]."""
    std: tuple[PositiveFloat, PositiveFloat, PositiveFloat] = IMAGENET_STD
    """Their standard deviation, which they are then divided by."""
    outputs: Outputs = "logits"
    """What the network returns: logits, or probabilities that add up to 1."""

    def class_names(self) -> tuple[str, ...]:
        """Those of the file, else ImageNet's."""
        return named(self.classes, None)

    def classifier(self, network: "Module", name: str) -> NetworkClassifier:
        """The classifier of a network.

        Raises:
            PluginError: it takes no such images, or does not give an output for each class.
            InputError: the names of the classes cannot be read.
        """
        classes = self.class_names()
        preprocessing = Preprocessing(self.size, round(self.size / _CROPPED), self.interpolation, self.mean, self.std)
        made = as_logits(network.eval(), len(classes), self.outputs)
        _try(made, len(classes), self.size, self.outputs, name)
        return NetworkClassifier(made, preprocessing, classes, self, name)


def as_logits(network: "Module", classes: int, outputs: Outputs = "logits") -> "Module":
    """A network that gives logits (N, classes), from one that may return them among other things.

    One output, of two classes, is the logit of the second: softmax of 0 and it is its sigmoid.
    """
    import torch

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, images: "Tensor") -> "Tensor":
            values = _tensor_of(self.network(images))
            single = classes == 2 and values.shape[1:].numel() == 1
            if single:
                values = values.view(-1, 1)
            if outputs == "probabilities":
                values = torch.cat((1 - values, values), dim=1) if single else values
                return values.clamp_min(torch.finfo(values.dtype).tiny).log()
            return torch.cat((torch.zeros_like(values), values), dim=1) if single else values

    return Logits()


def _tensor_of(returned: Any) -> "Tensor":
    """The tensor of outputs in what a network returns: itself, `logits` or `out`, else the first of several."""
    for name in ("logits", "out"):
        if isinstance(returned, Mapping) and name in returned:
            return returned[name]  # type: ignore[no-any-return]
        if hasattr(returned, name) and not isinstance(returned, Mapping):
            return getattr(returned, name)  # type: ignore[no-any-return]
    outputs: Tensor = returned[0] if isinstance(returned, Sequence) else returned
    return outputs


def _try(network: "Module", classes: int, size: int, outputs: Outputs, name: str) -> None:
    """Show a network two images of noise."""
    import torch

    noise = torch.rand(2, 3, size, size, generator=torch.Generator().manual_seed(0))
    first = next(network.parameters(), None)
    noise = noise if first is None else noise.to(first.device, first.dtype)
    try:
        with torch.no_grad():
            values = network(noise)
            shape = tuple(values.shape)
    except Exception as error:  # whatever the user's code lets through
        if out_of_memory(error):
            raise
        raise PluginError(
            f"'{name}' cannot be asked about images (N, 3, {size}, {size}): {first_line(error)}; set its `size`, or "
            "correct the network"
        ) from error
    if len(shape) == 2 and shape != (2, classes):
        raise OutputsError(f"'{name}'", shape[1], classes)
    if shape != (2, classes):
        raise PluginError(
            f"'{name}' returns {' × '.join(map(str, shape))} for two images; let it return a logit for each class, 2 × "
            f"{classes}"
        )
    if outputs == "logits" and values.min() >= 0 and torch.allclose(values.sum(1), values.new_ones(2), atol=1e-4):
        raise PluginError(
            f"'{name}' returns numbers that add up to 1, which are no logits; set its `outputs: probabilities`, or "
            "leave its softmax out"
        )
