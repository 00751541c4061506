"""The built-in denoiser of cells (`cfeval.testbed.models.cells`), in double precision."""

from typing import TYPE_CHECKING

from cfeval.testbed.weights import WorldPlugin, models_dir
from cfeval.vce.interfaces import Denoiser, Prediction

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS = "cell-denoiser"


class Plugin(WorldPlugin):
    """Without options."""

    def dependencies(self) -> tuple[str, ...]:
        """Its weights."""
        return (str(models_dir() / f"{WEIGHTS}.safetensors"),)

    def build(self) -> Denoiser:
        """The denoiser."""
        return World()


class World:
    """Turns the clean cell that the network predicts into the noise."""

    def __init__(self) -> None:
        import torch

        from cfeval.testbed.models.cells import CellDenoiser, alphas_cumprod
        from cfeval.testbed.models.precision import load_precise
        from cfeval.testbed.render import CELL

        self.network = load_precise(WEIGHTS, CellDenoiser())
        self.alphas_cumprod = alphas_cumprod()
        self.image_size = CELL
        self.classes = 0
        self.device, self.dtype = torch.device("cpu"), torch.float64

    def predict(self, noisy: "Tensor", timesteps: "Tensor", labels: "Tensor | None" = None) -> Prediction:
        """ε = (x_t − √ᾱ_t x̂_0) / √(1 − ᾱ_t); the variance is not learned."""
        assert labels is None, "it is conditional on no class"
        kept = self.alphas_cumprod[timesteps][:, None, None, None]
        clean = self.network(noisy, timesteps)
        return Prediction((noisy - kept.sqrt() * clean) / (1 - kept).sqrt())
