"""The built-in classifiers of cells (`cfeval_testbed.models.cells`)."""

from typing import TYPE_CHECKING, Literal

from cfeval.vce.interfaces import Classifier
from cfeval_testbed.scenes import CELL_CLASSES
from cfeval_testbed.weights import WorldPlugin, models_dir

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["standard", "small", "transformer", "noisy", "robust", "random", "texture", "shortcut", "brittle"]


class Plugin(WorldPlugin):
    """Which of them."""

    kind: Kind = "standard"
    """What it is like: `small` has few parameters, `noisy` was trained on noisy cells, `robust` against perturbed ones,
    `random` not at all. Three have a known defect: `texture` sees tiles of 8 × 8 pixels one by one and no outline,
    `shortcut` believes a coloured tag in the corner where there is one, `brittle` follows patterns too faint to see."""

    dtype: Literal["float64", "float32"] = "float64"
    """In float64 processors differ by too little to change a pixel of a counterfactual; in float32 by enough."""

    def dependencies(self) -> tuple[str, ...]:
        """Its weights."""
        return (str(models_dir() / f"cell-{self.kind}.safetensors"),)

    def class_names(self) -> tuple[str, ...]:
        """The cells."""
        return CELL_CLASSES

    def build(self) -> Classifier:
        """The classifier."""
        return World(self.kind, self.dtype)


class World:
    """A classifier of cells; its images need no preparation, so that without it only the temperature is left out."""

    def __init__(self, kind: Kind, dtype: str) -> None:
        import torch

        from cfeval_testbed.models.cells import CellClassifier
        from cfeval_testbed.models.precision import load_precise

        self._dtype: torch.dtype = getattr(torch, dtype)
        self.network = load_precise(f"cell-{kind}", CellClassifier(kind), self._dtype)
        self.classes = CELL_CLASSES
        self.robust = kind == "robust"
        self.timed = False
        self.device = torch.device("cpu")

    def logits(
        self,
        images: "Tensor",
        timesteps: "Tensor | None" = None,
        prepared: bool = True,
    ) -> "Tensor":
        """The logits of cells (N, 3, 32, 32), whatever the timestep."""
        del timesteps
        found: Tensor = self.network(images.to(self._dtype))
        return (found / self.network.temperature if prepared else found).to(images.dtype)
