"""The best linear denoiser of natural images, without training: a Wiener filter for a power-law spectrum.

Natural images have about 1/f² power (Field 1987, "Relations between the statistics of natural images"), most of it in
brightness. For Gaussian images of that spectrum the filter is the exact E[x_0 | x_t]. It knows no objects: what a
guided run adds comes from the classifier alone, which makes it the null model among denoisers.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cfeval.core import plugin
from cfeval.vce.interfaces import Denoiser, Prediction

if TYPE_CHECKING:
    from torch import Tensor

_STEPS = 1000
_OPPONENT = ((1, 1, 1), (1, -1, 0), (1, 1, -2))
"""Brightness, red against green, yellow against blue."""
_SHARES = (0.9, 0.06, 0.04)
"""Of the variance in each of them, about that of photographs."""


class Plugin(plugin.Plugin):
    """What the images are like."""

    image_size: int = Field(224, ge=8)
    """Height and width."""
    exponent: float = Field(2.0, gt=0, le=4)
    """Power falls with the frequency to this power."""
    deviation: float = Field(0.5, gt=0, le=1)
    """Standard deviation of a pixel, on images in [−1, 1]."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision; float64 gives the same images on every processor."""

    def build(self) -> Denoiser:
        """The denoiser."""
        return Spectral(self)


class Spectral:
    """Weights each frequency by how much of it is signal, √ᾱ S / (ᾱ S + 1 − ᾱ), with S the power of clean images."""

    def __init__(self, options: Plugin) -> None:
        import torch

        betas = torch.linspace(1e-4, 0.02, _STEPS, dtype=torch.float64)
        self.alphas_cumprod = torch.cumprod(1 - betas, 0)
        self.image_size, self.classes = options.image_size, 0
        self.device, self.dtype = torch.device("cpu"), getattr(torch, options.dtype)
        axes = torch.tensor(_OPPONENT, dtype=self.dtype)
        self._axes = axes / axes.norm(dim=1, keepdim=True)
        self._power = self._spectrum(options).to(self.dtype)

    def predict(self, noisy: "Tensor", timesteps: "Tensor", labels: "Tensor | None" = None) -> Prediction:
        """ε from x̂_0 = E[x_0 | x_t]; the variance is not learned."""
        import torch

        assert labels is None, "it is conditional on no class"
        kept = self.alphas_cumprod[timesteps].to(self.dtype)[:, None, None, None]
        gain = kept.sqrt() * self._power / (kept * self._power + 1 - kept)
        waves = torch.fft.fft2(torch.einsum("ij,njhw->nihw", self._axes, noisy), norm="ortho")
        clean = torch.einsum("ij,nihw->njhw", self._axes, torch.fft.ifft2(waves * gain, norm="ortho").real)
        return Prediction((noisy - kept.sqrt() * clean) / (1 - kept).sqrt())

    def _spectrum(self, options: Plugin) -> "Tensor":
        """S by opponent color and frequency, (3, H, W); its mean is the variance of a pixel."""
        import torch

        size = options.image_size
        cycles = torch.fft.fftfreq(size, dtype=torch.float64)
        frequency = (cycles[:, None] ** 2 + cycles[None, :] ** 2).sqrt().clamp(min=1 / size)
        power = frequency**-options.exponent
        shares = 3 * torch.tensor(_SHARES, dtype=torch.float64)[:, None, None]
        spectrum: Tensor = shares * power / power.mean() * options.deviation**2
        return spectrum
