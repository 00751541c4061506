"""Nominal 95 % intervals hold the truth in 93 to 97 % of simulated studies, with items that come in clusters too.

Of 1,000 studies an interval of just 95 % holds it in 93.6 to 96.3 %, of 600 in 93.2 to 96.7 % (95 times of 100); seeds
are fixed. The bootstraps take long and are tried on 600: an interval that holds the truth in 91 % is still found 96
times of 100.
"""

from collections.abc import Callable

import numpy as np
import pytest

from cfeval.stats.agreement import alpha, cohen
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import Kind, bootstrap, t_interval
from cfeval.stats.misclassification import JudgeError, auc, auc_interval, judge_error, rogan_gladen
from cfeval.stats.paired import Comparison, compare, mcnemar
from cfeval.stats.proportions import Share, share, wilson
from tests.stats.simulation import Rng, Study, alike, coverage, images, names, ones

pytestmark = pytest.mark.slow
RESAMPLES = 400
BOOTSTRAPS = 600


def seed(rng: Rng) -> int:
    return int(rng.integers(2**31))


def singles(mean: float, items: int, of: Callable[[list[float], int], Estimate]) -> Study:
    return lambda rng: of(ones(rng, np.full(items, mean)), seed(rng))


def clustered(mean: float, count: int, of: Callable[[list[float], int, list[str]], Estimate]) -> Study:
    def study(rng: Rng) -> Estimate:
        image = images(rng, count)
        return of(ones(rng, alike(rng, image, mean)), seed(rng), names(image))

    return study


def covers(study: Study, truth: float, studies: int = 1000) -> None:
    assert 0.93 <= coverage(study, truth, studies) <= 0.97


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.55, 0.9])
def test_wilson(mean: float) -> None:
    covers(singles(mean, 120, lambda values, _: wilson(share(values), 0.95)), mean)


@pytest.mark.parametrize(("mean", "count"), [(0.2, 40), (0.55, 40), (0.55, 120), (0.9, 120)])
def test_wilson_of_clusters(mean: float, count: int) -> None:
    covers(clustered(mean, count, lambda values, _, groups: wilson(share(values, groups), 0.95)), mean)


@pytest.mark.parametrize("correlation", [0.3, 0.6])
@pytest.mark.parametrize("mean", [0.02, 0.05, 0.2, 0.5, 0.9, 0.98])
@pytest.mark.parametrize("count", [12, 45, 150])
def test_wilson_of_rare_outcomes_in_clusters(mean: float, count: int, correlation: float) -> None:
    def study(rng: Rng) -> Estimate:
        image = images(rng, count)
        return wilson(share(ones(rng, alike(rng, image, mean, correlation)), names(image)), 0.95)

    assert 0.93 <= coverage(study, mean, 1000) <= 0.99


@pytest.mark.parametrize("kind", ["percentile", "BCa"])
def test_bootstrap(kind: Kind) -> None:
    study = singles(0.3, 120, lambda values, seed: bootstrap(values, 0.95, RESAMPLES, seed, kind=kind))
    covers(study, 0.3, BOOTSTRAPS)


@pytest.mark.parametrize("kind", ["percentile", "BCa"])
def test_bootstrap_of_clusters(kind: Kind) -> None:
    study = clustered(0.55, 120, lambda values, seed, groups: bootstrap(values, 0.95, RESAMPLES, seed, groups, kind))
    covers(study, 0.55, BOOTSTRAPS)


def test_an_interval_blind_to_clusters_covers_too_little() -> None:
    assert coverage(clustered(0.55, 120, lambda values, *_: wilson(share(values), 0.95)), 0.55, 1000) < 0.88


@pytest.mark.parametrize("runs", [3, 5])
def test_t_over_runs(runs: int) -> None:
    covers(lambda rng: t_interval(rng.normal(0.58, 0.03, runs).tolist(), 0.95), 0.58, 2000)


def two_targets(rng: Rng, first: float, second: float, of_images: bool) -> tuple[list[float], list[float], list[str]]:
    """Scores of two targets that find the same items hard."""
    image = images(rng, 100) if of_images else np.arange(150)
    chance = [alike(rng, image, mean) if of_images else np.full(len(image), mean) for mean in (first, second)]
    hard = rng.random(len(image))
    own = np.where(rng.random(len(image)) < 0.5, hard, rng.random(len(image)))
    return (hard < chance[0]).astype(float).tolist(), (own < chance[1]).astype(float).tolist(), names(image)


