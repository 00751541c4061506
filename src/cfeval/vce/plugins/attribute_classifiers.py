"""Oracles of attributes: own weights in an architecture of torchvision or timm, or VGGFace2's ResNet-50.

`vggface2` is the oracle of CelebA-HQ's 40 attributes that STEEX published and ACE uses, fine-tuned. It takes images in
[−1, 1], resized to 224 pixels without smoothing.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, PositiveFloat

from cfeval.core import plugin
from cfeval.inference.local import devices
from cfeval.vce.interfaces import AttributeClassifier
from cfeval.vce.models import checkpoints, vggface2
from cfeval.vce.models.architectures import check_name, untrained
from cfeval.vce.models.attributes import Bools, NetworkAttributes, read_labels
from cfeval.vce.models.class_names import named
from cfeval.vce.models.classifier import Channels, Library, NetworkPlugin

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Spread = tuple[PositiveFloat, PositiveFloat, PositiveFloat]


class AttributePlugin(NetworkPlugin):
    """Which file, the names of its outputs, and how its inputs are made."""

    path: str = plugin.file(min_length=1)
    """The file with the weights."""
    attributes: str = plugin.file(min_length=1)
    """File with the names of the attributes in the order of the outputs: a name a line, or a JSON list."""
    labels: str = plugin.file("")
    """Table of the attributes of a dataset, as CelebA's `list_attr_celeba.txt`: CD takes its correlations. Empty: no
    CD."""
    size: int = Field(224, ge=8)
    """Height and width of the network's inputs, pixels."""
    mean: Channels = (0.5, 0.5, 0.5)
    """Mean of red, green and blue, for values in [0, 1]."""
    std: Spread = (0.5, 0.5, 0.5)
    """Their standard deviation."""
    threshold: float = Field(0.5, gt=0, lt=1)
    """The probability above which an attribute is there."""

    def about(self) -> str:
        """How many attributes, and whether the file is there."""
        return f"{checkpoints.about(self.path)}, for {len(self.names())} attributes"

    def names(self) -> tuple[str, ...]:
        """The attributes; InputError where they cannot be read."""
        return named(self.attributes, None)

    def table(self) -> Bools | None:
        """The labels of the dataset, None where none are given; InputError where they cannot be read."""
        return read_labels(Path(self.labels), self.names()) if self.labels else None

    def oracle(self, network: "Module", weights: "dict[str, Tensor]", name: str) -> AttributeClassifier:
        """The oracle of a network with these weights; PluginError where they do not fit."""
        names = self.names()
        checkpoints.fit(network, weights, Path(self.path).name, f"{name} with {len(names)} attributes")
        device = devices.chosen(self.device)
        return NetworkAttributes(network, self.size, self.mean, self.std, names, self.table(), device, self.threshold)


class StateDictPlugin(AttributePlugin):
    """Own weights in an architecture of torchvision or timm, with an output for each attribute."""

    architecture: str = Field(min_length=1)
    """The name that the library has for it, such as resnet50."""
    library: Library = "torchvision"
    """Where it is defined: torchvision or timm."""

    def about(self) -> str:
        """The architecture, and whether the file is there."""
        check_name(self.library, self.architecture)
        return super().about()

    def build(self) -> AttributeClassifier:
        """The oracle, loaded.

        Raises:
            InputError: weights, names or labels cannot be read.
            PluginError: no such architecture, or the weights do not fit it.
        """
        network, _ = untrained(self.library, self.architecture, len(self.names()))
        weights = checkpoints.stored(Path(self.path), network).weights
        return self.oracle(network, weights, f"{self.library}'s {self.architecture}")


class VggFace2Plugin(AttributePlugin):
    """The oracle of CelebA-HQ's 40 attributes that STEEX published and ACE uses: VGGFace2's ResNet-50, fine-tuned."""

    def build(self) -> AttributeClassifier:
        """The oracle, loaded.

        Raises:
            InputError: weights, names or labels cannot be read.
            PluginError: the weights do not fit.
        """
        network = vggface2.untrained(len(self.names()))
        return self.oracle(network, vggface2.weights_in(Path(self.path)), "VGGFace2's ResNet-50")
