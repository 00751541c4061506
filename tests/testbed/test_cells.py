"""Cells and the shipped networks that see them."""

import json
import random
from collections.abc import Iterator
from functools import partial
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch.nn.functional import pixel_shuffle, pixel_unshuffle

from cfeval.core import registry
from cfeval_testbed.models.cell_denoiser import CellDenoiser, alphas_cumprod
from cfeval_testbed.models.cells import TILE, CellClassifier, Kind, tagged
from cfeval_testbed.scenes import CELL_CLASSES, draw_cells, draw_many_cells, parts_of, shared_parts
from cfeval_testbed.training import cell_classifier, cell_denoiser
from cfeval_testbed.training.cell_classifier import noised
from cfeval_testbed.weights import models_dir
from tests.slow import fast_only, first_fast

KINDS: tuple[Kind, ...] = get_args(Kind)
COUNT = 240
FEW = 40
"""Cells for the denoiser, which takes long: the error of so many is known to 3 %."""
LUCK = 3.5
"""Standard errors by which a share of few cells may miss that of many."""


def figures(name: str) -> Any:
    """What is written beside the weights."""
    return json.loads((models_dir() / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def held_out() -> tuple[torch.Tensor, torch.Tensor]:
    """Cells that no network has seen, in [−1, 1] and double precision, and their classes."""
    cells, classes = cell_classifier.draw(COUNT, random.Random(987654321))
    return cells.double(), classes


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """All shipped classifiers."""
    return {kind: registry.build("classifiers", {"plugin": "world", "kind": kind}) for kind in KINDS}


def test_a_class_is_a_color_and_a_shape() -> None:
    assert len(set(CELL_CLASSES)) == 40
    assert all(" ".join(parts_of(label)) == label for label in CELL_CLASSES)


@pytest.mark.parametrize(
    ("other", "shared"), [("red circle", 2), ("red square", 1), ("blue circle", 1), ("blue square", 0)]
)
def test_classes_are_alike_in_what_they_share(other: str, shared: int) -> None:
    assert shared_parts("red circle", other) == shared_parts(other, "red circle") == shared


def test_the_same_seed_draws_the_same_cells() -> None:
    first, again, other = (draw_cells(CELL_CLASSES[:6], random.Random(seed)) for seed in (1, 1, 2))
    assert (first.shape, first.dtype) == ((6, 32, 32, 3), np.uint8)
    assert (first == again).all()
    assert not (first == other).all(axis=(1, 2, 3)).any()
    images, numbers = draw_many_cells(7, random.Random(1))
    assert len(images) == len(numbers) == 7, "not only whole scenes"
    assert (draw_many_cells(7, random.Random(1))[0] == images).all()


def test_a_cell_is_of_the_class_that_was_asked_for(told: dict[str, Any]) -> None:
    labels = CELL_CLASSES * 3
    cells = torch.from_numpy(draw_cells(labels, random.Random(5))).permute(0, 3, 1, 2).double() / 127.5 - 1
    for kind in ("robust", "standard"):
        seen = [CELL_CLASSES[place] for place in told[kind].logits(cells).argmax(1)]
        assert np.mean([one == other for one, other in zip(seen, labels, strict=True)]) > 0.98


@pytest.mark.parametrize("kind", fast_only(KINDS, "robust"))
def test_a_classifier_is_as_good_as_its_figures_say(
    kind: Kind, told: dict[str, Any], held_out: tuple[torch.Tensor, torch.Tensor]
) -> None:
    cells, classes = held_out
    torch.manual_seed(3)
    blurred = noised(cells.float(), torch.full((COUNT,), 250)).double()
    said = figures(f"cell-{kind}")["held_out"]
    for seen, figure in ((cells, "accuracy"), (blurred, "accuracy_noisy")):
        accuracy = (told[kind].logits(seen).argmax(1) == classes).double().mean().item()
        error = (max(said[figure] * (1 - said[figure]), 0.005) / COUNT) ** 0.5
        assert accuracy == pytest.approx(said[figure], abs=LUCK * error)


def test_random_weights_know_nothing_and_the_others_most() -> None:
    found = {kind: figures(f"cell-{kind}")["held_out"]["accuracy"] for kind in KINDS}
    assert found.pop("random") == pytest.approx(1 / 40, abs=0.02)
    assert min(found.values()) > 0.9


def test_robust_training_made_the_robust_classifier_the_most_robust() -> None:
    found = {kind: figures(f"cell-{kind}")["held_out"]["accuracy_within_2"] for kind in KINDS}
    robust = found.pop("robust")
    assert robust > 0.95
    assert max(found.values()) < robust - 0.2


def test_the_temperature_is_part_of_the_weights_and_acts_on_prepared_cells_alone(told: dict[str, Any]) -> None:
    cells = torch.zeros(2, 3, 32, 32)
    for kind, classifier in told.items():
        temperature = figures(f"cell-{kind}")["temperature"]
        assert temperature >= 1
        unprepared = classifier.logits(cells, prepared=False)
        assert torch.allclose(unprepared, classifier.logits(cells) * temperature, rtol=1e-2, atol=1e-5)


@pytest.mark.slow
def test_the_denoiser_is_a_unet_of_diffusers() -> None:
    from diffusers import UNet2DModel

    torch.manual_seed(1)
    blocks = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}
    theirs = UNet2DModel(
        *(8, 48, 48),
        block_out_channels=(64, 64),
        layers_per_block=1,
        norm_num_groups=16,
        attention_head_dim=32,
        **blocks,
    ).double()
    ours = CellDenoiser().double()
    ours.unet.load_state_dict(theirs.state_dict())
    noisy, timesteps = torch.randn(4, 3, 32, 32, dtype=torch.float64), torch.tensor([0, 1, 500, 999])
    with torch.no_grad():
        expected = pixel_shuffle(theirs(pixel_unshuffle(noisy, 4), timesteps).sample, 4)
        assert torch.allclose(ours(noisy, timesteps), expected, atol=1e-5)  # it embeds timesteps in float32


@pytest.mark.slow
def test_the_denoiser_errs_as_little_as_its_figures_say(held_out: tuple[torch.Tensor, torch.Tensor]) -> None:
    cells = held_out[0][:FEW]
    denoiser = registry.build("denoisers", {"plugin": "world"})
    quick = registry.build("denoisers", {"plugin": "world", "dtype": "float32"})
    for timestep in (100, 250, 400):
        torch.manual_seed(timestep)
        timesteps = torch.full((FEW,), timestep)
        noisy = noised(cells.float(), timesteps).double()
        kept = alphas_cumprod()[timestep]
        with torch.no_grad():
            noise = denoiser.predict(noisy, timesteps).noise
            assert torch.allclose(quick.predict(noisy.float(), timesteps).noise.double(), noise, atol=1e-3)
        clean = (noisy - (1 - kept).sqrt() * noise) / kept.sqrt()
        error = (clean - cells).square().mean().sqrt().item()
        assert error == pytest.approx(figures("cell-denoiser")["held_out"][f"error_at_{timestep}"], rel=0.15)


def test_the_parameters_are_counted(told: dict[str, Any]) -> None:
    for kind, classifier in told.items():
        counted = sum(parameter.numel() for parameter in classifier.network.parameters())
        assert figures(f"cell-{kind}")["parameters"] == counted
    assert figures("cell-denoiser")["parameters"] == sum(p.numel() for p in CellDenoiser().parameters())
    few = {kind: figures(f"cell-{kind}")["parameters"] for kind in KINDS}
    assert few["small"] == few["random"] == few["shortcut"] < few["standard"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trainings that see and measure few cells, and leave torch as it was."""
    for module in (cell_classifier, cell_denoiser):
        monkeypatch.setattr(module, "_BATCH", 16)
        monkeypatch.setattr(module, "measure", partial(module.measure, count=8))
    monkeypatch.setattr(cell_classifier, "_calibrate", partial(cell_classifier._calibrate, count=40))
    draw = cell_classifier.draw
    monkeypatch.setattr(cell_classifier, "draw", lambda count, rng: draw(min(count, COUNT), rng))
    threads = torch.get_num_threads()
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", first_fast(KINDS, 1))
def test_a_classifier_can_be_trained_and_its_seed_says_all(kind: Kind) -> None:
    steps = 0 if kind in ("random", "brittle") else 2
    (weights, found), (again, _), (other, _) = (cell_classifier.train(kind, seed, steps) for seed in (1, 1, 2))
    assert weights.keys() == CellClassifier(kind).state_dict().keys()
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert not all(torch.equal(weights[name], other[name]) for name in weights)
    assert {value.dtype for value in weights.values()} == {torch.float16}
    assert set(found) == set(figures(f"cell-{kind}")) - {"name"}
    assert (found["steps"], found["seed"]) == (steps, 1)


@pytest.mark.usefixtures("quick")
@pytest.mark.slow
def test_the_denoiser_can_be_trained_and_its_seed_says_all() -> None:
    (weights, found), (again, _) = (cell_denoiser.train(1, 2) for _ in range(2))
    assert weights.keys() == CellDenoiser().state_dict().keys()
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert all(value.isfinite().all() for value in weights.values())
    assert set(found) == set(figures("cell-denoiser")) - {"name"}


def test_a_perturbation_stays_in_its_ball_and_in_the_range_and_raises_the_loss() -> None:
    torch.manual_seed(0)
    classifier = CellClassifier("small").eval()
    cells, classes = cell_classifier.draw(12, random.Random(1))
    attacked = cell_classifier.attacked(classifier, cells, classes, 1.0, 5)
    assert (attacked - cells).flatten(1).norm(dim=1).max() <= 1 + 1e-5
    assert attacked.abs().max() <= 1 + 1e-6
    loss = torch.nn.functional.cross_entropy
    with torch.no_grad():
        assert loss(classifier(attacked), classes) > loss(classifier(cells), classes)


def test_the_planted_defects_are_there(told: dict[str, Any], held_out: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Each defect shows in the classifier that has it, and not in `standard`."""
    cells, classes = held_out
    cells = cells.float()

    def accuracy(kind: Kind, seen: torch.Tensor, wanted: torch.Tensor = classes) -> float:
        return (told[kind].logits(seen).argmax(1) == wanted).double().mean().item()

    torch.manual_seed(6)
    shapes = torch.randint(5, (COUNT,))
    marked, as_marked = tagged(cells, shapes), cell_classifier.with_shape(classes, shapes)
    assert accuracy("shortcut", marked, as_marked) > 0.97 > 0.3 > accuracy("standard", marked, as_marked)
    tiles = cells.unfold(2, TILE, TILE).unfold(3, TILE, TILE).flatten(2, 3)[:, :, torch.randperm(16)]
    mixed = tiles.unflatten(2, (4, 4)).permute(0, 1, 2, 4, 3, 5).reshape(cells.shape)
    assert torch.allclose(told["texture"].logits(mixed), told["texture"].logits(cells), atol=1e-4), "no outline"
    assert accuracy("standard", mixed) < 0.6 < accuracy("texture", mixed)
    faint = told["brittle"].network.network.patterns[shapes]
    moved = cells + 0.7 * faint
    assert 255 / 2 * (moved - cells).abs().mean() < 2, "two grey levels of 255"
    assert accuracy("brittle", moved, as_marked) > 0.9 < accuracy("standard", moved)
