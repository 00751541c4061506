"""The colors and shapes of cells as attributes, seen by a built-in classifier (`cfeval_testbed.models.cells`)."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cfeval.vce.interfaces import AttributeClassifier
from cfeval_testbed.plugins.classifiers_world import Kind, World
from cfeval_testbed.records import COLORS, SHAPES
from cfeval_testbed.scenes import CELL_CLASSES, parts_of
from cfeval_testbed.weights import WorldPlugin, models_dir

if TYPE_CHECKING:
    from torch import Tensor


class Plugin(WorldPlugin):
    """Who sees them."""

    kind: Kind = "standard"
    """The classifier, as of `classifiers`."""

    def dependencies(self) -> tuple[str, ...]:
        """Its weights."""
        return (str(models_dir() / f"cell-{self.kind}.safetensors"),)

    def build(self) -> AttributeClassifier:
        """The oracle."""
        return WorldAttributes(self.kind)


class WorldAttributes:
    """A cell has one color and one shape; in the data all 40 pairs are equally frequent."""

    attributes: tuple[str, ...] = (*COLORS, *SHAPES)

    def __init__(self, kind: Kind) -> None:
        self.classifier = World(kind, "float64")
        rows = [[part in parts_of(label) for part in self.attributes] for label in CELL_CLASSES]
        self.labels: NDArray[np.bool_] | None = np.array(rows, dtype=np.bool_)

    def decisions(self, images: "Tensor") -> "Tensor":
        """See `AttributeClassifier.decisions`."""
        import torch

        with torch.inference_mode():
            seen = self.classifier.logits(images.double() / 127.5 - 1).argmax(dim=1)
        assert self.labels is not None
        return torch.from_numpy(self.labels)[seen]

    def of_class(self, name: str) -> frozenset[str] | None:
        """See `AttributeClassifier.of_class`."""
        return frozenset(parts_of(name)) if name in CELL_CLASSES else None
