"""The built-in denoiser of cells (`cfeval_testbed.models.cell_denoiser`)."""

from typing import TYPE_CHECKING, Literal

from cfeval.vce.interfaces import Denoiser, Prediction
from cfeval_testbed.weights import WorldPlugin, models_dir

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS = "cell-denoiser"


class Plugin(WorldPlugin):
    """What it computes in."""

    dtype: Literal["float64", "float32"] = "float64"
    """In float64 counterfactuals have equal bytes on every processor; in float32, half as long, a few pixels differ."""

    def dependencies(self) -> tuple[str, ...]:
        """Its weights."""
        return (str(models_dir() / f"{WEIGHTS}.safetensors"),)

    def build(self) -> Denoiser:
        """The denoiser."""
        return World(self.dtype)


class World:
    """Turns the clean cell that the network predicts into the noise."""

    def __init__(self, dtype: str) -> None:
        import torch

        from cfeval_testbed.models.cell_denoiser import CellDenoiser, alphas_cumprod
        from cfeval_testbed.models.precision import load_precise
        from cfeval_testbed.render import CELL

        self.dtype: torch.dtype = getattr(torch, dtype)
        self.network = load_precise(WEIGHTS, CellDenoiser(), self.dtype)
        self.alphas_cumprod = alphas_cumprod()
        self.image_size = CELL
        self.classes = 0
        self.device = torch.device("cpu")

    def predict(self, noisy: "Tensor", timesteps: "Tensor", labels: "Tensor | None" = None) -> Prediction:
        """ε = (x_t − √ᾱ_t x̂_0) / √(1 − ᾱ_t); the variance is not learned."""
        assert labels is None, "it is conditional on no class"
        kept = self.alphas_cumprod[timesteps][:, None, None, None].to(self.dtype)
        clean = self.network(noisy, timesteps)
        return Prediction((noisy - kept.sqrt() * clean) / (1 - kept).sqrt())
