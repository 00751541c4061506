"""Intervals of a mean against other implementations, limits worked out by hand, and properties."""

import random
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from cfeval.stats.estimates import Estimate, ratio_variance, sums_and_counts
from cfeval.stats.intervals import Kind, Method, bootstrap, interval, t_interval
from cfeval.stats.proportions import share, wilson, wilson_limits
from tests.stats.simulation import alike, images, names, ones

ITEMS = st.lists(st.tuples(st.sampled_from([0, 0.25, 1]), st.sampled_from("abcdef")), min_size=1, max_size=40)
METHODS: tuple[Method, ...] = ("bootstrap", "bca", "wilson")


def clustered(count: int = 80) -> tuple[list[float], list[str]]:
    rng = np.random.default_rng(3)
    image = images(rng, count)
    return ones(rng, alike(rng, image, 0.6)), names(image)


def limits(found: Estimate) -> tuple[float | None, float | None]:
    return found.low, found.high


@pytest.mark.parametrize("kind", ["percentile", "BCa"])
def test_the_bootstrap_of_single_items_is_that_of_scipy(kind: Kind) -> None:
    values = np.sort(np.random.default_rng(0).beta(2, 1, 60))
    found = stats.bootstrap(
        (values,), np.mean, n_resamples=999, confidence_level=0.9, method=kind, rng=np.random.default_rng(5)
    ).confidence_interval
    assert limits(bootstrap(values.tolist(), 0.9, 999, 5, kind=kind)) == pytest.approx(
        (found.low, found.high), abs=1e-12
    )


def test_the_clustered_bootstrap_agrees_with_drawing_images_written_out() -> None:
    values, groups = clustered()
    by_image = [[v for v, g in zip(values, groups, strict=True) if g == group] for group in sorted(set(groups))]
    rng = random.Random(1)
    means = [
        np.mean([value for image in rng.choices(by_image, k=len(by_image)) for value in image]) for _ in range(4000)
    ]
    found = bootstrap(values, 0.95, 4000, 3, groups)
    assert limits(found) == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=0.012)
    assert found.value == pytest.approx(np.mean(values))


def test_the_bca_interval_takes_its_acceleration_from_leaving_out_images() -> None:
    """Worked out with the formulas of Efron 1987 from the same resamples."""
    values, groups = clustered(30)
    totals = sums_and_counts(values, groups)
    drawn = np.random.default_rng(5).integers(0, 30, (1000, 30))
    means = totals[drawn].sum(axis=1)[:, 0] / totals[drawn].sum(axis=1)[:, 1]
    mean = np.mean(values)
    left = np.array([np.delete(totals, k, axis=0).sum(axis=0) for k in range(30)])
    pull = (left[:, 0] / left[:, 1]).mean() - left[:, 0] / left[:, 1]
    speed = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5)
    bias = stats.norm.ppf(np.mean(means < mean) + np.mean(means == mean) / 2)
    z = bias + stats.norm.ppf([0.025, 0.975])
    expected = np.quantile(means, stats.norm.cdf(bias + z / (1 - speed * z)))
    assert limits(bootstrap(values, 0.95, 1000, 5, groups, "BCa")) == pytest.approx(expected, abs=1e-9)


def test_the_variance_of_a_clustered_mean_is_the_sandwich_of_statsmodels() -> None:
    values, groups = clustered()
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": np.unique(groups, return_inverse=True)[1]}
    )
    assert ratio_variance(sums_and_counts(values, groups)) == pytest.approx(fit.bse[0] ** 2)


def test_a_large_clustered_sample_has_the_same_interval_by_every_method() -> None:
    values, groups = clustered(2000)
    half = 1.96 * np.sqrt(ratio_variance(sums_and_counts(values, groups)))
    for method in METHODS:
        found = interval(values, method, 0.95, 2000, 0, groups)
        assert limits(found) == pytest.approx((np.mean(values) - half, np.mean(values) + half), abs=0.002)


def test_wilson_agrees_with_the_formula_worked_out_by_hand() -> None:
    z, n, p = 1.959963984540054, 10, 0.8
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert limits(wilson(share([1] * 8 + [0] * 2), 0.95)) == pytest.approx((centre - half, centre + half))


