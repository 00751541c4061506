"""Numbers of items against statsmodels and against simulated studies."""

from math import ceil

import numpy as np
import pytest
from statsmodels.stats.proportion import power_proportions_2indep

from cfeval.stats.paired import holm, mcnemar
from cfeval.stats.power import (
    design_effect,
    discordance,
    first_step,
    paired_size,
    smallest_difference,
    unpaired,
    unpaired_size,
    with_correlation,
    with_discordance,
)


@pytest.mark.parametrize(("first", "second"), [(0.55, 0.6), (0.6, 0.55), (0.1, 0.3), (0.9, 0.99)])
@pytest.mark.parametrize(("level", "power"), [(0.95, 0.8), (0.99, 0.9)])
def test_unpaired_items_have_just_the_power_that_statsmodels_finds(
    first: float, second: float, level: float, power: float
) -> None:
    needed = ceil(unpaired_size(first, second, level, power))
    found = [
        power_proportions_2indep(first - second, second, items, alpha=1 - level).power for items in (needed, needed - 1)
    ]
    assert found[0] >= power > found[1] - 1e-6


PLANS = [(0.1, 0.3), (0.06, 0.12), (0.15, 0.5), (0.3, 0.4)]


def found(difference: float, differing: float, items: int, studies: int, seed: int = 0) -> list[float]:
    """Exact p-values of simulated studies; each kind of outcome is tested once."""
    gains, losses = (differing + difference) / 2, (differing - difference) / 2
    drawn = np.random.default_rng(seed).multinomial(items, [gains, losses, 1 - differing], studies).tolist()
    p_values = {(up, down): mcnemar([1.0] * up + [-1.0] * down).exact for up, down in {(u, d) for u, d, _ in drawn}}
    return [p_values[up, down] for up, down, _ in drawn]


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "differing"), PLANS)
def test_paired_items_have_that_power_in_simulated_studies(difference: float, differing: float) -> None:
    items = ceil(paired_size(difference, differing, 0.95, 0.8))
    power = np.mean([p <= 0.05 for p in found(difference, differing, items, 4000)])
    assert 0.78 <= power <= 0.84


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "differing"), PLANS[:2])
def test_one_difference_among_several_comparisons_is_found_as_often_as_planned(
    difference: float, differing: float
) -> None:
    """One of six comparisons is of targets that differ, adjusted by Holm over all; planned for one alone it fails."""

    def power(level: float, studies: int) -> float:
        items = ceil(paired_size(difference, differing, level, 0.8))
        real = found(difference, differing, items, studies)
        nulls = [found(0, differing, items, studies, seed) for seed in range(1, 6)]
        adjusted = [holm(of)[0] for of in zip(real, *nulls, strict=True)]
        return float(np.mean([p is not None and p <= 0.05 for p in adjusted]))

    assert 0.78 <= power(first_step(0.95, 6), 2000) <= 0.86
    assert power(0.95, 500) < 0.65


def test_items_shared_by_targets_that_have_nothing_in_common_save_next_to_nothing() -> None:
    alone, shared = unpaired_size(0.55, 0.6, 0.95, 0.8), paired_size(0.05, discordance(0.55, 0.6, 0), 0.95, 0.8)
    assert shared == pytest.approx(alone, rel=0.02)
    assert paired_size(0.05, discordance(0.55, 0.6, 0.5), 0.95, 0.8) < 0.6 * alone


def test_discordance_by_hand() -> None:
    assert discordance(0.5, 0.5, 0) == 0.5
    assert discordance(0.5, 0.5, 1) == pytest.approx(0)
    assert discordance(0.2, 0.9, 0) == pytest.approx(0.2 * 0.1 + 0.8 * 0.9)


def test_discordance_is_that_of_scores_with_this_correlation() -> None:
    table = np.array([[0.3, 0.1], [0.2, 0.4]])
    first, second = table[1].sum(), table[:, 1].sum()
    phi = (table[1, 1] - first * second) / np.sqrt(first * (1 - first) * second * (1 - second))
    assert discordance(first, second, phi) == pytest.approx(0.3)


def test_three_items_of_an_image_that_are_all_alike_count_as_one() -> None:
    assert design_effect(3, 1) == 3
    assert design_effect(3, 0) == design_effect(1, 1) == 1


def test_the_smallest_difference_is_the_one_that_needs_these_items() -> None:
    found = smallest_difference(lambda more: 4 / more**2, 400, 1)
    assert found == pytest.approx(0.1)
    assert smallest_difference(lambda more: 4 / more**2, 3, 1) is None
    assert smallest_difference(lambda more: 4 / more**2, 400, 0) is None


@pytest.mark.parametrize("lower", [0.1, 0.55, 0.9])
def test_designs_tell_apart_with_their_items_just_what_those_were_counted_for(lower: float) -> None:
    for design in (
        unpaired(lower, 0.95, 0.8),
        with_discordance(lower, 0.15, 0.95, 0.8),
        with_correlation(lower, 0, 0.95, 0.8),
        with_correlation(lower, 0.4, 0.95, 0.8),
    ):
        assert design.shown(lower, design.size(lower + 0.05)) == pytest.approx(lower + 0.05, abs=1e-6)
        assert design.shown(lower, 1) is None


def test_a_correlation_bounds_how_far_apart_two_shares_can_be() -> None:
    """At the bound all that the lower target scores on, the other does too: they differ on just the difference."""
    design = with_correlation(0.5, 0.4, 0.95, 0.8)
    assert design.differing is not None
    assert design.differing(design.greatest) == pytest.approx(design.greatest - 0.5)
