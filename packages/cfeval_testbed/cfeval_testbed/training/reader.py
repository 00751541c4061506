"""Trains the two scene readers: A, from which the other networks start, and B, which only ever judges edits.

They differ in seed, width and augmentation, so that an edit made with A's features is judged by other eyes.
"""

import random
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from cfeval_testbed.models.vision import SlotLogits
from cfeval_testbed.render import render_many
from cfeval_testbed.scenes import sample_scene
from cfeval_testbed.training.common import (
    Descent,
    Figures,
    History,
    StateDict,
    half_precision,
    parameter_count,
    seed_everything,
    slot_loss,
    slot_targets,
    to_tensor,
)
from cfeval_testbed.training.networks.vision import SceneReader

Variant = Literal["a", "b"]
_BATCH = 64


def build(variant: Variant) -> SceneReader:
    """An untrained reader; B is narrower in its slots and wider in its features."""
    return SceneReader(128, 96) if variant == "a" else SceneReader(144, 80)


def train(variant: Variant, seed: int, steps: int) -> tuple[StateDict, Figures]:
    """Trains one reader on freshly drawn scenes and measures it on scenes that it has not seen."""
    rng = seed_everything(seed)
    reader = build(variant).train()
    descent = Descent(reader.parameters(), 3e-3, steps)
    history = History(100)
    for step in range(1, steps + 1):
        scenes = [sample_scene(rng, 0, 4) for _ in range(_BATCH)]
        images = augment(to_tensor(render_many(scenes)), variant, rng)
        loss = slot_loss(reader(images), slot_targets(scenes))
        descent.step(loss)
        history.add(step, loss.item())
    weights = half_precision(reader)
    figures: Figures = {"parameters": parameter_count(reader), "steps": steps, "seed": seed, "history": history.rows}
    return weights, figures | {"held_out": measure(reader, seed + 1)}


def augment(images: Tensor, variant: Variant, rng: random.Random) -> Tensor:
    """Softens and disturbs some batches, in a way of each variant's own, so that painted edits look familiar."""
    noise = torch.randn(images.shape)
    if variant == "a":
        if rng.random() < 0.5:
            images = 0.5 * images + 0.5 * _blur(images)
        return (images + noise * rng.choice((0, 0.02, 0.04))).clamp(0, 1)
    gain = 1 + 0.16 * (torch.rand(len(images), 1, 1, 1) - 0.5)
    strength = rng.choice((0.0, 0.0, 0.3, 0.6))
    shifted = torch.roll(images, (rng.randint(-1, 1), rng.randint(-1, 1)), (2, 3))
    return ((1 - strength) * shifted * gain + strength * _blur(shifted * gain) + 0.015 * noise).clamp(0, 1)


def _blur(images: Tensor) -> Tensor:
    return functional.avg_pool2d(functional.pad(images, (1, 1, 1, 1), mode="replicate"), 3, 1)


@torch.no_grad()
def measure(reader: SceneReader, seed: int, count: int = 2000) -> dict[str, float]:
    """Shares of objects read without a mistake, of quadrants, and of whole scenes, on clean held-out scenes."""
    rng = random.Random(seed)
    scenes = [sample_scene(rng, 0, 4) for _ in range(count)]
    reader.eval()
    logits = reader(to_tensor(render_many(scenes)))
    targets = slot_targets(scenes)
    present = targets["presence"] > 0.5
    right = correct_slots(logits, targets)
    background = logits.background.argmax(-1) == targets["background"]
    return {
        "objects": round(right[present].float().mean().item(), 4),
        "quadrants": round(right.float().mean().item(), 4),
        "backgrounds": round(background.float().mean().item(), 4),
        "scenes": round((right.all(1) & background).float().mean().item(), 4),
    }


def correct_slots(logits: SlotLogits[Tensor], targets: dict[str, Tensor]) -> Tensor:
    """Bool (N, 4): presence is right and, where an object is, so are its shape, color and size."""
    present = targets["presence"] > 0.5
    same = torch.ones_like(present)
    for name in ("shape", "color", "size"):
        same &= getattr(logits, name).argmax(-1) == targets[name]
    return ((logits.presence > 0) == present) & (same | ~present)
