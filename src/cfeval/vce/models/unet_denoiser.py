"""A UNet of diffusers as a denoiser: what it predicts, whatever that is, turned into noise.

Also where it computes and in which numbers, and ᾱ of its training steps.
"""

import math
from typing import TYPE_CHECKING, Any, Literal

from cfeval.core.errors import PluginError
from cfeval.inference.local.devices import Dtype
from cfeval.vce.interfaces import Prediction

if TYPE_CHECKING:
    from torch import Tensor

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
