"""Conditional validity, misread originals and the kernel distance, against independent ways of working them out."""

import numpy as np
import pytest

from cfeval.vce.metrics.realism import frechet_distance, kernel_distance
from cfeval.vce.metrics.validity import conditional_validity, misread


def test_only_what_the_classifier_sees_counts() -> None:
    predicted, targets = ["a", "a", "b", "a"], ["a"] * 4
    oracles = {"one": ["a", "b", "a", "a"], "two": ["a", "b", "a", "b"]}
    assert conditional_validity(predicted, oracles, targets) == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert conditional_validity(["b"] * 4, oracles, targets) is None


def test_misread_is_what_was_wrong_before_any_edit() -> None:
    assert misread(["a", "b", "a", "c"], ["a", "a", "a", "c"]) == 0.25


def test_the_kernel_distance_is_the_sum_over_pairs_written_out() -> None:
    random = np.random.default_rng(3)
    real, made = random.normal(size=(5, 4)), random.normal(1, 1, size=(6, 4))

    def k(one: np.ndarray, other: np.ndarray) -> float:
        return float((one @ other / 4 + 1) ** 3)

    within = [[k(a, b) for n, a in enumerate(rows) for m, b in enumerate(rows) if n != m] for rows in (real, made)]
    between = [k(a, b) for a in real for b in made]
    expected = np.mean(within[0]) + np.mean(within[1]) - 2 * np.mean(between)
    assert kernel_distance(real, made)[0] == pytest.approx(expected)


def test_with_few_images_it_is_unbiased_where_a_frechet_distance_is_not() -> None:
    random = np.random.default_rng(4)
    pairs = [(random.normal(size=(8, 40)), random.normal(size=(8, 40))) for _ in range(400)]
    kernel = [kernel_distance(*pair) for pair in pairs]
    values, errors = np.array(kernel).T
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(len(values))
    assert min(frechet_distance(*pair) for pair in pairs) > 20
    assert errors.min() > 0


def test_its_standard_error_is_the_spread_over_draws_of_the_made_images() -> None:
    random = np.random.default_rng(5)
    real = random.normal(size=(200, 10))
    found = np.array([kernel_distance(real, random.normal(0.5, 1, size=(50, 10))) for _ in range(300)])
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.25)


def test_one_image_has_no_distance() -> None:
    with pytest.raises(ValueError, match="M, N > 1"):
        kernel_distance(np.zeros((1, 3)), np.zeros((4, 3)))
