"""A UNet of diffusers as a denoiser: what it predicts, whatever that is, turned into noise.

Where a denoiser of this machine computes, and in which numbers.

Noise schedules: ᾱ of the training steps, in float64.

Group normalisation of images whose channels lie side by side in memory (`torch.channels_last`), on a processor.

Convolutions in bfloat16 want that layout, and torch's own group normalisation is slow in it: its pass back takes more
than half of a UNet's time, and its way forward three times as long as it need where images are small. Here each pass
over the image is one plain operation. Weights are frozen and float32: no gradient is theirs.
"""

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn

from cfeval.core.errors import BackendError
from cfeval.inference.local.devices import Dtype
from cfeval.vce.interfaces import Prediction

Target = Literal["epsilon", "v_prediction", "sample"]
"""What a network was trained to predict, by diffusers' names."""


class UNetDenoiser:
    """See `cfeval.vce.interfaces.Denoiser`.

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


SMALLER = "set dtype: float16, device: cpu, or take a larger machine"
"""What to do where the weights do not fit."""


def dtype_on(device: str, wanted: Dtype) -> Dtype:
    """The type of a denoiser's numbers; auto is float16 on a GPU, as published, and float32 elsewhere."""
    if wanted != "auto":
        return wanted
    return "float16" if device.startswith("cuda") else "float32"


def placed(unet: Any, device: str, wanted: Dtype) -> Any:
    """A network on its device, in the type of its numbers; in bfloat16 on a processor, in the layout that is quick."""
    import torch

    dtype = dtype_on(device, wanted)
    # The module's own `to`: that of diffusers warns about every type
    there = torch.nn.Module.to(unet, device, getattr(torch, dtype))
    return quicken(there) if (device, dtype) == ("cpu", "bfloat16") else there


Schedule = Literal["linear", "cosine"]


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
        BackendError: its noise is of another kind (flow matching, variance exploding).
    """
    import torch

    betas = getattr(scheduler, "betas", None)
    if not isinstance(betas, torch.Tensor):
        raise BackendError(
            f"model '{model}': the scheduler {type(scheduler).__name__} has no betas; a variance-preserving one is "
            "needed, such as DDPMScheduler"
        )
    return torch.cumprod(1 - betas.double(), 0)


LARGE = 1024
"""Places (height × width) from which on torch's own way forward is quick, and is taken."""


class ChannelsLastNorm(nn.GroupNorm):
    """GroupNorm, by its own way for images in channels-last order and by torch's for all else."""

    def forward(self, images: Tensor) -> Tensor:
        """Normalise (N, C, H, W) or (N, C, L)."""
        if images.ndim != 4 or not images.is_contiguous(memory_format=torch.channels_last):
            return super().forward(images)
        made: Tensor = _Norm.apply(images, self.weight, self.bias, self.num_groups, self.eps)
        return made


def quicken(network: Any) -> Any:
    """Give a frozen network this group normalisation, its convolutions the layout that goes with it, plain attention.

    Plain attention, for torch's fused one takes twice as long back in bfloat16 at the few places of these UNets.
    """
    from diffusers.models.attention_processor import Attention, AttnProcessor

    for module in network.modules():
        if type(module) is nn.GroupNorm:
            module.__class__ = ChannelsLastNorm
            nn.Module.float(module)
        elif isinstance(module, Attention):
            module.set_processor(AttnProcessor())
    return nn.Module.to(network, memory_format=torch.channels_last)


class _Norm(torch.autograd.Function):
    """y = a·x + b for each image and channel, where a and b follow from mean and variance of the channel's group."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, groups: int, eps: float) -> Tensor:
        count, channels, places = x.shape[0], x.shape[1], x.shape[2] * x.shape[3]
        if places >= LARGE:
            made, mean, inverse = torch.native_group_norm(x, weight, bias, count, channels, places, groups, eps)
            ctx.save_for_backward(x, mean, inverse, weight)
            return made
        size = channels // groups * places
        mean = _grouped(_total(x), groups) / size
        variance = (_grouped(_total(x * x), groups) / size - mean.square()).clamp(min=0)
        inverse = (variance + eps).rsqrt()
        scale = _spread(inverse, x) * weight
        shift = bias - _spread(mean, x) * scale
        ctx.save_for_backward(x, mean, inverse, weight)
        return torch.addcmul(_plane(shift, x), x, _plane(scale, x))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, mean, inverse, weight = ctx.saved_tensors
        gradient = gradients[0].contiguous(memory_format=torch.channels_last)
        groups = mean.shape[1]
        size = x.shape[1] // groups * x.shape[2] * x.shape[3]
        of_mean = _grouped(_total(gradient) * weight, groups) / size
        of_product = _grouped(_total(gradient * x) * weight, groups) / size
        slope = -inverse.pow(3) * (of_product - mean * of_mean)
        level = -inverse * of_mean - mean * slope
        scale = _spread(inverse, x) * weight
        back = torch.addcmul(_plane(_spread(level, x), x), x, _plane(_spread(slope, x), x))
        return back.addcmul_(gradient, _plane(scale, x)), None, None, None, None


def _total(x: Tensor) -> Tensor:
    """The sum over each channel, (N, C) in float32; columns first in the type of x, each rounded once."""
    count, channels, height, width = x.shape
    rows = x.permute(0, 2, 3, 1).reshape(count, height, width * channels)  # as it lies in memory: sums are quick
    return rows.sum(1).view(count, width, channels).float().sum(1)


def _grouped(values: Tensor, groups: int) -> Tensor:
    """Sums over the channels of a group, (N, groups)."""
    return values.view(len(values), groups, -1).sum(2)


def _spread(values: Tensor, x: Tensor) -> Tensor:
    """A group's value at each of its channels, (N, C)."""
    return values.repeat_interleave(x.shape[1] // values.shape[1], dim=1)


def _plane(values: Tensor, x: Tensor) -> Tensor:
    return values.to(x.dtype)[:, :, None, None]
