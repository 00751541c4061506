"""Trains the denoiser of cells: x̂_0-prediction, weighted by the signal-to-noise ratio between 0.02 and 5."""

import random

import torch
from torch import Tensor

from cfeval.testbed.models.cells import TIMESTEPS, CellDenoiser, alphas_cumprod
from cfeval.testbed.training.cell_classifier import draw, noised
from cfeval.testbed.training.common import (
    Descent,
    Figures,
    History,
    StateDict,
    follow,
    half_precision,
    parameter_count,
    seed_everything,
)

_BATCH = 64
_AVERAGE = 0.995


def train(seed: int, steps: int) -> tuple[StateDict, Figures]:
    """Trains on freshly drawn cells; the weights kept are a running average of all steps."""
    rng = seed_everything(seed)
    network = CellDenoiser().train()
    average = {name: value.clone() for name, value in network.state_dict().items()}
    descent = Descent(network.parameters(), 2e-3, steps, decay=1e-3)
    history = History(100)
    for step in range(1, steps + 1):
        loss = _loss(network, draw(_BATCH, rng)[0])
        descent.step(loss)
        history.add(step, loss.item())
        follow(average, network.state_dict(), min(_AVERAGE, step / (step + 9)))
    network.load_state_dict(average)
    weights = half_precision(network)
    figures: Figures = {"parameters": parameter_count(network), "steps": steps, "seed": seed, "history": history.rows}
    return weights, figures | {"held_out": measure(network, seed + 1)}


def _loss(network: CellDenoiser, cells: Tensor) -> Tensor:
    timesteps = torch.randint(0, TIMESTEPS, (len(cells),))
    kept = alphas_cumprod()[timesteps].float()
    weights = (kept / (1 - kept)).clamp(0.02, 5)[:, None, None, None]
    error: Tensor = (network(noised(cells, timesteps), timesteps) - cells) ** 2 * weights
    return error.mean()


@torch.no_grad()
def measure(network: CellDenoiser, seed: int, count: int = 500) -> dict[str, float]:
    """Root mean squared error of x̂_0 on held-out cells at timesteps 100, 250 and 400, in units of [−1, 1]."""
    torch.manual_seed(seed)
    network.eval()
    cells, _ = draw(count, random.Random(seed))
    figures = {}
    for timestep in (100, 250, 400):
        timesteps = torch.full((count,), timestep)
        error = (network(noised(cells, timesteps), timesteps) - cells).square().mean().sqrt()
        figures[f"error_at_{timestep}"] = round(error.item(), 4)
    return figures
