"""The options that every oracle of attributes has."""

from pathlib import Path

from pydantic import Field, PositiveFloat

from cfeval.core import plugin
from cfeval.vce.models import checkpoints
from cfeval.vce.models.attributes import Bools, read_labels
from cfeval.vce.models.class_names import named
from cfeval.vce.models.classifier import Channels
from cfeval.vce.models.plugin import NetworkPlugin

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
