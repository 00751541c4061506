import torch

from cfeval.vce.method import Method
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.prediction import of_difference, of_gradient
from cfeval.vce.sampler.sampler import counterfactuals
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser, ToyPerceptual


def test_a_difference_mask_is_what_differs_enough_and_its_surroundings() -> None:
    original, clean = torch.zeros(2, 3, 5, 5), torch.zeros(2, 3, 5, 5)
    clean[0, 1, 2, 2], clean[0, 0, 0, 0] = 1.0, 0.1
    mask = of_difference(clean, original, 0.15, 3)
    assert mask[0, 0].sum() == 9
    assert mask[0, 0, 1:4, 1:4].all()
    assert mask[1].sum() == 0


def test_gradient_masks_are_the_largest_gradients_and_the_largest_of_those() -> None:
    gradient = torch.zeros(1, 3, 4, 4)
    gradient[0, :, 0, 0], gradient[0, :, 3, 3], gradient[0, 0, 1, 2] = -3.0, 2.0, 0.5
    outer, inner = of_gradient(gradient, 2 / 16, 0.5, 1)
    assert outer.flatten().nonzero().flatten().tolist() == [0, 15]
    assert inner.flatten().nonzero().flatten().tolist() == [0]
    wide, narrow = of_gradient(gradient, 2 / 16, 0.5, 3)
    assert wide.sum() == 8
    assert bool((narrow <= wide).all())


def test_outside_its_mask_a_counterfactual_is_the_original() -> None:
    # The classifier looks at the upper left corner alone, so that the largest gradients are there.
    corner = torch.zeros(3, 3, 8, 8)
    for channel in range(3):
        corner[channel, channel, :2, :2] = 5.0
    image = torch.full((1, 3, 8, 8), -0.2)
    image[:, 0] = 0.2
    method = Method(preset="maskdime", respacing="20", mask_share=4 / 64, mask_inner=1.0, mask_dilation=1)
    toys = Models(ToyDenoiser(8), ToyClassifier(weight=corner.flatten(1)), perceptual=ToyPerceptual())
    found = counterfactuals(image, [0], method, toys, Classes([1], [0])).images
    changed = (found != image).any(1)[0]
    assert changed[:2, :2].all()
    assert changed.sum() == 4


def test_a_difference_mask_leaves_most_of_the_image_as_it_was() -> None:
    image = torch.zeros(1, 3, 8, 8)
    method = Method(preset="fastdime", respacing="20", mask_warmup=0, mask_dilation=1, mask_threshold=0.9)
    toys = Models(ToyDenoiser(8), ToyClassifier(), perceptual=ToyPerceptual())
    found = counterfactuals(image, [0], method, toys, Classes([1], [0])).images
    assert 0 < (found != image).any(1).sum() < 16
