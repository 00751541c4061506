"""Trains the diffusion editor on pairs of scenes that differ in one edit.

x̂_0-prediction with half of the timesteps near T: there only the prompt tells the color, so it is not ignored.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cfeval_testbed.agents.crops import Box, Floats, Mask, box_around, halve, light_of
from cfeval_testbed.agents.painter import DiffusionPainter, background_prompt, object_prompt
from cfeval_testbed.items import EDIT_WEIGHTS, sample_edit
from cfeval_testbed.models.editor import TIMESTEPS, WINDOW, EditorNetwork, alpha_bars, condition_planes, encode_prompts
from cfeval_testbed.records import POSITIONS, EditIntent, Scene
from cfeval_testbed.render import coverage, render_many
from cfeval_testbed.scenes import apply, sample_scene
from cfeval_testbed.training.common import (
    Descent,
    Figures,
    History,
    StateDict,
    follow,
    for_inference,
    half_precision,
    parameter_count,
    seed_everything,
    share,
)
from cfeval_testbed.training.networks import editor as networks

_BATCH = 48
_AVERAGE = 0.995


@dataclass(frozen=True)
class Example:
    """One window before and after an edit, and what the network may see; arrays (32, 32, …), images in [-1, 1]."""

    source: Floats
    target: Floats
    mask: Floats
    silhouette: Floats
    light: Floats
    prompt: str


def train(seed: int, steps: int) -> tuple[StateDict, Figures]:
    """Trains on freshly drawn edits; the weights kept are a running average of all steps."""
    rng = seed_everything(seed)
    network = networks.EditorNetwork().train()
    average = {name: value.clone() for name, value in network.state_dict().items()}
    descent = Descent(network.parameters(), 2e-3, steps, decay=1e-3)
    history = History(50)
    for step in range(1, steps + 1):
        loss = _loss(network, draw_examples(_BATCH, rng))
        descent.step(loss)
        history.add(step, loss.item())
        follow(average, network.state_dict(), min(_AVERAGE, step / (step + 9)))
    network.load_state_dict(average)
    weights = half_precision(network)
    figures: Figures = {"parameters": parameter_count(network), "steps": steps, "seed": seed, "history": history.rows}
    return weights, figures | {"held_out": measure(EditorNetwork(for_inference(weights)), seed + 1)}


def _loss(network: networks.EditorNetwork, examples: Sequence[Example]) -> Tensor:
    """Squared error inside the mask, per painted pixel."""
    source = np.stack([one.source for one in examples])
    masks, silhouettes, lights = (
        np.stack([getattr(one, name) for one in examples])[..., None] for name in ("mask", "silhouette", "light")
    )
    condition = _to_tensor(condition_planes(source, masks, silhouettes, lights))
    target, mask = _to_tensor(np.stack([one.target for one in examples])), _to_tensor(masks)
    timesteps = _draw_timesteps(len(examples))
    kept = torch.from_numpy(alpha_bars())[timesteps].float()[:, None, None, None]
    noisy = kept.sqrt() * target + (1 - kept).sqrt() * torch.randn(target.shape)
    prompts = encode_prompts([one.prompt for one in examples])
    clean = network(noisy, condition, timesteps, torch.from_numpy(prompts))
    error = ((clean - target) ** 2 * mask).sum((1, 2, 3))
    per_window: Tensor = error / (3 * mask.sum((1, 2, 3))).clamp(min=50)
    return per_window.mean()


def _draw_timesteps(count: int) -> Tensor:
    """Half within 60 steps of T, half over all steps with more of the late ones."""
    late = TIMESTEPS - 1 - (60 * torch.rand(count) ** 2).long()
    spread = (TIMESTEPS * torch.rand(count).sqrt()).long().clamp(max=TIMESTEPS - 1)
    return torch.where(torch.rand(count) < 0.5, late, spread)


def _to_tensor(windows: Floats) -> Tensor:
    """(N, 32, 32, channels) to float32 (N, channels, 32, 32)."""
    return torch.from_numpy(windows).permute(0, 3, 1, 2).float()


def draw_examples(count: int, rng: random.Random) -> list[Example]:
    """Windows of freshly drawn edits."""
    scenes = [sample_scene(rng) for _ in range(count)]
    intents = [sample_edit(scene, rng) for scene in scenes]
    edited = [apply(scene, intent) for scene, intent in zip(scenes, intents, strict=True)]
    before, after = render_many(scenes) / 255.0, render_many(edited) / 255.0
    covered = coverage(scenes)
    return [
        _background_example(before[row], after[row], covered[row], intent, rng)
        if intent.kind == "background"
        else _object_example(before[row], after[row], covered[row], edited[row], intent, rng)
        for row, intent in enumerate(intents)
    ]


def _object_example(
    before: Floats, after: Floats, covered: Floats, edited: Scene, intent: EditIntent, rng: random.Random
) -> Example:
    place = POSITIONS.index(intent.target.position or POSITIONS[0])
    outline = _roughened(covered[place], rng)
    first, second, third, fourth = (rng.randint(-1, 1) for _ in range(4))
    box = box_around(outline, (first, second, third, fourth)) or Box(0, WINDOW, 0, WINDOW)
    slot = edited.slots[place]
    prompt = object_prompt(slot.size, slot.color, slot.shape) if slot.present else "nothing"
    row, column = box.window()
    row, column = (min(max(start + rng.randint(-1, 1), 0), 64 - WINDOW) for start in (row, column))
    cut = np.s_[row : row + WINDOW, column : column + WINDOW]
    mask = box.mask()[cut].astype(float)
    silhouette = outline[cut].astype(float)
    return Example(before[cut] * 2 - 1, after[cut] * 2 - 1, mask, silhouette, np.zeros_like(mask), prompt)


def _roughened(covered: Floats, rng: random.Random) -> Mask:
    """The outline as a segmenter may see it: cut at some level, at times shifted by a pixel."""
    outline: Mask = covered > rng.choice((0.2, 0.5, 0.5, 0.5, 0.8))
    if rng.random() < 0.2:
        outline = np.roll(outline, (rng.randint(-1, 1), rng.randint(-1, 1)), (0, 1))
    return outline


def _background_example(
    before: Floats, after: Floats, covered: Floats, intent: EditIntent, rng: random.Random
) -> Example:
    ground = 1 - covered.max(0)
    if rng.random() < 0.5:
        ground = (ground > 0.5).astype(float)
    light = halve(light_of(before, ground))
    mask = (halve(ground) > 0.98).astype(float)
    return Example(
        halve(before) * 2 - 1, halve(after) * 2 - 1, mask, np.zeros_like(mask), light, background_prompt(intent.new)
    )


def measure(network: EditorNetwork, seed: int, count: int = 300) -> dict[str, float]:
    """Shares of whole edits (located, painted, checked by reader B and pixel by pixel) right, by kind."""
    from cfeval_testbed.agents.scene_reader import SceneReader

    rng = random.Random(seed)
    scenes = [sample_scene(rng) for _ in range(count)]
    intents = [sample_edit(scene, rng) for scene in scenes]
    images = list(render_many(scenes))
    painter = DiffusionPainter(network=network)
    painted = painter.edit(images, intents, list(range(count)))
    done = [result.image if result.image is not None else image for result, image in zip(painted, images, strict=True)]
    checks = SceneReader().check(images, done, intents, [result.mask for result in painted])
    right = [good and result.failure is None for good, result in zip(checks, painted, strict=True)]
    figures = {"edits": share(right)}
    for kind in EDIT_WEIGHTS:
        figures[f"edits_{kind}"] = share(hit for hit, intent in zip(right, intents, strict=True) if intent.kind == kind)
    return figures
