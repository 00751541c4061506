"""What the denoiser says of the noisy images at one step, and gradients through it.

Variables and symbols: see the package. A gradient through the denoiser is Jᵀu, where J = ∂x̂₀/∂x_t and u is a gradient
with respect to x̂₀.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cfeval.diffusion.networks import Networks
from cfeval.diffusion.schedule import Schedule


@dataclass(frozen=True)
class Look:
    """The denoiser's word on one step: all without a graph, but for what `through` builds.

    `through(u…)` is Jᵀu for each of several u; it frees the graph, so it is called once.
    """

    noise: Tensor
    x0: Tensor
    mean: Tensor
    variance: Tensor
    log_variance: Tensor
    through: Callable[..., list[Tensor]]


def look(
    networks: Networks,
    schedule: Schedule,
    noisy: Tensor,
    index: int,
    labels: Tensor | None,
    clip: bool,
    graph: bool,
) -> Look:
    """Ask the denoiser about x_t; `graph` says that a gradient through it will be wanted."""
    keeps = graph and not networks.compute.checkpoint
    timestep = int(schedule.timesteps[index])

    def predict(images: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        said = networks.predict(images, timestep, labels)
        x0 = schedule.clean(images, said.noise, index)
        return (x0.clamp(-1, 1) if clip else x0), said.noise, said.variance

    with torch.set_grad_enabled(keeps):
        leaf = noisy.detach().requires_grad_(keeps)
        x0, noise, learned = predict(leaf)

    def through(*gradients: Tensor) -> list[Tensor]:
        if keeps:
            return pulled_back(x0, leaf, gradients)
        with torch.enable_grad():
            again = noisy.detach().requires_grad_()
            return pulled_back(predict(again)[0], again, gradients)

    learned = None if learned is None else learned.detach()
    mean = schedule.posterior_mean(x0.detach(), noisy, index)
    variance = schedule.variance(index, learned).to(noisy.device)
    log_variance = schedule.log_variance(index, learned).to(noisy.device)
    return Look(noise.detach(), x0.detach(), mean, variance, log_variance, through)


def pulled_back(x0: Tensor, noisy: Tensor, gradients: Sequence[Tensor]) -> list[Tensor]:
    """Jᵀu for each u, one backward pass after the other through the same graph, which the last one frees."""
    last = len(gradients) - 1
    return [
        torch.autograd.grad(x0, noisy, gradient, retain_graph=number < last)[0]
        for number, gradient in enumerate(gradients)
    ]


def pulled_back_at_once(x0: Tensor, noisy: Tensor, gradients: Sequence[Tensor]) -> list[Tensor]:
    """Jᵀu for each u, all in one vectorised backward pass."""
    stacked = torch.stack(list(gradients))
    return list(torch.autograd.grad(x0, noisy, stacked, is_grads_batched=True)[0])
