"""The built-in classifiers of cells (`cfeval.testbed.models.cells`), in double precision."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from cfeval.core.registry import Diagnostic, PluginOptions
from cfeval.testbed.scenes import CELL_CLASSES
from cfeval.testbed.weights import examine_weights, models_dir
from cfeval.vce.interfaces import Classifier

if TYPE_CHECKING:
    from torch import Tensor


class Options(PluginOptions):
    """Which of them."""

    kind: Literal["standard", "small", "transformer", "noisy", "robust", "random"] = "standard"
    """What it is like: `small` has few parameters, `noisy` was trained on noisy cells, `robust` against perturbed ones,
    `random` not at all."""


def files(options: Options) -> tuple[str, ...]:
    """Its weights."""
    return (str(models_dir() / f"cell-{options.kind}.safetensors"),)


def examine(options: Options) -> Iterator[Diagnostic]:
    """Weights that are not there."""
    yield from examine_weights(files(options))


def build(options: Options) -> Classifier:
    """The classifier."""
    return World(options)


class World:
    """A classifier of cells; its pictures need no preparation, so that without it only the temperature is left out."""

    def __init__(self, options: Options) -> None:
        import torch

        from cfeval.testbed.models.cells import CellClassifier
        from cfeval.testbed.models.precision import load_precise

        self.network = load_precise(f"cell-{options.kind}", CellClassifier(options.kind))
        self.classes = CELL_CLASSES
        self.robust = options.kind == "robust"
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