def compared(rng: Rng, first: float, second: float, of_images: bool) -> Comparison:
    one, other, groups = two_targets(rng, first, second, of_images)
    return compare(one, other, 0.95, RESAMPLES, seed(rng), groups)


@pytest.mark.parametrize("of_images", [False, True])
def test_paired_difference(of_images: bool) -> None:
    covers(lambda rng: compared(rng, 0.6, 0.45, of_images).difference, 0.15, 500)


def test_a_test_of_two_equal_targets_rejects_as_often_as_it_may() -> None:
    rng = np.random.default_rng(0)
    tested = [two_targets(rng, 0.5, 0.5, True) for _ in range(1000)]
    differences = [([a - b for a, b in zip(one, other, strict=True)], groups) for one, other, groups in tested]
    by_image = [mcnemar(values, groups) for values, groups in differences]
    assert np.mean([found.exact <= 0.05 for found in by_image]) <= np.mean([found.mid <= 0.05 for found in by_image])
    assert 0.03 <= np.mean([found.mid <= 0.05 for found in by_image]) <= 0.065
    assert np.mean([mcnemar(values).mid <= 0.05 for values, _ in differences]) > 0.1
    found = [compared(rng, 0.5, 0.5, True).p for _ in range(400)]
    assert 0.03 <= np.mean([p is not None and p <= 0.05 for p in found]) <= 0.075


def two_raters(rng: Rng, count: int) -> tuple[list[list[float | None]], list[str]]:
    """Each rater errs on one item in ten."""
    image = images(rng, count)
    right = ones(rng, alike(rng, image, 0.6))
    return np.abs(np.array(right)[:, None] - (rng.random((len(image), 2)) < 0.1)).tolist(), names(image)


# By hand: both raters say 1 on .6 · .8 + .1 = .58 of the items and agree on .9² + .1² = .82.
KAPPA = (0.82 - (0.58**2 + 0.42**2)) / (1 - (0.58**2 + 0.42**2))


@pytest.mark.parametrize("measure", ["cohen", "alpha"])
def test_agreement(measure: str) -> None:
    def study(rng: Rng) -> Estimate:
        ratings, groups = two_raters(rng, 80)
        if measure == "cohen":
            return cohen(ratings, 0.95, RESAMPLES, seed(rng), groups)
        return alpha(ratings, "nominal", 0.95, RESAMPLES, seed(rng), groups)

    covers(study, KAPPA, BOOTSTRAPS)


@pytest.mark.parametrize("mean", [0.3, 0.6])
def test_share_corrected_for_the_judge(mean: float) -> None:
    def study(rng: Rng) -> Estimate:
        image, known = images(rng, 120), np.repeat([1, 0], 100)
        says = [alike(rng, image, mean) * 0.75 + 0.15, np.where(known, 0.9, 0.15)]
        error = judge_error(ones(rng, says[1]), known.tolist())
        return rogan_gladen(share(ones(rng, says[0]), names(image)), error, 0.95)

    covers(study, mean)


def test_without_the_judges_own_uncertainty_the_corrected_share_covers_too_little() -> None:
    def study(rng: Rng) -> Estimate:
        right, wrong = rng.binomial(60, [0.9, 0.85]) / 60
        error = JudgeError(Share(right, 60, 1e9), Share(wrong, 60, 1e9))
        return rogan_gladen(share(ones(rng, np.full(400, 0.6 * 0.75 + 0.15))), error, 0.95)

    assert coverage(study, 0.6, 1000) < 0.85


@pytest.mark.parametrize("clusters", [False, True])
def test_auc(clusters: bool) -> None:
    def study(rng: Rng) -> Estimate:
        image = images(rng, 80) if clusters else np.arange(120)
        kind = rng.random(len(image)) < 0.5
        scores = rng.normal(size=len(image)) + kind + (rng.normal(size=len(image))[image] if clusters else 0)
        return auc_interval(scores.tolist(), kind.tolist(), 0.95, names(image))

    rng = np.random.default_rng(1)
    spread = 2**0.5 if clusters else 1
    truth = auc(rng.normal(1, spread, 400_000), rng.normal(0, spread, 400_000))
    covers(study, truth)
