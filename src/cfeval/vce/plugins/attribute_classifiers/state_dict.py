"""Own weights in an architecture of torchvision or timm, with an output for each attribute."""

from pathlib import Path

from pydantic import Field

from cfeval.inference.local import devices
from cfeval.vce.interfaces import AttributeClassifier
from cfeval.vce.models import checkpoints
from cfeval.vce.models.architectures import check_name, untrained
from cfeval.vce.models.attribute_plugin import AttributePlugin
from cfeval.vce.models.attributes import NetworkAttributes
from cfeval.vce.models.classifier import Library


class Plugin(AttributePlugin):
    """Which architecture."""

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
        path, names = Path(self.path), self.names()
        network, _ = untrained(self.library, self.architecture, len(names))
        what = f"{self.library}'s {self.architecture} with {len(names)} attributes"
        checkpoints.fit(network, checkpoints.stored(path, network).weights, path.name, what)
        device = devices.chosen(self.device)
        return NetworkAttributes(network, self.size, self.mean, self.std, names, self.table(), device, self.threshold)