def test_wilson_agrees_with_scipy_where_every_image_has_one_item() -> None:
    found = stats.binomtest(37, 120).proportion_ci(0.9, method="wilson")
    values = [1.0] * 37 + [0.0] * 83
    each = [str(index) for index in range(120)]
    assert limits(wilson(share(values, each), 0.9)) == pytest.approx((found.low, found.high))


def test_items_that_only_repeat_their_image_add_nothing_to_wilson() -> None:
    values, groups = [1.0] * 120 + [0.0] * 80, [str(index) for index in range(200)]
    once, thrice = wilson(share(values), 0.95), wilson(share(values * 3, groups * 3), 0.95)
    assert limits(thrice) == pytest.approx(limits(once), abs=0.0015)
    assert thrice.n == 600


def test_wilson_of_independent_items_is_no_narrower_for_being_clustered() -> None:
    alternating, pairs = [0.0, 1.0] * 50, [str(index // 2) for index in range(100)]
    single, found = wilson(share(alternating), 0.95), wilson(share(alternating, pairs), 0.95)
    assert found.high is not None
    assert single.high is not None
    assert found.high >= single.high


def test_wilson_refuses_what_is_not_a_share() -> None:
    with pytest.raises(ValueError, match=r"zeros and ones .* got 0.5"):
        share([0, 0.5])


def test_means_over_edits_have_wilsons_interval_of_as_many_ones_as_are_known_as_well() -> None:
    """By hand: .6 with a variance of .0016 is known as well as from 150 ones and zeros; Student's t for few images."""
    values = [0.4, 0.8] * 50
    size = 0.24 / (0.04 / 99) * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 99)) ** 2
    found = interval(values, "wilson", 0.95, 500, 0)
    low, high = proportion_confint(0.6 * size, size, method="wilson")
    assert limits(found) == pytest.approx((low, high))
    assert found.method == "Wilson 95 %"
    assert interval([0, 0.5, 1], "bca", 0.95, 500, 0).method == "BCa bootstrap 95 %"


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_equal_scores_have_wilsons_interval_by_every_method(value: float, method: Method) -> None:
    found = interval([value] * 30, method, 0.95, 500, 0)
    expected = stats.binomtest(int(30 * value), 30).proportion_ci(0.95, method="wilson")
    assert limits(found) == pytest.approx((expected.low, expected.high))
    assert "Wilson" in found.method


def test_where_nothing_varies_images_are_counted_and_not_items() -> None:
    few = bootstrap([1.0] * 30, 0.95, 500, 0, [str(index % 3) for index in range(30)])
    assert limits(few) == pytest.approx(limits(bootstrap([1.0] * 3, 0.95, 500, 0)))
    assert few.note


def test_equal_scores_between_0_and_1_leave_room_for_what_was_not_seen() -> None:
    """By hand: at most 11.35 % of the images (Wilson, 0 of 30) can be other, and those lie between 0 and 1."""
    most = 1.96**2 / (30 + 1.96**2)
    found = bootstrap([0.25] * 30, 0.95, 500, 0)
    assert limits(found) == pytest.approx((0.25 - 0.25 * most, 0.25 + 0.75 * most), abs=1e-4)


def test_a_single_image_tells_next_to_nothing() -> None:
    for method in METHODS:
        found = interval([0, 1, 1, 1], method, 0.95, 500, 0, ["a"] * 4)
        assert found.low is not None
        assert found.high is not None
        assert found.high - found.low > 0.7


def test_the_seed_decides_the_bootstrap() -> None:
    values = [0, 0.3, 0.5, 0.7, 1] * 5
    assert bootstrap(values, 0.95, 500, 1) == bootstrap(values, 0.95, 500, 1) != bootstrap(values, 0.95, 500, 2)


def test_what_cannot_be_averaged_is_an_error_and_no_interval() -> None:
    with pytest.raises(ValueError, match="at least one item"):
        bootstrap([], 0.95, 500, 0)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], but got 1.5"):
        bootstrap([1.5], 0.95, 500, 0)
    with pytest.raises(ValueError, match="a group for each of the 2 items, but got 1"):
        bootstrap([0, 1], 0.95, 500, 0, ["a"])


