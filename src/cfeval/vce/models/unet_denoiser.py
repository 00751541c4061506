"""Networks of diffusers as denoisers, on pixels, on latents or on a bridge: what they predict is turned into noise.

Also where they compute and in which numbers, and ᾱ of their training steps.

Latents: Rombach et al. 2022, "High-Resolution Image Synthesis with Latent Diffusion Models"; LDCE (Farid et al. 2023)
takes such a model for counterfactuals: a classifier sees the decoded x̂_0, and its gradient goes back through decoder
and denoiser. A bridge: I2SB (Liu et al. 2023), trained to find the way from x_t to the image.
"""

import math
from typing import TYPE_CHECKING, Any, Literal

from cfeval.core.errors import PluginError
from cfeval.inference.local.devices import Dtype
from cfeval.vce.interfaces import Prediction

if TYPE_CHECKING:
    from torch import Generator, Tensor

Target = Literal["epsilon", "v_prediction", "sample"]
"""What a network was trained to predict, by diffusers' names."""
Schedule = Literal["linear", "cosine"]
"""guided-diffusion's noise schedules."""
SMALLER = "set dtype: float16, device: cpu, or take a larger machine"
"""What to do where the weights do not fit."""


class UNetDenoiser:
    """See `cfeval.vce.interfaces.Denoiser`.

    Args:
        unet: a UNet2DModel, or a UNet2DConditionModel that looks at no text, on its device; it is frozen here.
        alphas_cumprod: ᾱ, (T,), float64.
        image_size: what it was trained at.
        classes: how many labels it is conditional on, 0 for none.
        target: what it predicts.
    """

    no_class: int
    """Label of the empty prompt, of one that has it."""

    def __init__(
        self, unet: Any, alphas_cumprod: "Tensor", image_size: int, classes: int = 0, target: Target = "epsilon"
    ) -> None:
        import torch

        self.unet = unet.eval().requires_grad_(False)
        self.alphas_cumprod = alphas_cumprod
        self.image_size, self.classes = image_size, classes
        first = next(weight for weight in unet.parameters() if weight.ndim == 4)
        self.device, self.dtype, self._precision = unet.device, torch.float32, first.dtype
        quick = first.is_contiguous(memory_format=torch.channels_last)
        self._layout = torch.channels_last if quick else torch.preserve_format
        self.target = target
        self._learned = unet.config.out_channels == 2 * unet.config.in_channels
        self._textless = {"encoder_hidden_states": None} if type(unet).__name__ == "UNet2DConditionModel" else {}
        signal = alphas_cumprod.sqrt(), (1 - alphas_cumprod).sqrt()
        self._signal, self._noise = (root.float().to(self.device) for root in signal)

    def predict(self, noisy: "Tensor", timesteps: "Tensor", labels: "Tensor | None" = None) -> Prediction:
        """See `Denoiser.predict`.

        Raises:
            PluginError: it is conditional, and there are no labels.
        """
        if self.classes and labels is None:
            raise PluginError(f"the denoiser is conditional on {self.classes} classes and was given none of them")
        conditions = {"class_labels": labels, **self._textless} if self.classes else self._textless
        given = noisy.to(self._precision, memory_format=self._layout)
        (predicted,) = self.unet(given, timesteps, return_dict=False, **conditions)
        if not self._learned:
            return Prediction(self._as_noise(predicted.float(), noisy, timesteps))
        mean, variance = predicted.float().chunk(2, dim=1)
        return Prediction(self._as_noise(mean, noisy, timesteps), variance)

    def _as_noise(self, predicted: "Tensor", noisy: "Tensor", timesteps: "Tensor") -> "Tensor":
        """ε from ε itself, from v = √ᾱ ε − √(1−ᾱ) x_0 (Salimans & Ho 2022, Appendix D), or from x_0."""
        if self.target == "epsilon":
            return predicted
        shape = (-1, 1, 1, 1)
        signal, noise = self._signal[timesteps].view(shape), self._noise[timesteps].view(shape)
        if self.target == "v_prediction":
            return signal * predicted + noise * noisy
        return (noisy - signal * predicted) / noise


def dtype_on(device: str, wanted: Dtype) -> Dtype:
    """The type of a denoiser's numbers; auto is float16 on a GPU, as published, and float32 elsewhere."""
    if wanted != "auto":
        return wanted
    return "float16" if device.startswith("cuda") else "float32"


def placed(unet: Any, device: str, wanted: Dtype) -> Any:
    """A network on its device, in the type of its numbers; in bfloat16 on a processor, in the layout that is quick."""
    import torch

    from cfeval.vce.models.unet_norm import quicken

    dtype = dtype_on(device, wanted)
    # The module's own `to`: that of diffusers warns about every type
    there = torch.nn.Module.to(unet, device, getattr(torch, dtype))
    return quicken(there) if (device, dtype) == ("cpu", "bfloat16") else there


def alphas_cumprod(schedule: Schedule, steps: int) -> "Tensor":
    """ᾱ of guided-diffusion's schedules, (steps,).

    linear: β from 0.1/steps to 20/steps (Ho et al. 2020, Section 4, for 1000 steps). cosine: β from the ratio of
    squared cosines, at most 0.999 (Nichol & Dhariwal 2021, Equation 17).
    """
    import torch

    if schedule == "linear":
        betas = torch.linspace(0.1 / steps, 20 / steps, steps, dtype=torch.float64)
    else:
        share = torch.arange(steps + 1, dtype=torch.float64) / steps
        level = torch.cos((share + 0.008) / 1.008 * math.pi / 2) ** 2
        betas = (1 - level[1:] / level[:-1]).clamp(max=0.999)
    return torch.cumprod(1 - betas, 0)


def of_scheduler(scheduler: Any, model: str) -> "Tensor":
    """ᾱ of a scheduler of diffusers, (T,).

    Raises:
        PluginError: its noise is of another kind (flow matching, variance exploding).
    """
    import torch

    betas = getattr(scheduler, "betas", None)
    if not isinstance(betas, torch.Tensor):
        raise PluginError(
            f"model '{model}': the scheduler {type(scheduler).__name__} has no betas; a variance-preserving one is "
            "needed, such as DDPMScheduler"
        )
    return torch.cumprod(1 - betas.double(), 0)


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
