"""What counts as a changed pixel, against SSIM written out by hand, colors chosen by hand, and photographs."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.ndimage import uniform_filter

from cfeval.edct.plugins.image_comparison import ChangeSettings, change_strength, difference, local_ssim
from tests.edct.plugins.photographs import (
    NAMES,
    Change,
    Pixels,
    blurred,
    both,
    brighter,
    ellipse,
    gray,
    jpeg,
    pasted,
    photograph,
    removed,
    softened,
    tinted,
)
from tests.slow import first_fast

DEFAULT = ChangeSettings()
USUAL_K1 = 0.01


def plain(*color: int, size: int = 24) -> Pixels:
    return np.full((size, size, 3), color, np.uint8)


def changed(before: Pixels, after: Pixels, settings: ChangeSettings = DEFAULT) -> npt.NDArray[np.bool_]:
    return np.asarray(change_strength(before, after, settings) > 1)


def ssim_by_hand(one: Pixels, other: Pixels, k1: float) -> npt.NDArray[np.float64]:
    """Wang et al. 2004, equation 13, in windows of 7 × 7 with the sample covariance."""
    x, y = one.astype(float), other.astype(float)
    mx, my = uniform_filter(x, 7), uniform_filter(y, 7)
    unbiased = 49 / 48
    vx = unbiased * (uniform_filter(x * x, 7) - mx**2)
    vy = unbiased * (uniform_filter(y * y, 7) - my**2)
    cov = unbiased * (uniform_filter(x * y, 7) - mx * my)
    c1, c2 = (k1 * 255) ** 2, (0.03 * 255) ** 2
    return np.asarray((2 * mx * my + c1) * (2 * cov + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2)))


@pytest.mark.parametrize("k1", [USUAL_K1, DEFAULT.ssim_k1])
def test_local_ssim_is_that_of_the_paper(k1: float) -> None:
    original = photograph("chelsea")
    edited = blurred(2)(original)
    expected = ssim_by_hand(gray(original), gray(edited), k1)
    assert np.abs(local_ssim(original, edited, k1) - expected).max() < 2e-3


def test_equal_images_have_not_changed_at_all() -> None:
    original = photograph("coffee")
    assert np.abs(change_strength(original, original, DEFAULT)).max() < 1e-3


def test_a_new_color_of_the_same_brightness_is_seen_by_its_color_alone() -> None:
    red, green = plain(200, 40, 40), plain(20, 122, 88)
    assert (gray(red) == gray(green)).all()
    assert local_ssim(red, green, USUAL_K1).min() == pytest.approx(1)
    assert changed(red, green).all()


def test_the_hue_of_what_is_nearly_black_does_not_matter() -> None:
    assert not changed(plain(9, 0, 0), plain(0, 0, 9)).any()
    assert changed(plain(150, 0, 0), plain(0, 0, 150)).all()


def test_a_lifted_black_is_no_change_although_usual_ssim_says_so() -> None:
    black, lifted = plain(0, 0, 0), plain(3, 3, 3)
    assert changed(black, lifted, ChangeSettings(ssim_k1=USUAL_K1)).all()
    assert not changed(black, lifted).any()


def test_the_three_differences_add_up_by_their_weights() -> None:
    before, after = plain(51, 51, 51), plain(102, 102, 102)
    only = {"hsv_weight": 0.0, "rgb_weight": 0.0, "gradient_weight": 0.0}
    for name, expected in (("hsv_weight", 0.1), ("rgb_weight", 0.2)):
        found = difference(before, after, ChangeSettings(**{**only, name: 1.0}))
        assert found == pytest.approx(np.full((24, 24), expected), abs=1e-6)
    both_halves = difference(before, after, ChangeSettings(**{**only, "hsv_weight": 0.5, "rgb_weight": 0.5}))
    assert both_halves == pytest.approx(np.full((24, 24), 0.15), abs=1e-6)


def test_an_edge_that_goes_is_a_difference_of_gradients() -> None:
    edge = plain(0, 0, 0)
    edge[:, 12:] = 255
    only = ChangeSettings(hsv_weight=0, rgb_weight=0, gradient_weight=1, smoothing=0)
    found = difference(edge, plain(0, 0, 0), only)
    assert found[:, 11:13] == pytest.approx(np.ones((24, 2)))
    assert not found[:, :11].any()
    assert not found[:, 13:].any()


@pytest.mark.parametrize(
    "stored",
    [jpeg(75), jpeg(40), softened(0.5), brighter(8), both(softened(0.6), brighter(3), jpeg(85))],
    ids=["JPEG 75", "JPEG 40", "softened", "brighter", "all of it"],
)
@pytest.mark.parametrize("name", first_fast(NAMES))
def test_storing_a_photograph_is_hardly_a_change(name: str, stored: Change) -> None:
    original = photograph(name)
    assert changed(original, stored(original)).mean() < 0.05


@pytest.mark.parametrize("edit", [tinted, removed, pasted])
@pytest.mark.parametrize("side", first_fast([512, 1024], 1))
@pytest.mark.parametrize("name", NAMES[:2])
def test_an_edit_is_seen_where_it_is_and_nowhere_else(name: str, side: int, edit: Change) -> None:
    original = photograph(name, side)
    place = ellipse(original.shape, 0.45, 0.55, 0.12)
    found = changed(original, jpeg(85)(edit(original, place)))  # type: ignore[call-arg]
    assert found[place].mean() > 0.5
    assert found[~place].mean() < 0.02
