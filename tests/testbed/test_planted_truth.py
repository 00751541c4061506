"""Counterfactuals change what the classifier reads: of `shortcut` a tag in the corner, of `standard` the shape."""

import random
from functools import cache
from pathlib import Path

import pytest
import torch

from cfeval.config import load
from cfeval.core import registry
from cfeval.vce.method import Compute
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval_testbed.models.cells import TAG, Kind, tagged
from cfeval_testbed.records import SHAPES
from cfeval_testbed.scenes import CELL_CLASSES, draw_cells, parts_of

PARAMS = Path(__file__).parents[2] / "params.yaml"
PAIRS = (("red circle", "red square"), ("blue square", "blue cross"), ("white star", "white cross"))
SOURCES, TARGETS = ([CELL_CLASSES.index(pair[side]) for pair in PAIRS for _ in range(6)] for side in (0, 1))
VISIBLE = 0.25
"""Of the way from the color of the corner to that of the tag, how far makes a tag."""


@cache
def originals() -> torch.Tensor:
    """Cells of the sources, in [−1, 1]."""
    drawn = draw_cells([CELL_CLASSES[source] for source in SOURCES], random.Random(8))
    return torch.from_numpy(drawn).permute(0, 3, 1, 2).double() / 127.5 - 1


def seen(kind: Kind, cells: torch.Tensor) -> torch.Tensor:
    """The classes that a classifier sees."""
    classes: torch.Tensor = registry.build("classifiers", {"plugin": "world", "kind": kind}).logits(cells).argmax(1)
    return classes


@cache
def valid(kind: Kind) -> tuple[torch.Tensor, torch.Tensor]:
    """Counterfactuals of a classifier without the cone, clamped, and in which of them it sees the target."""
    params = load(PARAMS).vce
    assert params is not None
    models = Models(
        denoiser=registry.build("denoisers", {"plugin": "world"}),
        classifier=registry.build("classifiers", {"plugin": "world", "kind": kind}),
    )
    classes = Classes(TARGETS, SOURCES)
    how = params.methods["no-cone"]
    made = counterfactuals(originals(), range(len(SOURCES)), how, models, classes, Compute(batch=len(SOURCES)))
    cells = made.images.clamp(-1, 1)
    return cells, seen(kind, cells) == torch.tensor(TARGETS)


def with_tag(cells: torch.Tensor) -> torch.Tensor:
    """Which cells have the tag of the target's shape, that their originals do not have."""
    shapes = torch.tensor([SHAPES.index(parts_of(CELL_CLASSES[target])[1]) for target in TARGETS])
    corner = slice(None), slice(None), slice(TAG), slice(TAG)
    before, after, tags = (of[corner].mean((2, 3)) for of in (originals(), cells, tagged(originals(), shapes)))
    way = tags - before
    return ((after - before) * way).sum(1) / way.square().sum(1) > VISIBLE


@pytest.mark.parametrize(
    ("kind", "least", "most"), [("shortcut", 0.8, 1.0), ("standard", 0.0, 0.2), ("brittle", 0.0, 0.2)]
)
def test_a_tag_is_painted_for_the_classifier_that_reads_it(kind: Kind, least: float, most: float) -> None:
    cells, reached = valid(kind)
    assert reached.float().mean() > 0.7
    assert least <= with_tag(cells)[reached].float().mean() <= most


def test_oracles_that_read_no_tag_are_not_taken_in_by_it() -> None:
    for oracle in ("robust", "noisy"):
        confirmed = {
            kind: (seen(oracle, valid(kind)[0]) == torch.tensor(TARGETS))[valid(kind)[1]].float().mean()
            for kind in ("shortcut", "standard")
        }
        assert confirmed["shortcut"] < 0.5 < 0.85 < confirmed["standard"]
