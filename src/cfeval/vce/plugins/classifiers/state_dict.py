"""Own weights in an architecture of torchvision or timm: a file of safetensors or of torch.save.

Also the robust networks of the papers: the ResNet-50 checkpoints of the robustness library (Engstrom et al. 2019), and
the multi-norm fine-tuned one of DVCE and DBVCE (`l2_improved_3_ep.pt`; mean 0 and std 1). How files are read, and which
names in them count: `local_classifiers/checkpoints.py`.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field, PositiveFloat

from cfeval.core.registry import Diagnostic, Resources
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import classifier
from cfeval.vce.models.architectures import blank, check_name
from cfeval.vce.models.checkpoints import fit, stored
from cfeval.vce.models.class_names import named
from cfeval.vce.models.classifier import ArchitectureOptions, Channels, Interpolation, NetworkClassifier

Spread = tuple[PositiveFloat, PositiveFloat, PositiveFloat]


class Options(ArchitectureOptions):
    """Which file, and where its training differed from what the library declares for the architecture."""

    path: str = Field(min_length=1)
    """The file with the weights."""
    size: int | None = Field(None, ge=8)
    """Height and width of the network's inputs; none: as the library declares."""
    interpolation: Interpolation | None = None
    """How images are resized; none: as the library declares."""
    mean: Channels | None = None
    """Mean of red, green and blue, for values in [0, 1]; none: the file's normalizer, else as the library declares."""
    std: Spread | None = None
    """Their standard deviation, likewise."""


def needs(options: Options) -> Resources:
    """A GPU, unless the processor is asked for."""
    return Resources(gpu=0 if options.device == "cpu" else 1)


def files(options: Options) -> tuple[str, ...]:
    """The weights, and the names of the classes."""
    return (options.path, *((options.classes,) if options.classes else ()))


def examine(options: Options) -> Iterator[Diagnostic]:
    """Whether the device is there, the architecture known, and the names of the classes can be read."""
    return classifier.findings(options.device, lambda: _about(options))


def build(options: Options) -> Classifier:
    """The classifier, loaded.

    Raises:
        InputError: the weights or the names of the classes cannot be read.
        BackendError: no such architecture, or the weights do not fit it.
    """
    path, classes = Path(options.path), named(options.classes, options.num_classes)
    network, declared = blank(options.library, options.architecture, len(classes), options.seed)
    found = stored(path, network)
    fit(network, found.weights, path.name, f"{options.library}'s {options.architecture} with {len(classes)} classes")
    preprocessing = declared.but(
        size=options.size,
        interpolation=options.interpolation,
        mean=options.mean or found.mean,
        std=options.std or found.std,
    )
    return NetworkClassifier(network, preprocessing, classes, options, path.name)


def _about(options: Options) -> str:
    check_name(options.library, options.architecture)
    classes = named(options.classes, options.num_classes)
    return f"{options.library}'s {options.architecture} with {len(classes)} classes"
