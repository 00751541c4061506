"""A denoiser of latents: a network of diffusers, and the autoencoder between latents and images.

Rombach et al. 2022, "High-Resolution Image Synthesis with Latent Diffusion Models"; LDCE (Farid et al. 2023) takes one
for counterfactuals: a classifier sees the decoded x̂_0, and its gradient goes back through decoder and denoiser.
"""

from typing import TYPE_CHECKING, Any

from cfeval.vce.interfaces import Prediction
from cfeval.vce.models.unet_denoiser import Target, UNetDenoiser

if TYPE_CHECKING:
    from torch import Generator, Tensor

AUTOENCODERS = ("AutoencoderKL", "VQModel")
"""The autoencoders of diffusers that serve: with Gaussian latents, and with a codebook."""


class LatentDenoiser(UNetDenoiser):
    """See `cfeval.vce.interfaces.Denoiser` and `Autoencoder`; `image_size` is that of images, not of latents.

    Args:
        network: a UNet2DModel or DiTTransformer2DModel of latents, on its device; it is frozen here.
        autoencoder: an AutoencoderKL or VQModel; it computes in float32, because half precision overflows in some.
        alphas_cumprod: ᾱ, (T,), float64.
        classes: how many labels it is conditional on, 0 for none.
        target: what it predicts.
    """

    def __init__(
        self, network: Any, autoencoder: Any, alphas_cumprod: "Tensor", classes: int = 0, target: Target = "epsilon"
    ) -> None:
        shrinks = 2 ** (len(autoencoder.config.block_out_channels) - 1)
        super().__init__(network, alphas_cumprod, network.config.sample_size * shrinks, classes, target)
        self.autoencoder = autoencoder.eval().float().to(self.device).requires_grad_(False)
        self._scale = autoencoder.config.scaling_factor
        self._shift = getattr(autoencoder.config, "shift_factor", None) or 0.0

    def encode(self, images: "Tensor") -> "Tensor":
        """See `Autoencoder.encode`; of Gaussian latents the mode, so that no noise comes in."""
        encoded = self.autoencoder.encode(images)
        latents = encoded.latents if hasattr(encoded, "latents") else encoded.latent_dist.mode()
        scaled: Tensor = (latents - self._shift) * self._scale
        return scaled

    def encode_drawn(self, images: "Tensor", generator: "Generator") -> "Tensor":
        """Latents as they are trained on: of Gaussian ones a draw, of a codebook the nearest."""
        import torch

        encoded = self.autoencoder.encode(images)
        if hasattr(encoded, "latents"):
            drawn = encoded.latents
        else:
            spread = encoded.latent_dist
            drawn = spread.mean + spread.std * torch.randn(spread.mean.shape, generator=generator).to(spread.mean)
        scaled: Tensor = (drawn - self._shift) * self._scale
        return scaled

    def decode(self, latents: "Tensor") -> "Tensor":
        """See `Autoencoder.decode`; past a codebook the gradient goes straight through."""
        images: Tensor = self.autoencoder.decode(latents / self._scale + self._shift).sample
        return images


class PromptedDenoiser(LatentDenoiser):
    """A denoiser of latents that is told texts; see `cfeval.vce.interfaces.Prompted`. Its network is a PromptedUNet."""

    def text(self, labels: "Tensor") -> "Tensor":
        """See `Prompted.text`."""
        states: Tensor = self.unet.states(labels)
        return states

    def predict_under(self, noisy: "Tensor", timesteps: "Tensor", text: "Tensor") -> Prediction:
        """See `Prompted.predict_under`."""
        given = noisy.to(self._precision, memory_format=self._layout)
        (predicted,) = self.unet.unet(
            given, timesteps, encoder_hidden_states=text.to(self._precision), return_dict=False
        )
        return Prediction(self._as_noise(predicted.float(), noisy, timesteps))
