"""Variance components against the analysis of variance, statsmodels, and known truth."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

from cfeval.stats.agreement import Component, variance_split

TRUTH = {"item": 0.09, "writer": 0.02, "editor": 0.01, "judge": 0.03, "residual": 0.015, "re-sampling": 0.04}
LEVELS = {"item": 40, "writer": 8, "editor": 8, "judge": 8}
STUDIES = 120
Labels = dict[str, list[str]]


def design(levels: dict[str, int], repeats: int) -> npt.NDArray[np.int64]:
    """A row an observation, a column a factor, the cells of the crossed design `repeats` times over."""
    return np.array(list(product(*(range(size) for size in levels.values())))).repeat(repeats, axis=0)


def labels(rows: npt.NDArray[np.int64], names: dict[str, int]) -> Labels:
    return {name: [f"{name} {level}" for level in rows[:, column]] for column, name in enumerate(names)}


def scored(rng: np.random.Generator, rows: npt.NDArray[np.int64], truth: dict[str, float]) -> npt.NDArray[np.float64]:
    """Scores that add up from normal effects of the factors, of the cell, and of each repeat."""
    cells = np.unique(rows, axis=0, return_inverse=True)[1]
    codes = [*rows.T, cells, np.arange(len(rows))]
    effects = [
        rng.normal(0, variance**0.5, code.max() + 1)[code] for variance, code in zip(truth.values(), codes, strict=True)
    ]
    return np.asarray(0.5 + np.sum(effects, axis=0))


def by_source(found: list[Component]) -> dict[str, Component]:
    return {component.source: component for component in found}


@pytest.mark.slow
def test_known_components_are_found_in_incomplete_designs() -> None:
    """A few cells are drawn from a large design, some seen once and some twice; estimates are averaged over studies."""
    rng, rows, sums = np.random.default_rng(0), design(LEVELS, 1), dict.fromkeys(TRUTH, 0.0)
    for _ in range(STUDIES):
        cells = rng.choice(len(rows), 500, replace=False)
        kept = rows[np.concatenate([cells, cells[rng.random(500) < 0.6]])]
        for component in variance_split(scored(rng, kept, TRUTH).tolist(), labels(kept, LEVELS)):
            sums[component.source] += (component.variance or 0) / STUDIES
    for source, variance in TRUTH.items():
        assert sums[source] == pytest.approx(variance, rel=0.15), source


def test_a_complete_design_gives_the_estimates_of_the_analysis_of_variance() -> None:
    """Items by judges, one score each: expected mean squares worked out by hand."""
    table = np.random.default_rng(1).normal(size=(30, 4)) + np.random.default_rng(2).normal(size=(30, 1))
    table += [0, 0.5, 1, 2]
    items, judges = table.mean(axis=1), table.mean(axis=0)
    rest = ((table - items[:, None] - judges + table.mean()) ** 2).sum() / (29 * 3)
    rows = design({"item": 30, "judge": 4}, 1)
    found = by_source(variance_split(table.ravel().tolist(), labels(rows, {"item": 30, "judge": 4})))
    assert found["item"].variance == pytest.approx(items.var(ddof=1) - rest / 4)
    assert found["judge"].variance == pytest.approx(judges.var(ddof=1) - rest / 30)
    assert found["residual"].variance == pytest.approx(rest)
    assert sum(component.share or 0 for component in found.values()) == pytest.approx(1)


def test_repeated_items_have_the_components_of_a_mixed_model() -> None:
    rng, rows = np.random.default_rng(3), design({"item": 60}, 4)
    scores = rng.normal(size=60)[rows[:, 0]] + rng.normal(0, 0.7, 240)
    fit = MixedLM.from_formula(
        "score ~ 1", groups="item", data=pd.DataFrame({"score": scores, "item": rows[:, 0]})
    ).fit()
    found = by_source(variance_split(scores.tolist(), labels(rows, {"item": 60})))
    assert found["item"].variance == pytest.approx(fit.cov_re.iloc[0, 0], rel=1e-3)
    assert found["re-sampling"].variance == pytest.approx(fit.scale, rel=1e-3)
    assert found["residual"].variance is None


def test_zeros_and_ones_are_split_on_their_own_scale() -> None:
    """By hand: judges with means .8 and .4 have a variance of .08; the rest is that of the coin they toss."""
    rng, rows = np.random.default_rng(4), design({"item": 500, "judge": 2}, 2)
    chance = np.where(rows[:, 1] == 1, 0.8, 0.4)
    found = by_source(
        variance_split((rng.random(2000) < chance).astype(float).tolist(), labels(rows, {"item": 0, "judge": 0}))
    )
    assert found["judge"].variance == pytest.approx(0.08, abs=0.02)
    assert found["re-sampling"].variance == pytest.approx((0.16 + 0.24) / 2, abs=0.01)
    assert found["item"].variance == pytest.approx(0, abs=0.01)
    assert "few levels" in found["judge"].note


def test_the_order_of_observations_does_not_matter() -> None:
    rng, rows = np.random.default_rng(5), design({"item": 9, "writer": 3, "editor": 2, "judge": 2}, 2)
    scores = scored(rng, rows, TRUTH)
    order = rng.permutation(len(rows))
    forth = variance_split(scores.tolist(), labels(rows, LEVELS))
    back = variance_split(scores[order].tolist(), labels(rows[order], LEVELS))
    for one, other in zip(forth, back, strict=True):
        assert (one.source, one.levels) == (other.source, other.levels)
        assert one.variance == pytest.approx(other.variance)


def test_a_factor_with_one_level_has_no_component() -> None:
    rows = design({"item": 20, "writer": 1, "judge": 2}, 2)
    found = by_source(variance_split(np.sin(range(80)).tolist(), labels(rows, {"item": 0, "writer": 0, "judge": 0})))
    assert (found["writer"].variance, found["writer"].share, found["writer"].levels) == (None, None, 1)
    assert found["item"].variance is not None


def test_without_repeats_re_sampling_stays_in_the_residual() -> None:
    rows = design({"item": 20, "judge": 3}, 1)
    found = by_source(variance_split(np.sin(range(60)).tolist(), labels(rows, {"item": 0, "judge": 0})))
    assert found["re-sampling"].variance is None
    assert found["re-sampling"].note == "no cell of the design was repeated: it is in `residual`"
    assert found["residual"].variance is not None


def test_one_model_as_writer_and_judge_shares_a_component() -> None:
    rows = design({"item": 20, "model": 3}, 2)
    of = labels(rows, {"item": 0, "model": 0})
    factors = {"item": of["item"], "writer": of["model"], "judge": [f"judge {name}" for name in of["model"]]}
    found = variance_split(np.sin(range(120)).tolist(), factors)
    assert [component.source for component in found] == ["item", "writer and judge", "residual", "re-sampling"]
    assert all(component.variance is not None for component in found)


def test_items_seen_once_cannot_be_told_from_re_sampling() -> None:
    found = by_source(variance_split([0, 1, 1, 0], {"item": list("abcd"), "judge": list("xxyy")}))
    assert found["item"].variance is None
    assert "re-sampling" in found["item"].note


def test_scores_that_do_not_vary_have_no_shares() -> None:
    rows = design({"item": 5, "judge": 2}, 2)
    found = variance_split([0.1] * 20, labels(rows, {"item": 0, "judge": 0}))
    assert {(component.variance, component.share) for component in found} == {(0, None)}


def test_a_single_score_has_no_components() -> None:
    found = variance_split([1], {"item": ["a"], "judge": ["x"]})
    assert len(found) == 4
    assert all(component.variance is None and component.note == "a single level" for component in found)


def test_an_estimate_below_0_is_0_and_says_so() -> None:
    rows = design({"item": 10, "judge": 2}, 1)
    found = by_source(variance_split([0, 1] * 5 + [1, 0] * 5, labels(rows, {"item": 0, "judge": 0})))
    assert (found["item"].variance, found["item"].share) == (0, 0)
    assert "below 0" in found["item"].note


def test_a_design_that_ties_sources_together_gives_none_instead_of_a_guess() -> None:
    """Writers and judges follow a Latin square on two items: what they do alone and together is the same."""
    found = variance_split([0, 1, 0, 0], {"item": list("aabb"), "writer": list("xyxy"), "judge": list("pqqp")})
    assert all(component.variance is None for component in found)
    assert all(component.note for component in found)


def test_every_score_needs_its_levels() -> None:
    with pytest.raises(ValueError, match="a level of judge for each of 2 scores"):
        variance_split([0, 1], {"item": ["a", "b"], "judge": ["x"]})
    with pytest.raises(ValueError, match="0 scores"):
        variance_split([], {"item": []})
