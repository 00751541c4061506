"""Paired comparison against statsmodels, scipy and tests worked out by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.multitest import multipletests

from cfeval.stats.estimates import ratio, sums_and_counts
from cfeval.stats.intervals import bootstrap, resampled
from cfeval.stats.paired import compare, compare_all, holm, mcnemar, partly_paired
from cfeval.stats.power import paired_size

PAIRS = [(12, 5), (5, 12), (8, 8), (1, 0), (30, 9), (400, 330)]


def differences(gains: int, losses: int, equal: int = 20) -> list[float]:
    return [1.0] * gains + [-1.0] * losses + [0.0] * equal


def scores(both: int, first: int, second: int, neither: int) -> tuple[list[float], list[float]]:
    first_ones = [1.0] * (both + first) + [0.0] * (second + neither)
    return first_ones, [1.0] * both + [0.0] * first + [1.0] * second + [0.0] * neither


@pytest.mark.parametrize(("gains", "losses"), PAIRS)
def test_mcnemar_of_single_items_is_that_of_statsmodels(gains: int, losses: int) -> None:
    expected = mcnemar_of_statsmodels([[7, gains], [losses, 7]], exact=True).pvalue
    assert mcnemar(differences(gains, losses)).exact == pytest.approx(expected)


@pytest.mark.parametrize(("gains", "losses"), PAIRS)
def test_the_mid_p_leaves_out_half_of_what_was_seen(gains: int, losses: int) -> None:
    """Fagerland, Lydersen and Laake 2013, Equation 4."""
    seen = stats.binom.pmf(gains, gains + losses, 0.5)
    exact = stats.binomtest(gains, gains + losses).pvalue
    expected = 1 - seen / 2 if gains == losses else exact - seen
    assert mcnemar(differences(gains, losses)).mid == pytest.approx(expected)


def test_mcnemar_of_images_tries_every_swap_of_the_targets_within_images() -> None:
    values, groups = [1, 1, 1, 1, -1, 1, 0, 1, 0, 0], list("aaabbcddee")
    sums = [3, 0, 1, 1, 0]
    totals = [
        abs(sum(sign * size for sign, size in zip(signs, sums, strict=True))) for signs in product((1, -1), repeat=5)
    ]
    expected = np.mean([total >= 5 for total in totals]), np.mean([(total > 5) + (total == 5) / 2 for total in totals])
    found = mcnemar(values, groups)
    assert (found.exact, found.mid) == pytest.approx(expected)


def test_no_difference_anywhere_is_no_evidence() -> None:
    found = compare([1, 0, 1], [1, 0, 1], 0.95, 500, 0)
    assert (found.p, found.mcnemar, found.discordance, found.detectable) == (1, mcnemar([0, 0, 0]), 0, None)
    assert mcnemar([0, 0]).exact == mcnemar([0, 0]).mid == 1
    assert found.difference.low is not None
    assert found.difference.low < -0.5 < 0.5 < (found.difference.high or 0)


def test_the_difference_has_the_bootstrap_interval_of_the_items_differences() -> None:
    first, second = scores(40, 30, 12, 38)
    groups = [str(index // 3) for index in range(120)]
    found = compare(first, second, 0.9, 1000, 4, groups)
    expected = bootstrap([a - b for a, b in zip(first, second, strict=True)], 0.9, 1000, 4, groups, bounds=(-1, 1))
    assert (found.difference.low, found.difference.high) == pytest.approx((expected.low, expected.high))
    assert found.difference.method == expected.method
    assert found.difference.value == pytest.approx(18 / 120)
    assert found.discordance == pytest.approx(42 / 120)


def test_the_p_value_is_near_that_of_a_t_test_and_of_mcnemar_where_items_are_many() -> None:
    first, second = scores(400, 110, 80, 410)
    expected = stats.ttest_rel(first, second).pvalue
    found = compare(first, second, 0.95, 10_000, 0)
    assert found.p == pytest.approx(expected, abs=0.01)
    assert found.mcnemar is not None
    assert found.mcnemar.mid == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("cluster", [1, 3])
@pytest.mark.parametrize("levels", [2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_pairs_that_share_their_resamples_are_compared_as_each_alone(seed: int, levels: int, cluster: int) -> None:
    """Against scipy's bootstrap of each pair's own differences, pair by pair, and the exact test of each."""
    rng = np.random.default_rng(seed)
    given = rng.integers(levels, size=(5, 60)) / (levels - 1)
    given[rng.random(given.shape) < 0.2 * rng.integers(2, size=(5, 1))] = np.nan
    given[4] = given[3]  # nothing varies
    images = [f"image{item // cluster}" for item in range(60)]
    pairs = [(one, other) for one in range(5) for other in range(one)]
    found = compare_all(given, pairs, 0.9, 500, seed, images)
    for (one, other), compared in zip(pairs, found, strict=True):
        both = ~np.isnan(given[one] + given[other])
        differences = list((given[one] - given[other])[both])
        groups = [name for name, there in zip(images, both, strict=True) if there]
        expected = bootstrap(differences, 0.9, 500, seed, groups, bounds=(-1, 1))
        told = compared.difference
        assert (told.value, told.low, told.high) == pytest.approx((expected.value, expected.low, expected.high))
        assert (told.method, told.n, told.note) == (expected.method, expected.n, expected.note)
        assert compared.clusters == len(set(groups))
        assert compared.mcnemar == (mcnemar(differences, groups) if levels == 2 else None)
        if expected.note:
            continue
        drawn = resampled(sums_and_counts(differences, groups), ratio, 0.9, 500, seed).bootstrap_distribution
        tail = min((drawn <= 1e-12).sum(), (drawn >= -1e-12).sum())
        assert compared.p == min(1.0, 2 * (1 + tail) / 501)


def test_resamples_that_are_drawn_in_parts_are_those_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given = np.random.default_rng(0).integers(2, size=(3, 45)).astype(float)
    pairs = [(0, 1), (0, 2), (1, 2)]
    whole = compare_all(given, pairs, 0.95, 333, 5)
    monkeypatch.setattr("cfeval.stats.paired._DRAWS_AT_ONCE", 7 * 45)
    monkeypatch.setattr("cfeval.stats.paired._PAIRS_AT_ONCE", 2)
    assert compare_all(given, pairs, 0.95, 333, 5) == whole


def test_targets_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(ValueError, match="an item in common"):
        compare_all(np.array([[1, np.nan], [np.nan, 0]]), [(0, 1)], 0.95, 200, 0)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        compare_all(np.array([[1, 2.0], [0, 0]]), [(0, 1)], 0.95, 200, 0)
    assert compare_all(np.zeros((1, 4)), [], 0.95, 200, 0) == []


@pytest.mark.parametrize("gains", [20, 24, 28, 32, 36])
def test_the_interval_leaves_out_no_difference_where_the_p_value_is_small(gains: int) -> None:
    found = compare(*scores(50, gains, 20, 60), 0.95, 4000, 1)
    assert found.difference.low is not None
    assert found.p is not None
    assert (found.difference.low > 0) == (found.p < 0.05)


def test_the_same_difference_on_every_item_leaves_the_test_to_mcnemar() -> None:
    found = compare([1] * 6, [0] * 6, 0.95, 500, 0)
    assert found.p is None
    assert found.mcnemar is not None
    assert found.mcnemar.exact == pytest.approx(2 / 2**6)


def test_scores_between_0_and_1_have_no_mcnemar() -> None:
    found = compare([0.5, 1, 0.75, 0.2], [0, 1, 0.5, 0.6], 0.95, 500, 0)
    assert found.mcnemar is None
    assert found.p is not None


def test_the_detectable_difference_is_the_one_that_needs_just_these_items() -> None:
    first, second = scores(100, 40, 40, 120)
    found = compare(first, second, 0.95, 200, 0, power=0.9)
    assert found.detectable is not None
    assert paired_size(found.detectable, 80 / 300, 0.95, 0.9) == pytest.approx(300)
    doubled = compare(first * 2, second * 2, 0.95, 200, 0, [str(index) for index in range(300)] * 2, power=0.9)
    assert doubled.detectable == pytest.approx(found.detectable, rel=0.01)


def test_two_items_can_show_no_difference_at_all() -> None:
    assert compare([1, 0], [0, 0], 0.95, 200, 0).detectable is None


def test_scores_that_do_not_pair_are_refused() -> None:
    with pytest.raises(ValueError, match="a score for each"):
        compare([1, 0], [1], 0.95, 200, 0)
    with pytest.raises(ValueError, match="zeros and ones"):
        mcnemar([0.5])


def test_holm_by_hand() -> None:
    """Sorted: .01 · 4, .02 · 3, .03 · 2, and .2; never below the one before."""
    assert holm([0.02, 0.2, None, 0.01, 0.03]) == [
        pytest.approx(p) if p else None for p in (0.06, 0.2, None, 0.04, 0.06)
    ]
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([None]) == [None]
    assert holm([]) == []


def test_adjusted_p_values_are_those_of_statsmodels() -> None:
    values = [0.04, None, 0.001, 0.03, 0.9, 0.02, 0.02]
    told = [p for p in values if p is not None]
    adjusted = holm(values)
    assert adjusted[1] is None
    assert [p for p in adjusted if p is not None] == pytest.approx(list(multipletests(told, method="holm")[1]))
    assert holm([None]) == [None]


def test_with_both_scores_of_every_item_it_is_the_paired_difference() -> None:
    rng = np.random.default_rng(1)
    first, second = (list(rng.integers(0, 2, 60).astype(float)) for _ in range(2))
    images = [f"i{place // 2}" for place in range(60)]
    whole = compare(first, second, 0.95, 4000, 0, images).difference
    partly = partly_paired(first, second, 0.95, 4000, 0, (images, images))
    assert partly.value == pytest.approx(whole.value)
    assert (partly.low, partly.high) == pytest.approx((whole.low, whole.high), abs=0.02)
    assert partly.method == whole.method


def test_with_some_scores_missing_its_spread_is_that_of_partly_paired_means() -> None:
    rng = np.random.default_rng(2)
    skill = rng.random(400)
    first, second = (rng.random(400) < skill).astype(float), (rng.random(400) < skill * 0.7).astype(float)
    names = np.array([f"i{place}" for place in range(400)])
    has_first, has_second = rng.random(400) < 0.9, rng.random(400) < 0.5
    found = partly_paired(
        list(first[has_first]),
        list(second[has_second]),
        0.95,
        4000,
        0,
        (list(names[has_first]), list(names[has_second])),
    )
    both = has_first & has_second
    covariance = np.cov(first[both], second[both])[0, 1] * both.sum() / (has_first.sum() * has_second.sum())
    variance = first[has_first].var() / has_first.sum() + second[has_second].var() / has_second.sum() - 2 * covariance
    assert found.value == pytest.approx(first[has_first].mean() - second[has_second].mean())
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.08)


def test_a_mean_without_a_score_is_refused_and_one_image_has_a_bound() -> None:
    with pytest.raises(ValueError, match="each kind needs a score"):
        partly_paired([], [1.0], 0.95, 100, 0, ([], ["a"]))
    found = partly_paired([1.0], [0.0], 0.95, 100, 0, (["a"], ["a"]))
    assert (found.value, found.high) == (1.0, 1.0)
    assert "no variation" in found.note
