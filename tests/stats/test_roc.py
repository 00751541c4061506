"""AUC against scipy and against DeLong's variance written out."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from cfeval.stats.misclassification import auc, auc_interval
from tests.stats.simulation import coverage


def drawn(items: int, seed: int = 0) -> tuple[list[float], list[int]]:
    """Scores with ties."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, items)
    return (np.round(rng.normal(size=items) * 2 + 2 * kind) / 2).tolist(), kind.tolist()


def test_auc_by_hand() -> None:
    """.5 beats 0 and ties with .5; 1 beats both of these; 2 is beaten by none."""
    assert auc(np.array([0.5, 1.0]), np.array([0.0, 0.5, 2.0])) == pytest.approx((1.5 + 2) / 6)


def test_auc_is_the_mann_whitney_statistic_of_scipy() -> None:
    scores, kind = drawn(80)
    positive, negative = ([s for s, k in zip(scores, kind, strict=True) if k == which] for which in (1, 0))
    expected = stats.mannwhitneyu(positive, negative).statistic / len(positive) / len(negative)
    assert auc_interval(scores, kind, 0.95).value == pytest.approx(expected)


def test_the_interval_is_that_of_delong_on_the_logit_scale() -> None:
    scores, kind = drawn(60)
    positive, negative = (np.array([s for s, k in zip(scores, kind, strict=True) if k == which]) for which in (1, 0))
    wins = (positive[:, None] > negative) + (positive[:, None] == negative) / 2
    variance = wins.mean(axis=1).var(ddof=1) / len(positive) + wins.mean(axis=0).var(ddof=1) / len(negative)
    area = wins.mean()
    half = 1.96 * np.sqrt(variance) / (area * (1 - area))
    found = auc_interval(scores, kind, 0.95)
    assert (found.low, found.high) == pytest.approx((expit(logit(area) - half), expit(logit(area) + half)), abs=1e-5)
    assert (found.n, found.method) == (60, "DeLong (logit) 95 %")


def test_items_that_only_repeat_their_image_add_next_to_nothing() -> None:
    scores, kind = drawn(100)
    image = [str(index) for index in range(100)]
    once, thrice = auc_interval(scores, kind, 0.95), auc_interval(scores * 3, kind * 3, 0.95, image * 3)
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high), abs=0.002)
    assert thrice.method == "clustered DeLong (logit) 95 %"


def test_scores_that_tell_everything_apart_have_an_honest_lower_limit() -> None:
    few, many = (auc_interval([1] * n + [0] * n, [1] * n + [0] * n, 0.95) for n in (5, 50))
    assert few.value == many.value == few.high == many.high == 1
    assert few.low is not None
    assert many.low is not None
    assert 0.5 < few.low < 0.85
    assert 0.93 < many.low < 0.99
    assert few.method == "Newcombe 95 %"
    reverse = auc_interval([0] * 5 + [1] * 5, [1] * 5 + [0] * 5, 0.95)
    assert (reverse.value, reverse.low, reverse.high) == pytest.approx((0, 0, 1 - few.low))


def test_items_that_are_nearly_always_told_apart_are_covered_too() -> None:
    def study(rng: np.random.Generator) -> object:
        return auc_interval([*rng.normal(3.5, 1, 25), *rng.normal(size=25)], [1] * 25 + [0] * 25, 0.95)

    assert coverage(study, stats.norm.cdf(3.5 / 2**0.5), 400) >= 0.93  # type: ignore[arg-type]


def test_one_kind_alone_has_no_auc_and_a_single_pair_hardly_an_interval() -> None:
    assert auc_interval([0.1, 0.9], [1, 1], 0.95).value is None
    found = auc_interval([1, 0], [1, 0], 0.95)
    assert found.low is not None
    assert found.low < 0.25


def test_the_order_of_items_does_not_matter() -> None:
    scores, kind = drawn(50)
    groups = [str(index // 2) for index in range(50)]
    assert auc_interval(scores[::-1], kind[::-1], 0.95, groups[::-1]) == auc_interval(scores, kind, 0.95, groups)
