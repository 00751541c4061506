"""The built-in classifiers of cells (`cfeval.testbed.models.cells`), in double precision."""

from typing import TYPE_CHECKING, Literal

from cfeval.testbed.scenes import CELL_CLASSES
from cfeval.testbed.weights import WorldPlugin, models_dir
from cfeval.vce.interfaces import Classifier

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["standard", "small", "transformer", "noisy", "robust", "random"]


class Plugin(WorldPlugin):
    """Which of them."""

    kind: Kind = "standard"
    """What it is like: `small` has few parameters, `noisy` was trained on noisy cells, `robust` against perturbed ones,
    `random` not at all."""

    def dependencies(self) -> tuple[str, ...]:
        """Its weights."""
        return (str(models_dir() / f"cell-{self.kind}.safetensors"),)

    def build(self) -> Classifier:
        """The classifier."""
        return World(self.kind)


class World:
    """A classifier of cells; its pictures need no preparation, so that without it only the temperature is left out."""

    def __init__(self, kind: Kind) -> None:
        import torch

        from cfeval.testbed.models.cells import CellClassifier
        from cfeval.testbed.models.precision import load_precise

        self.network = load_precise(f"cell-{kind}", CellClassifier(kind))
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
        found: Tensor = self.network(images.double())
        return (found / self.network.temperature if prepared else found).to(images.dtype)
