"""The effective size of shares in clusters, worked out by hand with the quantiles of a printed table of Student's t."""

import numpy as np
import pytest
from scipy.stats import t

from cfeval.stats.proportions import constant_limits, effective_size, mean_as_share, share, wilson, wilson_limits

T = {1: 12.706, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 6: 2.4469, 9: 2.2622, 11: 2.2010, 19: 2.0930, 31: 2.0395}
"""The upper 2.5 % points by degrees of freedom."""
Z = 1.95996


def pairs(*ones: int) -> tuple[list[float], list[str]]:
    """Clusters of two items each, with so many ones."""
    values = [float(place < count) for count in ones for place in range(2)]
    return values, [f"{number // 2}" for number in range(2 * len(ones))]


@pytest.mark.parametrize("flipped", [False, True])
def test_few_clusters_that_hold_the_rarer_outcome_leave_two_more_degrees_of_freedom(flipped: bool) -> None:
    """Of ten clusters of two one holds the two ones, so 1 + 2 = 3 degrees and not 10 − 1 = 9.

    The mean is .1, its variance 10/9 · ((2 − .2)² + 9 · .2²) / 20² = 10/9 · 3.6 / 400 = .01, where independent items
    would have .1 · .9 / 19. With 2 of 3 clusters more that hold ones it is 3 + 2 = 5.
    """
    for held, variance, degrees in ((1, 0.01, 3), (3, 10 / 9 * (3 * 1.4**2 + 7 * 0.6**2) / 400, 5)):
        ones = [2] * held + [0] * (10 - held)
        mean = held / 10
        found = share(*pairs(*([2 - count for count in ones] if flipped else ones)))
        independent = mean * (1 - mean) / 19
        assert found.size == pytest.approx(20 * independent / variance * (T[19] / T[degrees]) ** 2, rel=1e-4)


def test_where_both_outcomes_are_in_many_clusters_the_degrees_are_the_clusters_less_one() -> None:
    """Ten clusters, five of them all ones: 5 + 2 = 7 degrees; with one of either in each of ten, 10 − 1 = 9."""
    half = pairs(*[2] * 5 + [0] * 5)
    variance = 10 / 9 * 10 * 1.0 / 400
    t7 = 2.3646
    assert share(*half).size == pytest.approx(20 * (0.25 / 19) / variance * (T[19] / t7) ** 2, rel=1e-4)
    mixed = pairs(*[1] * 8, 2, 0)
    assert share(*mixed).size == pytest.approx(20 * (T[19] / T[9]) ** 2, rel=1e-4), "no more alike than by chance"


def test_a_cluster_that_is_far_larger_than_the_others_leaves_few_degrees_of_freedom() -> None:
    """Sizes 24, 2, 2, 2, 2: (576 + 4 · 4)² / (331776 + 4 · 16) = 592² / 331840 = 1.0561 degrees, not 4."""
    totals = np.array([[20.0, 24.0], [0, 2], [0, 2], [2, 2], [0, 2]])
    mean = 22 / 32
    excess = totals[:, 0] - mean * totals[:, 1]
    variance = 5 / 4 * float((excess**2).sum()) / 32**2
    independent = mean * (1 - mean) / 31
    expected = 32 * independent / max(independent, variance) * (T[31] / t.ppf(0.975, 592**2 / 331840)) ** 2
    assert effective_size(totals) == pytest.approx(expected, rel=1e-4)


def test_two_clusters_have_one_degree_of_freedom() -> None:
    totals = np.array([[3.0, 6.0], [2.0, 6.0]])
    mean, variance = 5 / 12, 2 / 1 * (0.5**2 + 0.5**2) / 144
    independent = mean * (1 - mean) / 11
    assert variance < independent
    assert effective_size(totals) == pytest.approx(12 * (T[11] / T[1]) ** 2, rel=1e-3)


def test_a_size_is_no_larger_than_makes_the_limit_of_all_ones() -> None:
    """99 clusters of ten items are all ones, and the last has one zero: with 1,000 items it would be surer than 100
    clusters of ones alone, whose lower limit is 100 / (100 + z²) = .963.
    """
    totals = np.array([[10.0, 10.0]] * 99 + [[9.0, 10.0]])
    end = 100 / (100 + Z**2)
    value = 999 / 1000
    most = Z**2 * end * (1 - end) / (value - end) ** 2
    assert effective_size(totals) == pytest.approx(most, rel=1e-4)
    mirrored = np.array([[0.0, 10.0]] * 99 + [[1.0, 10.0]])
    assert effective_size(mirrored) == pytest.approx(most, rel=1e-4)


