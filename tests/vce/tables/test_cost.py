"""Validity against cost, checked on passes that are counted while a method runs and on shares worked out by hand."""

from typing import Any

import pytest
import torch

from cfeval.report.tables import markdown
from cfeval.vce.config import Roles
from cfeval.vce.estimate import passes_of
from cfeval.vce.figures import draw_cost
from cfeval.vce.method import Method
from cfeval.vce.records import GroupScore
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval.vce.tables.methods import COST as TABLE
from cfeval.vce.tables.methods import CostRow
from tests.edct.figures.test_figures import svg
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser
from tests.vce.tables.groups import group, made_of

ROLES = Roles.model_validate({"base": "base", "random": ["rand"]})
COST = {
    "base": {"denoiser_calls": 8.0, "denoiser_gradients": 16.0, "classifier_gradients": 16.0},
    "cheap": {"denoiser_calls": 8.0, "denoiser_gradients": 0.0, "classifier_gradients": 8.0},
}


def a_study() -> list[GroupScore]:
    said = {"ta": 0.5, "ota_vit": 0.25, "ota_rand": 1.0, "ota_cnn": 1.0, "d2": 3.0, "attempts": 1.5}
    return [
        group("cnn", "base", {"ta": 1.0, "ota_vit": 0.75, "d2": 2.0, "attempts": 1.0}, n=4),
        group("cnn", "cheap", said, n=4, missing={"rejected": 2}),
        group("rand", "base", {"ta": 0.0, "ota_vit": 0.5}),
    ]


def found(method: str, classifier: str = "cnn") -> CostRow:
    rows = TABLE.rows(made_of(a_study(), ROLES, cost=COST))
    (row,) = [row for row in rows if (row.method, row.classifier) == (method, classifier)]
    return row


def test_passes_are_divided_by_the_shares_of_all_that_were_asked_for() -> None:
    base = found("base")
    assert (base.ta, base.ota, base.passes, base.per_valid, base.per_confirmed) == (1.0, 0.75, 24, 24, 32)
    cheap = found("cheap")
    assert (cheap.ta, cheap.ota) == (0.25, 0.125), "half were dropped, and were paid for"
    assert (cheap.denoiser_calls, cheap.passes, cheap.per_valid, cheap.per_confirmed) == (12, 12, 48, 96)


def test_what_is_never_valid_has_no_cost_of_a_valid_one() -> None:
    rand = found("base", "rand")
    assert (rand.ta, rand.per_valid, rand.per_confirmed) == (0.0, None, 48)


def test_readers_see_a_line_a_method_without_random_classifiers() -> None:
    rows = TABLE.rows(made_of(a_study(), ROLES, cost=COST))
    text = markdown(TABLE.render(rows))
    assert "| base | 1.000 | 0.750 | 2.000 |" in text
    assert "Explained: cnn." in text
    drawn = svg(draw_cost(rows))
    assert "base" in drawn
    assert "cheap" in drawn
    assert "Empty: no groups" in svg(draw_cost([]))


@pytest.mark.parametrize(
    "said",
    [
        {"preset": "unguided"},
        {"preset": "classifier-guidance"},
        {"preset": "dbvce"},
        {"preset": "dbvce", "projection": "none"},
        {"preset": "dbvce", "cone_at": "x0"},
        {"preset": "dbvce", "guidance": "noisy"},
        {"preset": "dvce", "augmentations": 3},
        {"preset": "dime", "perceptual_weight": 0, "scales": [1.0]},
        {"preset": "fastdime", "perceptual_weight": 0, "scales": [1.0]},
        {"preset": "maskdime", "perceptual_weight": 0, "scales": [1.0]},
        {"preset": "stabilized-guidance"},
        {"preset": "stabilized-guidance", "distance": "denoiser", "lp_weight": 0.1},
        {"preset": "region-constrained", "region_cell": 2},
        {"preset": "black-box", "particles": 6},
    ],
)
def test_passes_are_those_that_a_run_makes(said: dict[str, Any]) -> None:
    counted = {"denoiser_calls": 0, "denoiser_gradients": 0, "classifier_gradients": 0}

    class Counted(torch.autograd.Function):
        """The identity, which notes that a gradient came by."""

        @staticmethod
        def forward(context: Any, images: torch.Tensor, what: str) -> torch.Tensor:
            context.what = what
            return images.clone()

        @staticmethod
        def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
            counted[context.what] += len(gradients[0])
            return gradients[0], None

    class Denoiser(ToyDenoiser):
        def predict(self, noisy: torch.Tensor, *more: Any, **named: Any) -> Any:
            counted["denoiser_calls"] += len(noisy)
            return super().predict(Counted.apply(noisy, "denoiser_gradients"), *more, **named)

    class Classifier(ToyClassifier):
        def logits(self, images: torch.Tensor, *more: Any, **named: Any) -> torch.Tensor:
            return super().logits(Counted.apply(images, "classifier_gradients"), *more, **named)

    method = Method(**said, respacing="10", start=0.4)
    models = Models(Denoiser(learned=True), Classifier(), Classifier(robust=True))
    images = torch.zeros(2, 3, models.denoiser.image_size, models.denoiser.image_size, dtype=models.denoiser.dtype)
    counterfactuals(images, [0, 1], method, models, Classes([1, 1], [0, 0]))
    assert {name: number / 2 for name, number in counted.items()} == passes_of(method)
