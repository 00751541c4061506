"""Images laid over each other: known movements are found again, and no edit is explained away."""

from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from scipy.ndimage import uniform_filter

from cfeval.edct.plugins.image_comparison import (
    Alignment,
    AlignSettings,
    ChangeSettings,
    align,
    change_strength,
    difference,
    local_ssim,
)
from tests.edct.plugins.photographs import (
    NAMES,
    Change,
    Pixels,
    bent,
    blurred,
    both,
    brighter,
    ellipse,
    gray,
    jpeg,
    moved,
    pasted,
    photograph,
    removed,
    softened,
    tinted,
)
from tests.slow import first_fast

USUAL, STIFF = AlignSettings(), AlignSettings(flow=0)


def aligned(original: Pixels, edited: Pixels, settings: AlignSettings = USUAL) -> Alignment:
    return align(gray(original), gray(edited), settings)


def left_over(original: Pixels, edited: Pixels, settings: AlignSettings = USUAL) -> float:
    """Mean difference of what both images have, of 255, once one is laid over the other."""
    found = aligned(original, edited, settings)
    return float(np.abs(original.astype(int) - found.warp(edited))[found.valid].mean())


def center(found: Alignment, shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """How far the middle of the image moved, (x, y)."""
    middle = np.array(shape[1::-1]) / 2
    return np.asarray(found.matrix[:, :2] @ middle + found.matrix[:, 2] - middle)


@pytest.mark.parametrize("name", first_fast(NAMES[:3], 1))
@pytest.mark.parametrize(("across", "down", "zoom", "degrees"), [(7, -12, 1, 0), (0, 0, 1.04, 0), (3, 2, 0.98, 1.5)])
def test_a_known_movement_of_a_photograph_is_found_again(
    name: str, across: float, down: float, zoom: float, degrees: float
) -> None:
    original = photograph(name)
    found = aligned(original, moved(across, down, zoom, degrees)(original), STIFF)
    assert found.by == "matches" or (found.by == "phase correlation" and (zoom, degrees) == (1, 0))
    assert found.matches > 100 or found.by == "phase correlation"
    assert center(found, original.shape) == pytest.approx([across, down], abs=0.5)
    turn = found.matrix[:, :2]
    assert np.sqrt(np.linalg.det(turn)) == pytest.approx(zoom, abs=0.005)
    assert np.degrees(np.arctan2(-turn[1, 0], turn[0, 0])) == pytest.approx(degrees, abs=0.2)


def test_what_has_no_counterpart_is_not_valid() -> None:
    original = photograph("coffee")
    found = aligned(original, moved(30, -20)(original), STIFF)
    height, width = original.shape[:2]
    assert found.valid.mean() == pytest.approx((1 - 30 / width) * (1 - 20 / height), abs=0.004)
    assert not found.valid[:, width - 25 :].any()
    assert not found.valid[:15].any()
    assert found.valid[25:, : width - 35].all()


def test_without_keypoints_phase_correlation_finds_a_shift() -> None:
    noise = np.random.default_rng(1).normal(128, 4, (96, 96))
    smooth = cv2.GaussianBlur(noise, (0, 0), 2)
    original = np.repeat(np.clip(smooth, 0, 255).astype(np.uint8)[..., None], 3, axis=2)
    found = aligned(original, np.roll(original, (3, -2), (0, 1)), STIFF)
    assert (found.by, found.matches) == ("phase correlation", 0)
    assert center(found, original.shape) == pytest.approx([-2, 3], abs=0.2)


@pytest.mark.parametrize("color", [0, 130, 255])
def test_images_without_anything_to_hold_on_to_are_left_as_they_lie(color: int) -> None:
    plain = np.full((64, 80, 3), color, np.uint8)
    found = aligned(plain, plain)
    assert (found.by, found.matches) == ("nothing", 0)
    assert found.valid.all()
    assert (found.warp(plain) == plain).all()


def test_two_images_of_different_things_are_not_forced_onto_each_other() -> None:
    original = photograph("coffee")
    other = cv2.resize(photograph("rocket"), original.shape[1::-1])
    found = aligned(original, other)
    assert found.by == "nothing"
    assert (found.flow == 0).all()


@pytest.mark.parametrize("change", [jpeg(60), both(moved(4, 1), jpeg(80))], ids=["in place", "shifted"])
def test_the_same_images_have_the_same_alignment(change: Change) -> None:
    original = photograph("chelsea")
    first, again = (aligned(original, change(original)) for _ in range(2))
    assert (first.matrix == again.matrix).all()
    assert (first.flow == again.flow).all()


@pytest.mark.parametrize("name", first_fast(NAMES, 1))
def test_a_bent_image_needs_the_flow(name: str) -> None:
    original = photograph(name)
    edited = bent(0.004)(original)
    assert left_over(original, edited) < 0.6 * left_over(original, edited, STIFF)


@pytest.mark.parametrize("edit", first_fast([removed, pasted], 1))
@pytest.mark.parametrize("around", [jpeg(90), bent(0.004)], ids=["straight", "bent"])
def test_the_flow_does_not_explain_an_edit_away(edit: Change, around: Change) -> None:
    """The reference is the difference of the edit itself, with no movement at all."""
    for name in NAMES[:2]:
        original = photograph(name)
        place = ellipse(original.shape, 0.55, 0.45, 0.12)
        edited = edit(original, place)  # type: ignore[call-arg]
        true = np.abs(original.astype(int) - edited)[place].mean()
        found = aligned(original, around(edited))
        assert np.abs(original.astype(int) - found.warp(around(edited)))[place].mean() > 0.8 * true


def test_a_free_flow_would_explain_it_away() -> None:
    """What the limits on the flow are for: left free, it moves a thing back that the edit has moved."""
    original = photograph("coffee")
    place = ellipse(original.shape, 0.3, 0.3, 0.06)
    edited = np.where(place[..., None], np.roll(original, 12, 1), original)
    true = np.abs(original.astype(int) - edited)[place].mean()
    finder = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    still = aligned(original, original)
    flow = np.asarray(finder.calc(gray(original), gray(edited), np.zeros_like(still.flow)))
    free = replace(still, flow=flow)
    assert np.abs(original.astype(int) - free.warp(edited))[place].mean() < 0.5 * true
    assert np.abs(original.astype(int) - aligned(original, edited).warp(edited))[place].mean() > 0.95 * true


def test_known_limit_the_only_thing_on_a_plain_ground_may_move_unseen() -> None:
    """Where nothing else has texture, a moved thing is a moved image."""
    original = np.full((128, 128, 3), 120, np.uint8)
    original[40:70, 40:70] = photograph("coffee")[100:130, 200:230]
    found = aligned(original, np.roll(original, 12, 1))
    assert center(found, original.shape) == pytest.approx([12, 0], abs=0.5)


# What counts as a changed pixel, against SSIM written out by hand, colors chosen by hand, and photographs.


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
