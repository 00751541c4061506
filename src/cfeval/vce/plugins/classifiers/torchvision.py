"""Any classification network of torchvision, with the library's own trained weights (or random ones).

Weights are downloaded once into torch's cache (`TORCH_HOME`); preprocessing and classes are those declared with them.
"""

from collections.abc import Iterator

from pydantic import Field

from cfeval.core.registry import Diagnostic, Resources
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import classifier, torchvision_models
from cfeval.vce.models.architectures import blank, check_name
from cfeval.vce.models.class_names import imagenet
from cfeval.vce.models.classifier import ClassifierOptions, NetworkClassifier


class Options(ClassifierOptions):
    """Which network, which weights."""

    model: str = Field(min_length=1)
    """The network's name, such as resnet50."""
    weights: str = ""
    """Entry of the library, such as IMAGENET1K_V2; empty: the default one; none: random weights."""


def needs(options: Options) -> Resources:
    """A GPU, unless the processor is asked for."""
    return Resources(gpu=0 if options.device == "cpu" else 1)


def examine(options: Options) -> Iterator[Diagnostic]:
    """Whether the device is there, the network known, and its weights here."""
    return classifier.findings(options.device, lambda: _about(options))


def build(options: Options) -> Classifier:
    """The classifier, loaded.

    Raises:
        BackendError: no such network or weights, or they cannot be had.
    """
    name = options.model
    if options.weights == torchvision_models.NONE:
        network, preprocessing = blank("torchvision", name, len(imagenet()), options.seed)
        return NetworkClassifier(network, preprocessing, imagenet(), options, name)
    check_name("torchvision", name)
    weights = torchvision_models.weights_of(name, options.weights)
    network = torchvision_models.trained(name, weights)
    classes = tuple(weights.meta["categories"])
    return NetworkClassifier(network, torchvision_models.preprocessing(weights), classes, options, name)


def _about(options: Options) -> str:
    check_name("torchvision", options.model)
    if options.weights == torchvision_models.NONE:
        return f"'{options.model}' with random weights"
    weights = torchvision_models.weights_of(options.model, options.weights)
    file = torchvision_models.cached(weights)
    if file.is_file():
        return f"weights {weights.name} of '{options.model}' are here ({file.name})"
    return f"weights {weights.name} of '{options.model}' are not on this machine; the first job downloads {file.name}"
