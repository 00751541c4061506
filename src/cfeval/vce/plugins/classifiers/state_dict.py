"""Own weights in an architecture of torchvision or timm: a file of safetensors or of torch.save.

Also the robust networks of the papers: the ResNet-50 checkpoints of the robustness library (Engstrom et al. 2019), and
the multi-norm fine-tuned one of DVCE and DBVCE (`l2_improved_3_ep.pt`; mean 0 and std 1). How files are read, and which
names in them count: `cfeval.vce.models.checkpoints`.
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, PositiveFloat, model_validator

from cfeval.core import plugin
from cfeval.core.errors import InputError, nearest
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models.architectures import check_name, untrained
from cfeval.vce.models.attributes import NOT, one_attribute
from cfeval.vce.models.checkpoints import fit, outputs_in, stored
from cfeval.vce.models.class_names import named
from cfeval.vce.models.classifier import (
    ArchitecturePlugin,
    Channels,
    Interpolation,
    NetworkClassifier,
    OutputsError,
)
from cfeval.vce.models.own_networks import as_logits

Spread = tuple[PositiveFloat, PositiveFloat, PositiveFloat]


class Plugin(ArchitecturePlugin):
    """Which file, and where its training differed from what the library declares for the architecture."""

    path: str = plugin.file(min_length=1)
    """The file with the weights."""
    weights: str = ""
    """Which weights, of a file that holds several sets, such as raw and averaged ones (EMA): the keys that lead to
    them, joined by dots, such as `model_ema.module`. Empty: the first, which is told."""
    size: int | None = Field(None, ge=8)
    """Height and width of the network's inputs; none: as the library declares."""
    interpolation: Interpolation | None = None
    """How images are resized; none: as the library declares."""
    mean: Channels | None = None
    """Mean of red, green and blue, for values in [0, 1]; none: the file's normalizer, else as the library declares."""
    std: Spread | None = None
    """Their standard deviation, likewise."""
    attribute: str = ""
    """Of a network with an output for each of the attributes that `classes` names: the one that is explained. The
    classes are then it and `not` it, such as `Smiling` and `not Smiling`."""

    @model_validator(mode="after")
    def _attribute_is_named(self) -> "Plugin":
        if self.attribute and not self.classes:
            raise ValueError("attribute is one of those in `classes`; name the file with the names of the outputs")
        return self

    def dependencies(self) -> tuple[str, ...]:
        """The weights, then the names of the classes."""
        return tuple(reversed(super().dependencies()))

    def about(self) -> str:
        """The architecture, and how many classes."""
        check_name(self.library, self.architecture)
        return self._architecture(len(named(self.classes, self.num_classes)))

    def class_names(self) -> tuple[str, ...]:
        """Those of the file, else ImageNet's or numbers; of one attribute it and its absence."""
        names = named(self.classes, self.num_classes)
        return (self.attribute, f"{NOT}{self.attribute}") if self._place(names) is not None else names

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            InputError: the weights or the names of the classes cannot be read.
            PluginError: no such architecture, or the weights do not fit it.
        """
        path, classes = Path(self.path), named(self.classes, self.num_classes)
        place = self._place(classes)
        network, declared = untrained(self.library, self.architecture, len(classes), self.seed)
        found = stored(path, network, self.weights)
        outputs = outputs_in(found.weights, network)
        if outputs == 1 and len(classes) == 2:
            network, _ = untrained(self.library, self.architecture, 1, self.seed)
        elif outputs is not None and outputs != len(classes):
            raise OutputsError(f"{self.library}'s {self.architecture} in {path.name}", outputs, len(classes))
        fit(network, found.weights, path.name, self._architecture(len(classes)))
        if outputs == 1:
            network = as_logits(network, len(classes))
        preprocessing = declared.but(
            size=self.size,
            interpolation=self.interpolation,
            mean=self.mean or found.mean,
            std=self.std or found.std,
        )
        if place is not None:
            network = one_attribute(network, place)
        return NetworkClassifier(network, preprocessing, self.class_names(), self, path.name, found.notes)

    def _place(self, names: Sequence[str]) -> int | None:
        """The output of the attribute; None where all outputs are classes."""
        if not self.attribute:
            return None
        if self.attribute not in names:
            raise InputError(f"{self.classes}: no attribute '{self.attribute}'; {nearest(self.attribute, names)}")
        return names.index(self.attribute)

    def _architecture(self, classes: int) -> str:
        return f"{self.library}'s {self.architecture} with {classes} classes"
