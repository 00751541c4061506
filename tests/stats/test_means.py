"""The difference of two independent means."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from cfeval.stats.means import gap


def test_the_interval_is_that_of_scipys_two_sample_bootstrap() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(60), rng.random(90) * 0.5
    found = gap(first.tolist(), second.tolist(), 0.95, 4000, 1)
    other = bootstrap(
        (first, second),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert found.difference.value == pytest.approx(first.mean() - second.mean())
    assert (found.difference.low, found.difference.high) == pytest.approx((other.low, other.high), abs=0.01)
    assert found.p is not None
    assert found.p < 0.001


def test_clusters_are_drawn_as_a_whole() -> None:
    first, second = [1.0, 1, 1, 1, 0, 0, 0, 0], [0.0, 1] * 4
    groups = (list("aaaabbbb"), list("abcdefgh"))
    clustered, single = gap(first, second, 0.95, 500, 0, groups), gap(first, second, 0.95, 500, 0)
    assert clustered.difference.method == "clustered percentile bootstrap 95 %"
    assert clustered.difference.low < single.difference.low  # type: ignore[operator]


def test_equal_samples_show_nothing_and_constant_ones_have_no_interval() -> None:
    assert gap([0.0, 1] * 20, [0.0, 1] * 20, 0.95, 500, 0).p > 0.5  # type: ignore[operator]
    constant = gap([1.0, 1.0], [0.0, 0.0], 0.95, 500, 0)
    assert (constant.difference.value, constant.difference.low, constant.p) == (1, None, None)


@pytest.mark.slow
def test_a_null_is_rejected_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    p_values = [
        gap(rng.integers(0, 2, 60).tolist(), rng.integers(0, 2, 80).tolist(), 0.95, 400, i).p for i in range(200)
    ]
    assert 0.01 < np.mean([p is not None and p < 0.05 for p in p_values]) < 0.11


def test_an_empty_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one item"):
        gap([], [1.0], 0.95, 100, 0)
