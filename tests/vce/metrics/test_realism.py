"""The Fréchet distance against torchmetrics, SciPy and distances worked out by hand."""

import numpy as np
import pytest
import scipy.linalg
import torch

from cfeval.vce.metrics.realism import frechet_distance, frechet_floor, halves, split_frechet_distance


def drawn(rows: int, width: int, seed: int, shift: float = 0.0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.normal(size=(rows, width)) @ random.normal(size=(width, width)) + shift


@pytest.mark.parametrize(("rows", "width"), [(40, 5), (200, 40), (30, 64)])
def test_it_is_that_of_torchmetrics(rows: int, width: int) -> None:
    from torchmetrics.image.fid import FrechetInceptionDistance

    class Rows(torch.nn.Module):
        num_features = width

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return rows

    first, second = drawn(rows, width, 1), drawn(rows + 3, width, 2, shift=0.5)
    theirs = FrechetInceptionDistance(feature=Rows()).set_dtype(torch.float64)
    theirs.update(torch.tensor(first), real=True)
    theirs.update(torch.tensor(second), real=False)
    assert frechet_distance(first, second) == pytest.approx(theirs.compute().item(), rel=1e-6)


def test_it_is_the_formula_with_scipys_root() -> None:
    first, second = drawn(300, 12, 3), drawn(250, 12, 4, shift=1)
    one, other = np.cov(first, rowvar=False), np.cov(second, rowvar=False)
    root = scipy.linalg.sqrtm(one @ other).real
    apart = first.mean(axis=0) - second.mean(axis=0)
    assert frechet_distance(first, second) == pytest.approx(apart @ apart + np.trace(one + other - 2 * root))


def test_in_one_dimension_it_is_that_of_two_normal_distributions() -> None:
    first, second = np.array([[0.0], [2.0]]), np.array([[10.0], [14.0], [18.0]])  # sd √2 and 4
    assert frechet_distance(first, second) == pytest.approx(13**2 + (4 - 2**0.5) ** 2)


def test_a_shift_costs_its_square_and_equal_sets_cost_nothing() -> None:
    rows = drawn(20, 50, 5)
    assert frechet_distance(rows, rows) == pytest.approx(0, abs=1e-9)
    assert frechet_distance(rows, rows[::-1] + 2) == pytest.approx(4 * 50)


def test_a_set_without_a_covariance_is_refused() -> None:
    with pytest.raises(ValueError, match="M, N > 1"):
        frechet_distance(np.zeros((1, 3)), np.zeros((4, 3)))
    with pytest.raises(ValueError, match="M, N > 1"):
        frechet_distance(np.zeros((4, 2)), np.zeros((4, 3)))


def test_halves_are_disjoint_and_of_one_size() -> None:
    for count in (6, 7):
        for one, other in halves(count, 3, 1):
            assert len(one) == len(other) == 3
            assert not set(one) & set(other)


def test_an_image_is_never_compared_with_its_own_counterfactual() -> None:
    originals = drawn(10, 4, 6)
    unchanged = split_frechet_distance(originals, originals, range(10), splits=3, seed=1)
    assert unchanged == pytest.approx(frechet_floor(originals, splits=3, seed=1))
    assert unchanged is not None
    assert unchanged > frechet_distance(originals, originals)


def test_across_halves_it_is_the_mean_of_both_directions() -> None:
    originals, made = drawn(8, 3, 7), drawn(8, 3, 8)
    [(one, other)] = halves(8, 1, 5)
    expected = (frechet_distance(originals[one], made[other]) + frechet_distance(originals[other], made[one])) / 2
    assert split_frechet_distance(originals, made, range(8), splits=1, seed=5) == pytest.approx(expected)


def test_counterfactuals_of_one_image_stay_together() -> None:
    originals = drawn(4, 2, 9)
    made, source_of = np.repeat(originals, 3, axis=0), np.repeat(range(4), 3).tolist()
    [(one, other)] = halves(4, 1, 2)
    both = ((one, other), (other, one))
    expected = np.mean([frechet_distance(originals[a], np.repeat(originals[b], 3, axis=0)) for a, b in both])
    assert split_frechet_distance(originals, made, source_of, splits=1, seed=2) == pytest.approx(expected)


def test_too_few_images_have_no_figure() -> None:
    rows = drawn(3, 2, 10)
    assert split_frechet_distance(rows, rows, range(3), splits=1, seed=1) is None
    assert frechet_floor(rows, splits=1, seed=1) is None
