"""RandomNet (DBVCE, Section 4, Table 1): an architecture whose weights were never trained.

What is measured of it tells what the denoiser and the cone do without any help from the explained classifier.
"""

from collections.abc import Iterator

from cfeval.core.registry import Diagnostic, Resources
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import classifier
from cfeval.vce.models.architectures import blank, check_name
from cfeval.vce.models.class_names import named
from cfeval.vce.models.classifier import ArchitectureOptions, NetworkClassifier


class Options(ArchitectureOptions):
    """Which architecture; the seed draws its weights."""

    architecture: str = "alexnet"
    """The name that the library has for it; DBVCE's is AlexNet."""


def needs(options: Options) -> Resources:
    """A GPU, unless the processor is asked for."""
    return Resources(gpu=0 if options.device == "cpu" else 1)


def files(options: Options) -> tuple[str, ...]:
    """The names of the classes."""
    return (options.classes,) if options.classes else ()


def examine(options: Options) -> Iterator[Diagnostic]:
    """Whether the device is there, the architecture known, and the names of the classes can be read."""
    return classifier.findings(options.device, lambda: _about(options))


def build(options: Options) -> Classifier:
    """The classifier; the same seed gives the same weights.

    Raises:
        InputError: the names of the classes cannot be read.
        BackendError: no such architecture.
    """
    classes = named(options.classes, options.num_classes)
    network, preprocessing = blank(options.library, options.architecture, len(classes), options.seed)
    return NetworkClassifier(network, preprocessing, classes, options, f"random {options.architecture}")


def _about(options: Options) -> str:
    check_name(options.library, options.architecture)
    classes = named(options.classes, options.num_classes)
    return f"{options.library}'s {options.architecture} with random weights over {len(classes)} classes"
