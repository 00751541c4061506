"""Metrics against limits worked out by hand."""

from itertools import product

import numpy as np
import pytest
from scipy.ndimage import uniform_filter

from cfeval.core.images import Image
from cfeval.datasets.answer_scoring import answer_matches
from cfeval.edct.metrics import _local_means, ccs, changed_share, is_unedited, majority, median_grade
from tests.edct.plugins.photographs import ellipse, photograph, tinted


def test_ccs_is_the_product() -> None:
    assert [ccs(p, n) for p in (0, 1) for n in (0, 1)] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        ("I think it is red.", "red", True),
        ("Red", "red", True),
        ("Fred", "red", False),
        ("it is in the top left", "top left", True),
        ("left top", "top left", False),
        ("no , there is not", "no", True),
        ("", "red", False),
    ],
)
def test_an_answer_matches_when_the_reference_stands_in_it_as_words(answer: str, reference: str, right: bool) -> None:
    assert answer_matches(answer, reference) == right


def test_changed_share_counts_pixels_that_moved_in_some_channel() -> None:
    before = np.zeros((4, 5, 3), dtype=np.uint8)
    after = before.copy()
    after[0, 0, 2] = 9
    after[1, 1] = 8
    assert changed_share(before, after) == 1 / 20
    assert changed_share(before, before) == 0
    assert changed_share(before, after[:2]) == 1


def test_changed_share_of_local_means_is_that_of_the_difference_averaged_over_each_window() -> None:
    rng = np.random.default_rng(2)
    before, after = (rng.integers(0, 255, (9, 11, 3), dtype=np.uint8) for _ in "ab")
    wide = np.pad(before.astype(int) - after, ((1, 1), (1, 1), (0, 0)), mode="edge")
    means = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), axis=(0, 1)).mean(axis=(3, 4))
    assert changed_share(before, after, 40, 3) == (np.abs(means).max(axis=2) > 40).mean()


@pytest.mark.parametrize("window", [2, 5])
def test_local_means_have_the_bytes_of_scipy(window: int) -> None:
    difference = np.random.default_rng(3).integers(-255, 256, (37, 41, 3)).astype(np.int16)
    wanted = uniform_filter(difference.astype(np.float32), (window, window, 1), mode="nearest")
    assert np.array_equal(_local_means(difference, window), wanted)


@pytest.mark.parametrize("name", ["astronaut", "coffee"])
@pytest.mark.parametrize("side", [64, 256])
def test_storing_an_image_anew_edits_nothing_and_a_small_spot_of_colour_does(name: str, side: int) -> None:
    pixels = photograph(name, side)
    stored = Image.from_pixels(pixels).reencoded(75).pixels
    noisy = (pixels + np.random.default_rng(0).normal(0, 4, pixels.shape)).clip(0, 255).astype(np.uint8)
    assert changed_share(pixels, stored) > 0.1, "pixel by pixel it looks like an edit"
    assert is_unedited(pixels, stored)
    assert is_unedited(pixels, noisy)
    assert not is_unedited(pixels, tinted(pixels, ellipse(pixels.shape, radius=0.025)))


def test_a_majority_is_more_than_half_of_the_full_panel() -> None:
    for size in range(6):
        for votes in product((0, 1, None), repeat=size):
            ones, zeros = votes.count(1), votes.count(0)
            expected = 1 if ones > size - ones else 0 if zeros > size - zeros else None
            assert majority(votes) == expected
    assert majority([1, 1, None]) == 1
    assert majority([1, 0]) is majority([1, None]) is majority([1, None, None]) is majority([]) is None


def test_a_panels_grade_is_the_median_of_more_than_half() -> None:
    for grades in product((1, 2.5, 4, 5, None), repeat=3):
        given = sorted(grade for grade in grades if grade is not None)
        expected = {0: None, 1: None, 2: sum(given) / 2, 3: given[1] if given[1:] else None}[len(given)]
        assert median_grade(grades) == expected
    assert median_grade([3]) == 3
    assert median_grade([3, None]) is median_grade([None]) is median_grade([]) is None
