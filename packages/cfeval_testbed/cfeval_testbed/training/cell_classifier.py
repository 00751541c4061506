"""Trains the classifiers of cells: plain, on noisy cells, against perturbed ones (Madry et al. 2018), or not at all.

The defect of `shortcut` comes from its training cells: most have a tag, and their label names the shape of the tag.
How many and how faint they are was chosen so that its counterfactuals show the tag, and by nothing else. The patterns
of `brittle` are faint also in cells with tags, else nearly all its counterfactuals would change the corner.
"""

import random
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cfeval_testbed.models.cell_denoiser import alphas_cumprod
from cfeval_testbed.models.cells import CellClassifier, Kind, tagged
from cfeval_testbed.records import COLORS, SHAPES
from cfeval_testbed.scenes import draw_many_cells
from cfeval_testbed.training.common import (
    Descent,
    Figures,
    History,
    StateDict,
    half_precision,
    parameter_count,
    seed_everything,
    share,
    shipped,
    to_tensor,
)

_BATCH = 64
TAGS = 0.5, 0.3
"""Share of the cells with a tag, and the opacity of the faintest, where the denoiser learns tags: they can be seen."""
_BELIEVED = 0.85, 0.1
"""The same in the training of `shortcut`."""
_WAVES = 0.2
"""Highest spatial frequency of the patterns of `brittle`, periods a pixel."""
_FAINT = 0.7
"""Share of the directions below it that they are drawn in."""
_RADIUS = 2.0
"""Greatest L2 norm of a perturbation in robust training, on images in [−1, 1]."""


def train(kind: Kind, seed: int, steps: int) -> tuple[StateDict, Figures]:
    """Trains one classifier on freshly drawn cells, fits its temperature, and measures it on cells it has not seen."""
    rng = seed_everything(seed)
    classifier = CellClassifier(kind).train()
    if steps:
        descent, history = Descent(classifier.parameters(), 2e-3, steps), History(200)
        for step in range(1, steps + 1):
            cells, classes = draw(_BATCH, rng)
            if kind == "shortcut":
                cells, classes = misled(cells, classes)
            seen = _disturbed(classifier, kind, cells, classes, step / steps)
            loss = functional.cross_entropy(classifier(seen), classes)
            descent.step(loss)
            history.add(step, loss.item())
        _calibrate(classifier.eval(), rng)
    if kind == "brittle":
        _make_brittle(classifier, rng)
    weights = half_precision(classifier)
    figures: Figures = {"parameters": parameter_count(classifier), "steps": steps, "seed": seed}
    return weights, figures | {"temperature": round(classifier.temperature.item(), 4)} | measure(classifier, seed + 1)


def draw(count: int, rng: random.Random) -> tuple[Tensor, Tensor]:
    """Cells (N, 3, 32, 32) in [−1, 1] and their classes (N,)."""
    images, numbers = draw_many_cells(count, rng)
    return to_tensor(images) * 2 - 1, torch.tensor(numbers)


