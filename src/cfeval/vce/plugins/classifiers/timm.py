"""Any network of timm, with its own trained weights from the Hugging Face hub (or random ones).

A name can carry the tag of its weights, such as convnext_large.fb_in22k_ft_in1k. Preprocessing is the one that timm
declares for them. Networks over ImageNet's 1000 classes have torchvision's names for these; for others give `classes`.
"""

from collections.abc import Iterator

from pydantic import Field

from cfeval.core.registry import Diagnostic, Resources
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import classifier, timm_models
from cfeval.vce.models.architectures import blank, check_name
from cfeval.vce.models.class_names import IMAGENET, named
from cfeval.vce.models.classifier import ClassifierOptions, NetworkClassifier
from cfeval.vce.models.torchvision_models import NONE


class Options(ClassifierOptions):
    """Which network, with weights or without."""

    model: str = Field(min_length=1)
    """The network's name, such as swin_large_patch4_window7_224."""
    weights: str = Field("", pattern=f"^({NONE})?$")
    """Empty: the trained ones that the name stands for; none: random weights."""
    classes: str = ""
    """File with the names of the classes, as of `state_dict`; empty: ImageNet's where there are 1000, else numbers."""


def needs(options: Options) -> Resources:
    """A GPU, unless the processor is asked for."""
    return Resources(gpu=0 if options.device == "cpu" else 1)


def files(options: Options) -> tuple[str, ...]:
    """The names of the classes."""
    return (options.classes,) if options.classes else ()


def examine(options: Options) -> Iterator[Diagnostic]:
    """Whether the device is there, the network known, and its weights here."""
    return classifier.findings(options.device, lambda: _about(options))


def build(options: Options) -> Classifier:
    """The classifier, loaded.

    Raises:
        BackendError: no such network, no timm, or weights that cannot be had.
        InputError: names that are not as many as the network's classes.
    """
    name = options.model
    if options.weights == NONE:
        classes = named(options.classes, None)
        network, preprocessing = blank("timm", name, len(classes), options.seed)
        return NetworkClassifier(network, preprocessing, classes, options, name)
    check_name("timm", name)
    network = timm_models.trained(name)
    count = int(getattr(network, "num_classes", IMAGENET))
    return NetworkClassifier(network, timm_models.preprocessing(network), named(options.classes, count), options, name)


def _about(options: Options) -> str:
    check_name("timm", options.model)
    if options.weights == NONE:
        return f"'{options.model}' with random weights"
    if timm_models.cached(options.model):
        return f"weights of '{options.model}' are here"
    model, file = timm_models.source(options.model)
    return f"weights of '{options.model}' are not on this machine; the first job downloads {file} of {model}"
