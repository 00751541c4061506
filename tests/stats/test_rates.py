"""Rates made of rates: against statsmodels, and how often their intervals hold the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from cfeval.stats.estimates import Estimate, beyond, difference, exact, product
from cfeval.stats.proportions import share, wilson


def of(hits: int, n: int) -> Estimate:
    return wilson(share([1] * hits + [0] * (n - hits)), 0.95)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_a_difference_is_newcombes(n: int, m: int, data: st.DataObject) -> None:
    hits, others = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    found = difference(of(hits, n), of(others, m))
    low, high = confint_proportions_2indep(hits, n, others, m, method="newcomb", compare="diff")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def test_no_share_is_over_one_where_more_changed_than_a_judge_should_see() -> None:
    found = beyond(of(110, 120), exact(0.0), ceiling=exact(0.9))
    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx((of(110, 120).low or 0) / 0.9)


@pytest.mark.parametrize(("p", "q"), [(0.95, 0.02), (0.7, 0.3), (1.0, 0.0)])
def test_what_is_made_of_rates_holds_the_truth_as_often_as_it_says(p: float, q: float) -> None:
    rng, held = np.random.default_rng(3), dict.fromkeys(("difference", "product", "beyond"), 0)
    for hits, others in zip(rng.binomial(120, p, 600), rng.binomial(60, q, 600), strict=True):
        first, second = of(int(hits), 120), of(int(others), 60)
        for name, found, truth in (
            ("difference", difference(first, second), p - q),
            ("product", product(first, second), p * q),
            ("beyond", beyond(first, second), (p - q) / (1 - q)),
        ):
            assert found.low is not None
            assert found.high is not None
            held[name] += found.low - 1e-12 <= truth <= found.high + 1e-12
    assert min(held.values()) / 600 >= 0.92, held


def test_known_error_and_unseen_failures_are_taken_out() -> None:
    found = beyond(exact(0.74), exact(0.1), ceiling=exact(0.9), made=0.8)
    assert found.value == pytest.approx(1.0)


def test_a_ceiling_that_is_not_known_exactly_widens_the_interval_to_both_its_limits() -> None:
    rate, ceiling = of(60, 120), Estimate(0.8, 0.7, 0.9)
    found = beyond(rate, exact(0.0), ceiling)
    alone = [beyond(rate, exact(0.0), exact(limit)) for limit in (0.7, 0.8, 0.9)]
    assert (found.value, found.low, found.high) == (alone[1].value, alone[2].low, alone[0].high)


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0.5, 1.0))
def test_a_share_beyond_a_floor_is_a_share_with_its_interval(hits: int, others: int, ceiling: float) -> None:
    found = beyond(of(hits, 60), of(others, 60), exact(ceiling))
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_rate_below_a_high_floor_is_nothing_beyond_it() -> None:
    found = beyond(of(60, 120), of(54, 60))
    assert (found.value, found.low) == (0, 0)


def test_without_a_rate_there_is_no_figure_and_the_reason_stays() -> None:
    nothing = Estimate(None, note="nothing was scored")
    for made in (difference(of(3, 9), nothing), product(nothing, of(3, 9)), beyond(nothing, exact(0.0))):
        assert (made.value, made.note) == (None, "nothing was scored")