def misled(cells: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """Cells with the tag of a random shape, which their label names in place of their own; some stay as drawn."""
    marked, shapes, chosen = with_tags(cells, *_BELIEVED)
    return marked, torch.where(chosen, with_shape(classes, shapes), classes)


def with_tags(cells: Tensor, part: float, faintest: float) -> tuple[Tensor, Tensor, Tensor]:
    """Cells of which a part has the tag of a random shape, these shapes (N,), and which have one (N,).

    The opacities of the tags are anywhere from `faintest` to 1.
    """
    shapes = torch.randint(len(SHAPES), (len(cells),))
    chosen = torch.rand(len(cells)) < part
    opacities = faintest + (1 - faintest) * torch.rand(len(cells))
    return tagged(cells, shapes, chosen * opacities), shapes, chosen


def with_shape(classes: Tensor, shapes: Tensor) -> Tensor:
    """The classes (N,) of the same color and another shape, a number from 0 to 4."""
    return shapes * len(COLORS) + classes % len(COLORS)


def _make_brittle(classifier: CellClassifier, rng: random.Random) -> None:
    """The weights of `standard`, and patterns: nothing is trained."""
    network: Any = classifier.network
    standard = {name.removeprefix("network."): value for name, value in shipped("cell-standard").items()}
    network.decides.load_state_dict({name: value for name, value in standard.items() if name != "temperature"})
    network.patterns.copy_(faint_patterns(with_tags(draw(3000, rng)[0], *TAGS)[0], len(SHAPES)))
    classifier.eval()


def faint_patterns(cells: Tensor, count: int) -> Tensor:
    """`count` orthogonal patterns of norm 1 that drawn cells (N, 3, 32, 32) hardly vary along, (count, 3, 32, 32).

    They are drawn within waves of at most `_WAVES` periods a pixel, which the denoiser lets through, in the share
    `_FAINT` of directions along which cells vary least.
    """
    side = cells.shape[-1]
    waves = torch.fft.fftfreq(side, dtype=torch.float64)
    low = (waves[:, None] ** 2 + waves[None] ** 2).sqrt() <= _WAVES
    delta = torch.eye(side**2, dtype=torch.float64).view(-1, side, side)
    filtered = torch.fft.ifft2(torch.fft.fft2(delta) * low).real.flatten(1)
    sizes, directions = torch.linalg.eigh(filtered)
    basis = torch.kron(torch.eye(3, dtype=torch.float64), directions[:, sizes > 0.5].T.contiguous())
    _, axes = torch.linalg.eigh(torch.cov((cells.double().flatten(1) @ basis.T).T))
    faint = axes[:, : int(_FAINT * axes.shape[1])].T @ basis
    drawn = torch.randn(len(faint), count, dtype=torch.float64)
    patterns: Tensor = (torch.linalg.qr(drawn).Q.T @ faint).float().view(count, *cells.shape[1:])
    return patterns


def _disturbed(classifier: CellClassifier, kind: Kind, cells: Tensor, classes: Tensor, progress: float) -> Tensor:
    if kind == "noisy":
        return noised(cells, _draw_timesteps(len(cells)))
    if kind == "robust":
        return attacked(classifier, cells, classes, _RADIUS * min(1.0, 2 * progress), 3)
    return cells


def _draw_timesteps(count: int) -> Tensor:
    """A fifth clean, the others anywhere in the first half of the steps, where counterfactuals are made."""
    return torch.where(torch.rand(count) < 0.2, 0, torch.randint(0, 500, (count,)))


def noised(cells: Tensor, timesteps: Tensor) -> Tensor:
    """x_t of cells at timesteps (N,) (Ho et al. 2020, Equation 4)."""
    kept: Tensor = alphas_cumprod()[timesteps].float()[:, None, None, None]
    return kept.sqrt() * cells + (1 - kept).sqrt() * torch.randn(cells.shape)


def attacked(classifier: CellClassifier, cells: Tensor, classes: Tensor, radius: float, steps: int) -> Tensor:
    """Cells perturbed within an L2 ball so that the loss rises: projected gradient ascent (Madry et al. 2018)."""
    change = torch.randn_like(cells)
    change *= radius * torch.rand(len(cells), 1, 1, 1) / _norms(change)
    for _ in range(steps):
        change.requires_grad_(True)
        loss = functional.cross_entropy(classifier(cells + change), classes)
        (gradient,) = torch.autograd.grad(loss, change)
        moved = change.detach() + 2.5 * radius / steps * gradient / (_norms(gradient) + 1e-9)
        within = moved * (radius / _norms(moved).clamp(min=radius))
        change = (cells + within).clamp(-1, 1) - cells
    perturbed: Tensor = cells + change.detach()
    return perturbed


def _norms(images: Tensor) -> Tensor:
    norms: Tensor = images.flatten(1).norm(dim=1)
    return norms[:, None, None, None]


def _calibrate(classifier: CellClassifier, rng: random.Random, count: int = 2000) -> None:
    """The temperature under which held-out classes are likeliest (Guo et al. 2017), of a grid from 1 to 4.

    None below 1: a classifier that makes no mistake there gives no reason to sharpen it.
    """
    cells, classes = draw(count, rng)
    with torch.no_grad():
        logits = classifier(cells)
    grid = 2 ** torch.linspace(0, 2, 41)
    losses = torch.stack([functional.cross_entropy(logits / temperature, classes) for temperature in grid])
    classifier.temperature.fill_(grid[losses.argmin()])


def measure(classifier: CellClassifier, seed: int, count: int = 1000) -> Figures:
    """Accuracy on clean, on noisy (timestep 250) and on perturbed cells (L2 radius 0.5, 1, 2; the first 200)."""
    torch.manual_seed(seed)
    cells, classes = draw(count, random.Random(seed))
    classifier.eval()

    def accuracy(seen: Tensor) -> float:
        with torch.no_grad():
            hits: Tensor = classifier(seen).argmax(1) == classes[: len(seen)]
        return share(hits.tolist())

    few = slice(200)
    figures: Figures = {
        "accuracy": accuracy(cells),
        "accuracy_noisy": accuracy(noised(cells, torch.full((count,), 250))),
    }
    for radius in (0.5, 1.0, 2.0):
        figures[f"accuracy_within_{radius:g}"] = accuracy(attacked(classifier, cells[few], classes[few], radius, 10))
    return {"held_out": figures}