def test_a_rounded_estimate_has_four_decimals_and_no_negative_zero() -> None:
    assert str(Estimate(-0.00001, 1 / 3, None).rounded()).startswith("Estimate(value=0.0, low=0.3333, high=None")


@given(ITEMS, st.randoms(), st.sampled_from(METHODS))
def test_limits_hold_the_mean_and_ignore_the_order_of_items_and_the_names_of_images(
    items: list[tuple[float, str]], rng: Any, method: Method
) -> None:
    def of(rows: list[tuple[float, str]]) -> Estimate:
        values, groups = zip(*rows, strict=True)
        return interval(values, method, 0.95, 200, 0, groups)

    found = of(items)
    shuffled = [(value, f"{ord('z') - ord(group)}.png") for value, group in items]
    rng.shuffle(shuffled)
    assert of(shuffled) == found
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert 0 <= found.low <= found.high <= 1
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    assert found.high - found.low > 1e-4, "no interval is without width"


@given(st.integers(1, 500), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_every_further_one_lifts_both_limits_of_wilson(n: int, data: st.DataObject, level: float) -> None:
    ones = data.draw(st.integers(0, n - 1))
    fewer, more = (wilson(share([1.0] * k + [0.0] * (n - k)), level) for k in (ones, ones + 1))
    assert limits(fewer) < limits(more)
    assert (fewer.high or 0) <= (more.high or 0)


def test_400_of_400_is_surer_than_399_of_400() -> None:
    assert (wilson(share([1.0] * 400), 0.95).low or 0) > (wilson(share([1.0] * 399 + [0.0]), 0.95).low or 0)


CLUSTERS = st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=30), min_size=1, max_size=30)


@given(CLUSTERS)
def test_in_clusters_too_nothing_is_surer_than_ones_alone(clusters: list[list[float]]) -> None:
    values = [value for one in clusters for value in one]
    groups = [str(index) for index, one in enumerate(clusters) for _ in one]
    found, best = wilson(share(values, groups), 0.95), wilson(share([1.0] * len(values), groups), 0.95)
    assert (found.low or 0) <= (best.low or 0) + 1e-9
    assert (found.high or 0) >= 1 - (best.low or 0) - 1e-9
    assert (found.high or 0) - (found.low or 0) > 1e-4


def test_runs_have_students_interval() -> None:
    values = [0.54, 0.61, 0.58, 0.55, 0.62]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    found = t_interval(values, 0.9)
    assert limits(found) == pytest.approx((expected.low, expected.high))
    assert (found.n, found.method) == (5, "t over runs 90 %")


def test_one_run_has_no_interval_and_equal_runs_say_so() -> None:
    assert limits(t_interval([0.5], 0.95)) == (None, None)
    assert t_interval([0.5], 0.95).value == 0.5
    assert limits(t_interval([0.5, 0.5], 0.95)) == (None, None)
    assert t_interval([0.5, 0.5], 0.95).note


def test_limits_over_runs_stay_in_bounds() -> None:
    assert limits(t_interval([0.9, 1.0], 0.95))[1] == 1
    assert limits(t_interval([0.0, 0.2], 0.95))[0] == 0


def test_the_method_is_named_for_the_table() -> None:
    values, groups = clustered()
    assert interval(values, "bootstrap", 0.95, 100, 0).method == "percentile bootstrap 95 %"
    assert interval(values, "bca", 0.9, 100, 0).method == "BCa bootstrap 90 %"
    assert interval(values, "wilson", 0.999, 100, 0).method == "Wilson 99.9 %"
    assert interval(values, "bca", 0.95, 100, 0, groups).method == "clustered BCa bootstrap 95 %"


@pytest.mark.parametrize(("value", "size"), [(0, 5), (0.25, 12), (0.5188, 399), (0.3, 7.4), (1, 240)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_wilsons_limits_are_those_of_statsmodels(value: float, size: float, level: float) -> None:
    expected = proportion_confint(value * size, size, alpha=1 - level, method="wilson")
    assert wilson_limits(value, size, level) == pytest.approx(expected, abs=1e-12)
