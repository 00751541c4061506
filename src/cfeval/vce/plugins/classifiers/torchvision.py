"""Any classification network of torchvision, with the library's own trained weights (or random ones).

Weights are downloaded once into torch's cache (`TORCH_HOME`); preprocessing and classes are those declared with them.
"""

from pydantic import Field

from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import torchvision_models
from cfeval.vce.models.architectures import check_name, untrained
from cfeval.vce.models.class_names import imagenet
from cfeval.vce.models.classifier import ClassifierPlugin, NetworkClassifier
from cfeval.vce.models.torchvision_models import NONE


class Plugin(ClassifierPlugin):
    """Which network, which weights."""

    model: str = Field(min_length=1)
    """The network's name, such as resnet50."""
    weights: str = ""
    """Entry of the library, such as IMAGENET1K_V2; empty: the default one; none: random weights."""

    def about(self) -> str:
        """Whether the network is known, and its weights here."""
        check_name("torchvision", self.model)
        if self.weights == NONE:
            return f"'{self.model}' with random weights"
        weights = torchvision_models.weights_of(self.model, self.weights)
        file = torchvision_models.cached(weights)
        told = f"weights {weights.name} of '{self.model}' are"
        if file.is_file():
            return f"{told} here ({file.name})"
        return f"{told} not on this machine; the first job downloads {file.name}"

    def is_here(self) -> bool:
        """Whether its weights are on this machine, or random."""
        if self.weights == NONE:
            return True
        return torchvision_models.cached(torchvision_models.weights_of(self.model, self.weights)).is_file()

    def class_names(self) -> tuple[str, ...]:
        """ImageNet's, which all weights of the library are over."""
        return imagenet()

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            PluginError: no such network or weights, or they cannot be had.
        """
        if self.weights == NONE:
            classes = imagenet()
            network, preprocessing = untrained("torchvision", self.model, len(classes), self.seed)
        else:
            check_name("torchvision", self.model)
            weights = torchvision_models.weights_of(self.model, self.weights)
            network = torchvision_models.trained(self.model, weights)
            preprocessing, classes = torchvision_models.preprocessing(weights), tuple(weights.meta["categories"])
        return NetworkClassifier(network, preprocessing, classes, self, self.model)
