"""A network of I2SB as a denoiser: trained to find the way from x_t to the image on a bridge (Liu et al. 2023)."""

from typing import TYPE_CHECKING, Any

from cfeval.vce.interfaces import Prediction
from cfeval.vce.models.unet_denoiser import UNetDenoiser

if TYPE_CHECKING:
    from torch import Tensor

# The timestep of the first step, as a share of all (I2SB's `t0`).
FIRST = 1e-4


def bridge_levels(steps: int, beta_max: float) -> "Tensor":
    """ᾱ of the noise on a bridge, (steps,): 1 / (1 + σ²), σ² the sum of its betas.

    Their roots rise evenly to that of `beta_max` / steps until the middle, and fall as they rose.
    """
    import torch

    last = beta_max / steps
    betas = torch.linspace(1e-2, last**0.5, steps, dtype=torch.float64)[: steps // 2] ** 2
    return 1 / (1 + torch.cat([betas, betas.flip(0)]).cumsum(0))


class BridgeDenoiser(UNetDenoiser):
    """See `cfeval.vce.interfaces.Denoiser` and `Bridge`.

    Args:
        unet: a UNet2DModel, on its device; it finds (x_t − x_0) / σ.
        steps: of the bridge, even.
        beta_max: see `bridge_levels`.
        image_size: what it was trained at.
    """

    bridge = True

    def __init__(self, unet: Any, steps: int, beta_max: float, image_size: int) -> None:
        import torch

        super().__init__(unet, bridge_levels(steps, beta_max), image_size)
        self._times = (torch.linspace(FIRST, 1, steps) * steps).to(self.device)

    def predict(self, noisy: "Tensor", timesteps: "Tensor", labels: "Tensor | None" = None) -> Prediction:
        """See `Denoiser.predict`; labels have no effect."""
        del labels
        own = noisy / self._signal[timesteps].view(-1, 1, 1, 1).to(noisy)
        (predicted,) = self.unet(own.to(self._precision), self._times[timesteps], return_dict=False)
        return Prediction(predicted.to(noisy))
