"""A UNet of diffusers as a denoiser: what it predicts, whatever that is, turned into noise."""

from typing import Any, Literal

import torch
from torch import Tensor

from cfeval.backends.denoisers.base import Prediction
from cfeval.errors import BackendError

Target = Literal["epsilon", "v_prediction", "sample"]
"""What a network was trained to predict, by diffusers' names."""


class UNetDenoiser:
    """See `cfeval.backends.denoisers.base.Denoiser`.

    Args:
        unet: a UNet2DModel, or a UNet2DConditionModel that looks at no text, on its device; it is frozen here.
        alphas_cumprod: ᾱ, (T,), float64.
        image_size: what it was trained at.
        classes: how many labels it is conditional on, 0 for none.
        target: what it predicts.
    """

    def __init__(
        self, unet: Any, alphas_cumprod: Tensor, image_size: int, classes: int = 0, target: Target = "epsilon"
    ) -> None:
        self.unet = unet.eval().requires_grad_(False)
        self.alphas_cumprod = alphas_cumprod
        self.image_size, self.classes = image_size, classes
        self.device, self.dtype, self._precision = unet.device, torch.float32, unet.conv_in.weight.dtype
        quick = unet.conv_in.weight.is_contiguous(memory_format=torch.channels_last)
        self._layout = torch.channels_last if quick else torch.preserve_format
        self._target = target
        self._learned = unet.config.out_channels == 2 * unet.config.in_channels
        self._textless = {"encoder_hidden_states": None} if type(unet).__name__ == "UNet2DConditionModel" else {}
        signal = alphas_cumprod.sqrt(), (1 - alphas_cumprod).sqrt()
        self._signal, self._noise = (root.float().to(self.device) for root in signal)

    def predict(self, noisy: Tensor, timesteps: Tensor, labels: Tensor | None = None) -> Prediction:
        """See `Denoiser.predict`.

        Raises:
            BackendError: it is conditional, and there are no labels.
        """
        if self.classes and labels is None:
            raise BackendError(f"the denoiser is conditional on {self.classes} classes and was given none of them")
        told = {"class_labels": labels, **self._textless} if self.classes else self._textless
        given = noisy.to(self._precision, memory_format=self._layout)
        (said,) = self.unet(given, timesteps, return_dict=False, **told)
        if not self._learned:
            return Prediction(self._as_noise(said.float(), noisy, timesteps))
        mean, variance = said.float().chunk(2, dim=1)
        return Prediction(self._as_noise(mean, noisy, timesteps), variance)

    def _as_noise(self, said: Tensor, noisy: Tensor, timesteps: Tensor) -> Tensor:
        """ε from ε itself, from v = √ᾱ ε − √(1−ᾱ) x_0 (Salimans & Ho 2022, Appendix D), or from x_0."""
        if self._target == "epsilon":
            return said
        shape = (-1, 1, 1, 1)
        signal, noise = self._signal[timesteps].view(shape), self._noise[timesteps].view(shape)
        if self._target == "v_prediction":
            return signal * said + noise * noisy
        return (noisy - signal * said) / noise