def test_a_mean_of_fractions_has_the_size_of_its_variance() -> None:
    """Values .5, 1, 0, .5 by themselves: mean .5, variance 4/3 · (.25 + .25) / 16 = 1/24, and 3 degrees of freedom."""
    found = mean_as_share([0.5, 1.0, 0.0, 0.5])
    assert (found.value, found.n) == (0.5, 4)
    assert found.size == pytest.approx(0.25 * 24 * (Z / T[3]) ** 2, rel=1e-4)


@pytest.mark.parametrize("size", [1.0, 7.3, 16.0, 400.0])
@pytest.mark.parametrize("value", [0.0, 0.05, 0.25, 0.9, 1.0])
def test_wilsons_limits_are_the_shares_from_which_what_was_seen_is_just_z_standard_errors_away(
    value: float, size: float
) -> None:
    """(value − p)² = z² · p · (1 − p) / size has two roots (Wilson 1927); a root at the end of the scale is exact."""
    low, high = wilson_limits(value, size, 0.95)
    for limit in (low, high):
        assert (value - limit) ** 2 == pytest.approx(Z**2 * limit * (1 - limit) / size, rel=1e-4, abs=1e-12)
    assert 0 <= low <= value <= high <= 1
    assert low < high
    assert (low == 0) == (value == 0)
    assert (high == 1) == (value == 1)


def test_a_higher_level_is_wider() -> None:
    """The upper 5 % point of the normal distribution is 1.64485."""
    low, high = wilson_limits(0.25, 16.0, 0.9)
    for limit in (low, high):
        assert (0.25 - limit) ** 2 == pytest.approx(1.64485**2 * limit * (1 - limit) / 16, rel=1e-4)
    wider = wilson_limits(0.25, 16.0, 0.95)
    assert wider[0] < low < high < wider[1]


@pytest.mark.parametrize(("values", "bad"), [([0.5, -0.25, 3.0], "-0.25"), ([0.5, 1.25, -3.0], "1.25")])
def test_a_value_out_of_bounds_is_named_the_first_one(values: list[float], bad: str) -> None:
    with pytest.raises(ValueError, match=rf"must lie in \[0, 1\] for a Wilson interval, but got {bad}$"):
        mean_as_share(values)
    with pytest.raises(ValueError, match=rf"must be zeros and ones for a Wilson interval, but got {bad}$"):
        share([1.0, *values[1:]])


def test_what_is_all_alike_is_worth_its_clusters() -> None:
    for value in (0.0, 1.0):
        assert share([value] * 6, ["a", "a", "b", "b", "c", "c"]).size == 3
    assert share([1.0, 0.0, 1.0], ["a", "a", "a"]).size == 1
    assert share([1.0, 0.0, 1.0]).size == 3


def test_an_estimate_tells_its_figure_its_items_and_whether_they_come_in_clusters() -> None:
    apart, clustered = share([1.0, 0.0, 1.0, 1.0]), share([1.0, 0.0, 1.0, 1.0], ["a", "a", "b", "b"])
    assert (apart.value, apart.n, apart.clustered, clustered.clustered) == (0.75, 4, False, True)
    assert wilson(apart, 0.9).method == "Wilson 90 %"
    assert wilson(clustered, 0.95).method == "clustered Wilson 95 %"
    assert mean_as_share([0.5, 0.25, 1.0], ["a", "a", "b"]).clustered


def test_where_nothing_varies_the_limits_reach_from_the_value_towards_both_bounds() -> None:
    """Of 10 clusters none is other: at most u = z² / (10 + z²) of all are, and those lie at −1 or at 3."""
    u = Z**2 / (10 + Z**2)
    assert constant_limits(0.5, 10, 0.95, (-1.0, 3.0)) == pytest.approx((0.5 - 1.5 * u, 0.5 + 2.5 * u), rel=1e-4)
