"""COUT worked out by hand on images of a few pixels."""

import numpy as np
import pytest

from cfeval.vce.metrics.proximity import Images, cout


def image(*values: float) -> np.ndarray:
    """One grey image of one row, (1, 3, 1, W)."""
    return np.repeat(np.array(values, dtype=np.float32).reshape(1, 1, 1, -1), 3, axis=1)


def share(images: Images) -> np.ndarray:
    """A classifier that gives the target the mean of the pixels, the source the rest."""
    target = images.mean(axis=(1, 2, 3))
    return np.stack([1 - target, target], axis=1)


def first_pixel(images: Images) -> np.ndarray:
    """A classifier that looks at one pixel only."""
    target = images[:, 0, 0, 0]
    return np.stack([1 - target, target], axis=1)


def test_a_steady_transition_has_no_area_between_the_curves() -> None:
    assert cout(image(0, 0, 0, 0), image(1, 1, 1, 1), share) == pytest.approx([0])


def test_the_pixel_that_changed_most_comes_first() -> None:
    # pixel 0 flips the decision at the first of 4 steps: the target's curve is 0, 1, 1, 1, 1
    found = cout(image(0, 0.5, 0.5, 0.5), image(1, 0.6, 0.7, 0.8), first_pixel)
    assert found == pytest.approx([(0.5 + 3) / 4 - 0.5 / 4])
    # here it comes last: 0, 0, 0, 0, 1
    late = cout(image(0, 0, 0, 0), image(1, 2, 3, 4), first_pixel)
    assert late == pytest.approx([0.5 / 4 - (0.5 + 3) / 4])


def test_an_unchanged_image_scores_what_the_classifier_says_of_it() -> None:
    unchanged = image(0.9, 0.9)
    assert cout(unchanged, unchanged, share) == pytest.approx([0.9 - 0.1])


def test_the_least_and_the_greatest_are_minus_one_and_one() -> None:
    for probability in (0.0, 1.0):
        found = cout(image(0, 0), image(1, 1), lambda images, p=probability: np.array([[1 - p, p]] * len(images)))
        assert found == pytest.approx([2 * probability - 1])


def test_a_last_step_that_is_shorter_counts_what_it_is() -> None:
    # 5 pixels in steps of 2: the shares are 0, .4, .8, 1 and the target's curve is the share itself
    assert cout(image(0, 0, 0, 0, 0), image(1, 1, 1, 1, 1), share, steps=2) == pytest.approx([0])


def test_each_image_of_a_batch_is_on_its_own() -> None:
    random = np.random.default_rng(1)
    first, second = (random.uniform(size=(4, 3, 5, 5)).astype(np.float32) for _ in range(2))
    together = cout(first, second, share, steps=5)
    assert together == pytest.approx([cout(first[i : i + 1], second[i : i + 1], share, steps=5)[0] for i in range(4)])


def test_it_is_the_published_sum_where_the_steps_divide_the_pixels() -> None:
    random = np.random.default_rng(2)
    first, second = (random.uniform(size=(1, 3, 4, 5)).astype(np.float32) for _ in range(2))
    changed = np.abs(second - first).sum(axis=1).reshape(-1)
    curve = []
    for count in range(0, 21, 2):
        mask = np.zeros(20, dtype=bool)
        mask[np.argsort(-changed)[:count]] = True
        curve.append(share(np.where(mask.reshape(1, 1, 4, 5), second, first))[0])
    sums = (curve[0] / 2 + sum(curve[1:-1]) + curve[-1] / 2) * 2 / 20
    assert cout(first, second, share, steps=10) == pytest.approx([sums[1] - sums[0]], abs=1e-6)
