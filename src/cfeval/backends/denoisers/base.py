"""What every denoiser offers (Ho et al. 2020; Dhariwal & Nichol 2021)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor, device, dtype


@dataclass(frozen=True)
class Prediction:
    """What a denoiser says about x_t.

    `noise` is ε_θ(x_t, t), (N, 3, H, W). `variance` is v, about in [−1, 1], of the same shape: it interpolates between
    log β̃_t (−1) and log β_t (1); None where the network has not learned it, then the variance is β̃_t.
    """

    noise: "Tensor"
    variance: "Tensor | None" = None


class Denoiser(Protocol):
    """A denoiser, frozen and in evaluation mode; gradients flow from its prediction to the noisy image.

    `alphas_cumprod` is ᾱ of the T training steps, (T,), float64, on the CPU. `image_size` is the height and width that
    it was trained at. `classes` is how many class labels it is conditional on, 0 for none. `dtype` is what it takes and
    gives, whatever precision it computes in: float32, or float64 where results are to be the same on every CPU.
    """

    alphas_cumprod: "Tensor"
    image_size: int
    classes: int
    device: "device"
    dtype: "dtype"

    def predict(self, noisy: "Tensor", timesteps: "Tensor", labels: "Tensor | None" = None) -> Prediction:
        """The prediction for x_t (N, 3, H, W), original timesteps (N,) in [0, T) and, if conditional, labels (N,).

        The arguments are on the denoiser's device and of its `dtype`; so is the prediction.
        """
        ...
