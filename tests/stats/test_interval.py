"""Intervals against other implementations, limits worked out by hand, and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cfeval.stats.interval import describe, interval

BITS = st.lists(st.integers(0, 1), min_size=1, max_size=60)


def boot(values: list[float], seed: int = 0, resamples: int = 500) -> tuple[float, float]:
    return interval(values, "bootstrap", 0.95, resamples, seed)


def test_wilson_agrees_with_the_formula_worked_out_by_hand() -> None:
    z, n, p = 1.959963984540054, 10, 0.8
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert interval([1] * 8 + [0] * 2, "wilson", 0.95, 100, 0) == (round(centre - half, 4), round(centre + half, 4))


def test_wilson_agrees_with_scipy() -> None:
    found = stats.binomtest(37, 120).proportion_ci(0.9, method="wilson")
    assert interval([1] * 37 + [0] * 83, "wilson", 0.9, 100, 0) == (round(found.low, 4), round(found.high, 4))


def test_wilson_refuses_what_is_not_a_share() -> None:
    with pytest.raises(ValueError, match=r"zeros and ones .* got 0.5"):
        interval([0, 0.5], "wilson", 0.95, 100, 0)


def test_bootstrap_agrees_with_resampling_written_out() -> None:
    values = np.array([0.0] * 30 + [1.0] * 70)
    rng = np.random.default_rng(1)
    means = rng.choice(values, (4000, 100)).mean(axis=1)
    found = interval(list(values), "bootstrap", 0.95, 4000, 3)
    assert found == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=0.012)


def test_bootstrap_of_a_large_sample_approaches_the_normal_interval() -> None:
    values = [0] * 2000 + [1] * 2000
    half = 1.96 * 0.5 / np.sqrt(4000)
    assert boot(values, resamples=2000) == pytest.approx((0.5 - half, 0.5 + half), abs=0.002)


@pytest.mark.parametrize("value", [0, 1, 0.25])
def test_equal_values_have_an_interval_of_no_width(value: float) -> None:
    assert boot([value] * 7) == boot([value]) == (value, value)


def test_the_seed_decides_the_bootstrap() -> None:
    values = [0, 0.3, 0.5, 0.7, 1] * 5
    assert boot(values, seed=1) == boot(values, seed=1) != boot(values, seed=2)


def test_no_values_is_an_error_not_an_interval() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        boot([])


def test_the_method_is_named_for_the_table() -> None:
    assert describe("bootstrap", 0.95) == "percentile bootstrap 95 %"
    assert describe("wilson", 0.999) == "Wilson 99.9 %"


@given(BITS, st.randoms(), st.sampled_from(["bootstrap", "wilson"]))
def test_limits_hold_the_mean_stay_in_bounds_and_ignore_order(values: list[int], random: object, method: str) -> None:
    low, high = interval(values, method, 0.95, 100, 0)  # type: ignore[arg-type]
    assert 0 <= low <= high <= 1
    if method == "wilson":
        assert low - 1e-4 <= sum(values) / len(values) <= high + 1e-4
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert interval(shuffled, method, 0.95, 100, 0) == (low, high)  # type: ignore[arg-type]
