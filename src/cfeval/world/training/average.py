"""The running average of weights while they are trained."""

import torch

from cfeval.world.training.common import StateDict


def follow(average: StateDict, current: StateDict, keep: float) -> None:
    """Moves the average towards the current weights; `keep` is the share that stays."""
    with torch.no_grad():
        for name, value in average.items():
            if value.dtype.is_floating_point:
                value.mul_(keep).add_(current[name], alpha=1 - keep)
