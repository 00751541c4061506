"""Noise schedules: ᾱ of the training steps, in float64."""

import math
from typing import TYPE_CHECKING, Any, Literal

from cfeval.errors import BackendError

if TYPE_CHECKING:
    from torch import Tensor

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
