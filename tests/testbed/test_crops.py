"""Boxes, windows and light: checked by hand on simple images."""

import numpy as np
import pytest
from scipy import ndimage

from cfeval_testbed.agents.crops import Box, box_around, box_blur, dilated, eroded, halve, light_of


def test_an_empty_outline_has_no_box() -> None:
    assert box_around(np.zeros((64, 64), dtype=bool)) is None


@pytest.mark.parametrize(("side", "expected"), [(10, Box(17, 33, 17, 33)), (28, Box(19, 49, 19, 49))])
def test_a_box_leaves_a_margin_and_is_never_wider_than_30(side: int, expected: Box) -> None:
    outline = np.zeros((64, 64), dtype=bool)
    outline[20 : 20 + side, 20 : 20 + side] = True
    box = box_around(outline)
    assert box == expected
    assert box.mask().sum() == (box.bottom - box.top) * (box.right - box.left)


def test_a_box_stays_inside_the_image_and_so_does_its_window() -> None:
    outline = np.zeros((64, 64), dtype=bool)
    outline[:4, 60:] = True
    box = box_around(outline)
    assert box is not None
    assert (box.top, box.right) == (0, 64)
    assert box.window() == (0, 32)


def test_light_is_relative_brightness_and_ignores_what_is_not_ground() -> None:
    image = np.full((64, 64, 3), 0.4)
    image[:, 32:] = 0.6
    image[20:30, 10:20] = 1.0
    ground = np.ones((64, 64))
    ground[20:30, 10:20] = 0
    light = light_of(image, ground)
    assert light[40, 5] == pytest.approx(0.4 / image[ground > 0].mean() - 1)
    assert light[40, 60] == pytest.approx(0.6 / image[ground > 0].mean() - 1)
    assert not light_of(image, np.zeros((64, 64))).any()


def test_blurring_and_halving_are_means() -> None:
    plane = np.arange(64.0).reshape(8, 8)
    assert box_blur(plane, 1)[3, 3] == pytest.approx(plane[2:5, 2:5].mean())
    assert halve(plane)[1, 2] == plane[2:4, 4:6].mean()


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_masks_grow_and_shrink_as_in_scipy(share: float) -> None:
    mask = np.random.default_rng(1).random((64, 64)) < share
    assert np.array_equal(eroded(mask), ndimage.binary_erosion(mask))
    for times in (1, 2, 6):
        assert np.array_equal(dilated(mask, times), ndimage.binary_dilation(mask, iterations=times))
