"""The spectral denoiser is the posterior mean of Gaussian images of its spectrum."""

import pytest
import torch

from cfeval.core import registry


@pytest.mark.slow
@pytest.mark.parametrize("step", [50, 300, 700])
def test_its_error_on_images_of_its_own_spectrum_is_the_least_there_can_be(step: int) -> None:
    denoiser = registry.build("denoisers", {"plugin": "spectral", "image_size": 32, "dtype": "float64"})
    draw = torch.Generator().manual_seed(1)
    white = torch.fft.fft2(torch.randn(400, 3, 32, 32, generator=draw, dtype=torch.float64), norm="ortho")
    colors = torch.fft.ifft2(white * denoiser._power.sqrt(), norm="ortho").real
    clean = torch.einsum("ij,nihw->njhw", denoiser._axes, colors)
    assert clean.var().item() == pytest.approx(0.25, rel=0.1), "a pixel's standard deviation is 0.5"
    kept = denoiser.alphas_cumprod[step]
    noisy = kept.sqrt() * clean + (1 - kept).sqrt() * torch.randn(clean.shape, generator=draw, dtype=torch.float64)
    noise = denoiser.predict(noisy, torch.full((400,), step)).noise
    found = (noisy - (1 - kept).sqrt() * noise) / kept.sqrt()
    power = denoiser._power
    least = (power * (1 - kept) / (kept * power + 1 - kept)).mean()
    assert (found - clean).square().mean().item() == pytest.approx(least.item(), rel=0.03)


def test_an_image_without_noise_stays_as_it_is() -> None:
    denoiser = registry.build("denoisers", {"plugin": "spectral", "image_size": 16})
    image = torch.linspace(-1, 1, 16).expand(1, 3, 16, 16)
    kept = float(denoiser.alphas_cumprod[0])
    noise = denoiser.predict(kept**0.5 * image, torch.zeros(1, dtype=torch.long)).noise
    assert noise.abs().max() < 1
