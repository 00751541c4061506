"""Class gradients stabilised over the steps by exponential means, for classifiers that were not trained on noise.

Variables and symbols: g_k is the class gradient with respect to x_t of the k-th step, from 1; m and v are the running
means of it and of its square, β₁ is `decay`. Sources: Vaeth et al. 2025, "Diffusion Classifier Guidance for Non-robust
Classifiers" (arXiv 2507.00687), as its code has it; Adam's form as in RCSB (Sobieski et al. 2025).
"""

from dataclasses import dataclass

from torch import Tensor

from cfeval.vce.method import Parts

SECOND_DECAY = 0.999
"""Adam's β₂."""
TINY = 1e-8
"""What Adam adds to the root, in RCSB's code."""


@dataclass(frozen=True)
class Past:
    """The running means before a step, (N, …) like the gradient; None at the first. `steps` were done before."""

    mean: Tensor | None = None
    square: Tensor | None = None
    steps: int = 0


def stabilized(parts: Parts, gradient: Tensor, past: Past) -> tuple[Tensor, Past]:
    """The gradient that counts at this step, and the past for the next one.

    `ema`: m ← β₁ m + (1 − β₁) g, which starts from 0 and is not corrected for it. `adam`: m̂ / (√v̂ + ε), m̂ and v̂ being
    corrected. `none`: the gradient as it is.
    """
    if parts.stabilization == "none":
        return gradient, past
    mean = _faded(past.mean, gradient, parts.decay)
    if parts.stabilization == "ema":
        return mean, Past(mean, None, past.steps + 1)
    square = _faded(past.square, gradient.square(), SECOND_DECAY)
    count = past.steps + 1
    corrected = square / (1 - SECOND_DECAY**count)
    return mean / (1 - parts.decay**count) / (corrected.sqrt() + TINY), Past(mean, square, count)


def _faded(before: Tensor | None, now: Tensor, decay: float) -> Tensor:
    return (1 - decay) * now if before is None else decay * before + (1 - decay) * now
