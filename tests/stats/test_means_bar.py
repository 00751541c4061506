"""A mean against a bar: exact with few clusters, by bootstrap with many, bounded where nothing varies."""

from math import inf

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint, proportions_ztest

from cfeval.stats.means import AgainstBar, one_sample_test


def held(values: list[float], bar: float, **more: object) -> AgainstBar:
    return one_sample_test(values, bar, 0.95, 500, 0, **more)  # type: ignore[arg-type]


def test_few_clusters_are_tested_exactly_as_by_scipys_permutations() -> None:
    values = [0.9, 0.8, 0.7, 0.95, 0.4, 0.85]
    excess = np.array(values) - 0.5
    expected = stats.permutation_test((excess,), np.sum, permutation_type="samples", n_resamples=inf)
    found = held(values, 0.5)
    assert (found.test, found.clusters) == ("exact randomization", 6)
    assert found.p == pytest.approx(expected.pvalue)


def test_the_interval_of_few_clusters_is_students() -> None:
    values = [0.5, 0.6, 0.7, 0.55, 0.62]
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = held(values, 0.0).estimate
    assert (found.low, found.high) == pytest.approx((low, high))


def test_six_clusters_on_one_side_allow_no_smaller_p_than_one_in_32() -> None:
    assert held([0.6, 0.61, 0.62, 0.63, 0.64, 0.65], 0.5).p == 2 / 64


def test_many_clusters_are_drawn_with_replacement_and_items_of_one_count_together() -> None:
    draw = np.random.default_rng(1)
    alone = [float(value) for value in draw.random(60)]
    single, twice = held(alone, 0.5), held(alone * 2, 0.5, groups=[str(n) for n in range(60)] * 2)
    assert (single.test, twice.test) == ("bootstrap", "clustered bootstrap")
    assert twice.estimate.low == pytest.approx(single.estimate.low)
    assert twice.clusters == 60


def test_a_true_bar_is_rejected_about_as_often_as_the_level_says() -> None:
    draw = np.random.default_rng(2)
    rejected = [(held([float(v) for v in draw.random(40)], 0.5).p or 0) < 0.05 for _ in range(200)]
    assert 0.01 < np.mean(rejected) < 0.11


@pytest.mark.parametrize("hits", [3, 12, 25, 38])
def test_zeros_and_ones_have_wilsons_interval_and_the_score_test_that_it_inverts(hits: int) -> None:
    values = [1.0] * hits + [0.0] * (40 - hits)
    low, high = proportion_confint(hits, 40, method="wilson")
    expected = proportions_ztest(hits, 40, 0.4, prop_var=0.4)[1]
    found = held(values, 0.4)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((low, high))
    assert (found.test, found.p) == ("score", pytest.approx(expected))
    assert (found.p is not None and found.p < 0.05) == (not low < 0.4 < high)


def test_few_zeros_and_ones_are_tested_exactly_and_have_wilsons_interval_too() -> None:
    found = held([1.0] * 7 + [0.0], 0.5)
    assert (found.test, found.estimate.method) == ("exact randomization", "Wilson 95 %")
    assert found.p == stats.binomtest(7, 8).pvalue


@pytest.mark.parametrize(
    ("values", "bar", "p"),
    [([0.0] * 10, 0.5, 2 * 0.5**10), ([1.0] * 10, 0.9, 2 * 0.9**10), ([0.5] * 10, 0.5, 1.0), ([0.0] * 3, 0.05, 1.0)],
)
def test_where_all_clusters_agree_p_is_how_likely_that_is_at_the_bar(values: list[float], bar: float, p: float) -> None:
    found = held(values, bar)
    assert found.p == pytest.approx(min(1.0, p))
    assert found.estimate.low is not None


def test_a_constant_without_bounds_has_no_interval_and_the_p_of_its_signs() -> None:
    found = held([0.2] * 6, 0.0, bounds=(-inf, inf))
    assert (found.p, found.estimate.low, found.estimate.value) == (2 / 64, None, pytest.approx(0.2))
    assert held([0.2] * 6, 0.2, bounds=(-inf, inf)).p == 1


def test_a_value_out_of_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`values` must lie in \[0, 1\], but got 1.5"):
        held([1.5], 0.0)
