"""What a network gets to see, against torchvision's own evaluation transform."""

from typing import Any

import pytest

from cfeval.vce.models.classifier import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from tests.tiny.classifiers import images


def torchvisions(size: int, resize: int, interpolation: str) -> Any:
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms._presets import ImageClassification

    return ImageClassification(crop_size=size, resize_size=resize, interpolation=InterpolationMode(interpolation))


@pytest.mark.parametrize("shape", [(64, 64), (90, 61), (40, 200)], ids=str)
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_with_crop_it_is_torchvisions_evaluation(shape: tuple[int, int], interpolation: str) -> None:
    given = images(1, 2, *shape)
    ours = Preprocessing(48, 55, interpolation)(given, crop=True)
    theirs = torchvisions(48, 55, interpolation)((given + 1) / 2)
    assert ours.shape == theirs.shape == (2, 3, 48, 48)
    assert (ours - theirs).abs().max() < 1e-5


def test_without_crop_all_of_a_square_image_counts_and_with_crop_its_edges_do_not() -> None:
    preprocessing = Preprocessing(24, 32)
    for crop, seen in ((False, True), (True, False)):
        given = images(2, 1, 64, 64).requires_grad_()
        preprocessing(given, crop).square().sum().backward()
        assert given.grad.isfinite().all()
        assert bool((given.grad[0, :, 0, :] != 0).any()) == seen
        assert (given.grad[0, :, 32, 32] != 0).all()


def test_values_in_zero_to_one_are_normalised_and_an_image_of_the_right_size_is_not_resized() -> None:
    given = images(3, 1, 24, 24)
    seen = Preprocessing(24, 32, mean=IMAGENET_MEAN, std=IMAGENET_STD)(given, crop=False)
    for channel in range(3):
        by_hand = ((given[0, channel] + 1) / 2 - IMAGENET_MEAN[channel]) / IMAGENET_STD[channel]
        assert (seen[0, channel] - by_hand).abs().max() < 1e-6


def test_another_size_keeps_the_share_that_is_cut_off() -> None:
    assert Preprocessing(224, 256).but(size=112, mean=None, std=(1, 1, 1)) == Preprocessing(112, 128, std=(1, 1, 1))
