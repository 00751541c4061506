"""Region constraints: attributions against their sum, cells worked out by hand, and nothing outside them."""

import pytest
import torch
from torch import Tensor

from cfeval.core.errors import InputError, ParamsError
from cfeval.vce.method import Compute, Method
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models, Networks
from cfeval.vce.sampler.regions import integrated_gradients, largest_cells
from cfeval.vce.sampler.sampler import Counterfactuals, counterfactuals
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser, red_images

SIDE = 8


def corner() -> ToyClassifier:
    """Class c likes channel c in the upper left quarter and looks nowhere else."""
    weight = torch.zeros(3, 3, SIDE, SIDE)
    for channel in range(3):
        weight[channel, channel, :4, :4] = 5.0
    return ToyClassifier(weight=weight.flatten(1))


def test_attributions_sum_to_the_rise_of_the_logit_from_black() -> None:
    # Completeness (Sundararajan et al. 2017, Proposition 1), on a classifier that is not linear.
    images, classifier = red_images(3, SIDE), ToyClassifier(bend=0.6)
    networks = Networks(Models(ToyDenoiser(SIDE), classifier), Compute())
    found = integrated_gradients(networks, classifier, images, True)
    seen = classifier.logits(images).argmax(1, keepdim=True)
    rise = classifier.logits(images).gather(1, seen) - classifier.logits(-torch.ones_like(images)).gather(1, seen)
    assert found.shape == (3, 1, SIDE, SIDE)
    assert torch.allclose(found.sum((1, 2, 3)), rise.flatten(), rtol=1e-4)


def test_the_largest_cells_are_kept_as_far_as_the_share_allows() -> None:
    attribution = torch.zeros(1, 1, 4, 4)
    attribution[0, 0, 0, 0], attribution[0, 0, 2:, 2:], attribution[0, 0, 0, 3] = -3.0, 1.0, 0.5
    one = largest_cells(attribution, 0.49, 2)[0, 0]
    assert one.sum() == 4
    assert one[2:, 2:].all(), "four of size 1 against one of 3, signs do not count"
    assert largest_cells(attribution, 0.5, 2)[0, 0, :2, :2].all()
    assert largest_cells(attribution, 0.01, 2).sum() == 4, "one cell at least"


def made(method: Method, regions: Tensor | None = None) -> Counterfactuals:
    models, classes = Models(ToyDenoiser(SIDE), corner()), Classes([1] * 4, [0] * 4)
    return counterfactuals(red_images(4, SIDE), range(4), method, models, classes, regions=regions)


def method(**changed: object) -> Method:
    cells = {} if changed.get("mask") == "given" else {"region_cell": 2}
    settings = {"preset": "region-constrained", "respacing": "20", "scales": [3.0], **cells}
    return Method.model_validate(settings | changed)


def test_only_where_the_prediction_comes_from_changes_and_the_target_is_reached() -> None:
    found = made(method(region_share=0.25)).images
    changed = (found != red_images(4, SIDE)).any(1)
    assert changed[:, :4, :4].all()
    assert changed.sum() == 4 * 16, "a quarter of the pixels, and outside the image is the original to the last bit"
    assert corner().logits(found).argmax(1).tolist() == [1] * 4


def test_a_users_mask_is_kept_to_and_elsewhere_the_classifier_cannot_be_flipped() -> None:
    given = torch.zeros(4, 1, SIDE, SIDE)
    given[:, :, 4:] = 1
    found = made(method(mask="given", region_folder="masks"), given).images
    assert torch.equal(found[:, :, :4], red_images(4, SIDE)[:, :, :4])
    assert corner().logits(found).argmax(1).tolist() == [0] * 4, "it looks at the upper left alone"


@pytest.mark.parametrize(
    ("regions", "line"),
    [
        (None, "there is no mask for the images"),
        (torch.ones(4, 1, 4, 4), r"the masks are \(4, 1, 4, 4\), but the images want \(4, 1, 8, 8\)"),
        (torch.full((4, 1, SIDE, SIDE), 0.5), "masks hold 0 and 1 alone"),
        (torch.zeros(4, 1, SIDE, SIDE), "a mask lets nothing change"),
    ],
)
def test_masks_that_do_not_fit_are_one_line(regions: Tensor | None, line: str) -> None:
    with pytest.raises(InputError, match=line):
        made(method(mask="given", region_folder="masks"), regions)


def test_cells_must_fill_the_image() -> None:
    with pytest.raises(ParamsError, match="region_cell 3 does not divide the image's 8 pixels"):
        made(method(region_cell=3))
