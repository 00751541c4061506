"""Trains the locator's phrase matcher and segmenter on top of reader A, which stays as it is."""

import random

import torch
from torch import Tensor
from torch.nn import functional

from cfeval_testbed.models.locator import NOT_FOUND, Sight, encode_phrases
from cfeval_testbed.records import COLORS, POSITIONS, SHAPES, Referent, Scene
from cfeval_testbed.render import coverage, render_many
from cfeval_testbed.scenes import resolve, sample_scene
from cfeval_testbed.training.common import (
    Descent,
    Figures,
    History,
    StateDict,
    half_precision,
    parameter_count,
    seed_everything,
    shipped,
    to_tensor,
)
from cfeval_testbed.training.networks.locator import Locator
from cfeval_testbed.training.reader import augment

_BATCH = 48
_PHRASES = 4


def train(seed: int, steps: int) -> tuple[StateDict, Figures]:
    """Trains on phrases that point at one object or at none, and measures both on held-out scenes."""
    rng = seed_everything(seed)
    locator = Locator()
    locator.reader.load_state_dict(shipped("reader-a"), strict=False)
    locator.train().reader.eval().requires_grad_(False)
    descent = Descent(locator.parameters(), 3e-3, steps)
    history = History(100)
    for step in range(1, steps + 1):
        scenes = [sample_scene(rng, 0, 4) for _ in range(_BATCH)]
        images, phrases, choices = _batch(scenes, rng, augmented=True)
        loss = _loss(locator(images, phrases), choices, _foreground(scenes))
        descent.step(loss)
        history.add(step, loss.item())
    weights = half_precision(locator)
    figures: Figures = {"parameters": parameter_count(locator), "steps": steps, "seed": seed, "history": history.rows}
    return weights, figures | {"held_out": measure(locator, seed + 1)}


def draw_phrase(scene: Scene, rng: random.Random) -> tuple[Referent, int]:
    """A phrase and the quadrant of the one object it fits, or `NOT_FOUND`."""
    while True:
        referent = _some_referent(scene, rng)
        places = resolve(scene, referent)
        if len(places) < 2:
            return referent, places[0] if places else NOT_FOUND


def _some_referent(scene: Scene, rng: random.Random) -> Referent:
    """Usually attributes of an object that is there, sometimes any attributes."""
    place = rng.randrange(4)
    slot = scene.slots[place]
    if rng.random() < 0.3:
        slot = slot.model_copy(update={"color": rng.choice(COLORS), "shape": rng.choice(SHAPES)})
    keep = [rng.random() < share for share in (0.2, 0.5, 0.6, 0.5)]
    return Referent(
        size=slot.size if keep[0] else None,
        color=slot.color if keep[1] else None,
        shape=slot.shape if keep[2] else None,
        position=POSITIONS[place] if keep[3] or not any(keep) else None,
    )


def _batch(scenes: list[Scene], rng: random.Random, augmented: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Images, phrases and choices, several phrases a scene."""
    drawn = [draw_phrase(scene, rng) for scene in scenes for _ in range(_PHRASES)]
    images = to_tensor(render_many(scenes))
    images = augment(images, "a", rng) if augmented else images
    phrases = torch.from_numpy(encode_phrases([referent for referent, _ in drawn]))
    return images, phrases, torch.tensor([choice for _, choice in drawn])


def _foreground(scenes: list[Scene]) -> Tensor:
    return torch.from_numpy(coverage(scenes)).amax(1).float()


def _loss(sight: Sight[Tensor], choices: Tensor, foreground: Tensor) -> Tensor:
    pixels = functional.binary_cross_entropy_with_logits(sight.foreground, foreground)
    return functional.cross_entropy(sight.choice, choices) + 4 * pixels


@torch.no_grad()
def measure(locator: Locator, seed: int, count: int = 500) -> dict[str, float]:
    """Share of phrases resolved rightly (also: of those that fit nothing), and mean IoU of the foreground."""
    rng = random.Random(seed)
    scenes = [sample_scene(rng, 1, 4) for _ in range(count)]
    images, phrases, choices = _batch(scenes, rng, augmented=False)
    sight = locator.eval()(images, phrases)
    right = sight.choice.argmax(1) == choices
    mask, truth = sight.foreground > 0, _foreground(scenes) > 0.5
    overlap = (mask & truth).sum((1, 2)) / (mask | truth).sum((1, 2)).clamp(min=1)
    return {
        "phrases": round(right.float().mean().item(), 4),
        "phrases_that_fit_nothing": round(right[choices == NOT_FOUND].float().mean().item(), 4),
        "mean_iou": round(overlap.mean().item(), 4),
    }
