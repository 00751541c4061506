"""What the trainings share: seeds, the optimiser, the scene loss, rounding to half precision.

The running average of weights while they are trained.
"""

import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from cfeval_testbed.models.layers import Weights
from cfeval_testbed.models.vision import SlotLogits
from cfeval_testbed.records import BACKGROUNDS, COLORS, SHAPES, SIZES, Scene
from cfeval_testbed.weights import load

StateDict: TypeAlias = dict[str, Tensor]
Figures: TypeAlias = dict[str, object]


def seed_everything(seed: int) -> random.Random:
    """One thread, deterministic kernels, torch seeded; the generator returned drives the data."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(seed)
    return random.Random(seed)


def to_tensor(images: npt.NDArray[np.uint8]) -> Tensor:
    """uint8 (N, 64, 64, 3) to float32 (N, 3, 64, 64) in [0, 1]."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous().float() / 255


class Descent:
    """AdamW with a one-cycle learning rate and clipped gradients."""

    def __init__(self, parameters: Iterable[nn.Parameter], rate: float, steps: int, decay: float = 0.01) -> None:
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self.optimizer = torch.optim.AdamW(self.parameters, rate, weight_decay=decay, betas=(0.9, 0.98))
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, rate, total_steps=steps, pct_start=0.1)

    def step(self, loss: Tensor) -> None:
        """One update that lowers `loss`."""
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.schedule.step()


class History:
    """Mean losses over stretches of training; also a line on stderr for each."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.rows: list[dict[str, float]] = []
        self._losses: list[float] = []

    def add(self, step: int, loss: float) -> None:
        """Notes the loss of one step (from 1)."""
        self._losses.append(loss)
        if step % self.every == 0:
            self.rows.append({"step": step, "loss": round(sum(self._losses) / len(self._losses), 4)})
            print(self.rows[-1], file=sys.stderr, flush=True)
            self._losses = []


def slot_targets(scenes: Sequence[Scene]) -> dict[str, Tensor]:
    """Class indices (N, 4) of shape, color and size, presence as float (N, 4), background (N)."""
    return {
        "presence": torch.tensor([[float(slot.present) for slot in scene.slots] for scene in scenes]),
        "shape": torch.tensor([[SHAPES.index(slot.shape) for slot in scene.slots] for scene in scenes]),
        "color": torch.tensor([[COLORS.index(slot.color) for slot in scene.slots] for scene in scenes]),
        "size": torch.tensor([[SIZES.index(slot.size) for slot in scene.slots] for scene in scenes]),
        "background": torch.tensor([BACKGROUNDS.index(scene.background) for scene in scenes]),
    }


def slot_loss(logits: SlotLogits[Tensor], targets: Mapping[str, Tensor]) -> Tensor:
    """Cross entropies of presence, background and, where an object is, its attributes."""
    presence = targets["presence"]
    loss = functional.binary_cross_entropy_with_logits(logits.presence, presence)
    loss = loss + functional.cross_entropy(logits.background, targets["background"])
    for name in ("shape", "color", "size"):
        attribute: Tensor = getattr(logits, name)
        entropy = functional.cross_entropy(attribute.flatten(0, 1), targets[name].flatten(), reduction="none")
        loss = loss + (entropy * presence.flatten()).sum() / presence.sum().clamp(min=1)
    return loss


def half_precision(module: nn.Module) -> StateDict:
    """The weights rounded to float16 (counters left out), and the module set to exactly these values."""
    rounded = {
        name: value.detach().half().contiguous()
        for name, value in module.state_dict().items()
        if value.dtype.is_floating_point
    }
    module.load_state_dict({name: value.float() for name, value in rounded.items()}, strict=False)
    return rounded


def shipped(name: str) -> StateDict:
    """The shipped weights of a network, in single precision, to start from."""
    return {key: torch.from_numpy(value).float() for key, value in load(name).items()}


def for_inference(weights: StateDict) -> Weights:
    """Weights as the networks of `cfeval_testbed.models` take them."""
    return Weights({name: value.numpy() for name, value in weights.items()})


def parameter_count(module: nn.Module) -> int:
    """How many numbers training set."""
    return sum(parameter.numel() for parameter in module.parameters())


def share(hits: Iterable[bool]) -> float:
    """The share of true values, rounded to 4 decimals."""
    values = list(hits)
    return round(sum(values) / max(1, len(values)), 4)


def follow(average: StateDict, current: StateDict, keep: float) -> None:
    """Moves the average towards the current weights; `keep` is the share that stays."""
    with torch.no_grad():
        for name, value in average.items():
            if value.dtype.is_floating_point:
                value.mul_(keep).add_(current[name], alpha=1 - keep)
