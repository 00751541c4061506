"""Agreement against the package krippendorff, statsmodels, published examples, and limits worked out by hand."""

from functools import partial
from typing import Any

import krippendorff
import numpy as np
import pytest
from statsmodels.stats import inter_rater

from cfeval.stats.agreement import Ratings, Scale, agreement_rate, alpha, cohen, fleiss

HOW: dict[str, Any] = {"level": 0.95, "resamples": 400, "seed": 0}
SCALES: tuple[Scale, ...] = ("nominal", "ordinal")
MEASURES = [cohen, fleiss, partial(alpha, scale="nominal"), partial(alpha, scale="ordinal")]


def raters(count: int, labels: int, missing: float = 0.0, items: int = 150) -> list[list[float | None]]:
    """Labels of raters who see the same thing more often than not."""
    rng = np.random.default_rng(count)
    shared = rng.choice(labels, (items, 1), p=np.arange(1, labels + 1) / np.arange(1, labels + 1).sum())
    own = np.where(rng.random((items, count)) < 0.6, shared, rng.integers(0, labels, (items, count)))
    gone = rng.random((items, count)) < missing
    return [[None if g else float(x) for x, g in zip(*row, strict=True)] for row in zip(own, gone, strict=True)]


def columns(ratings: Ratings) -> Any:
    return np.array([[np.nan if label is None else label for label in row] for row in ratings]).T


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("missing", [0, 0.4])
@pytest.mark.parametrize(("count", "labels"), [(2, 2), (3, 5), (5, 3)])
def test_alpha_is_that_of_the_package_krippendorff(scale: Scale, missing: float, count: int, labels: int) -> None:
    ratings = raters(count, labels, missing)
    expected = krippendorff.alpha(columns(ratings), level_of_measurement=scale)
    assert alpha(ratings, scale, **HOW).value == pytest.approx(expected)


def test_alpha_of_krippendorffs_own_example() -> None:
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: .743 nominal, .815 ordinal."""
    rows = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    ratings = [[None if label == "." else float(label) for label in unit] for unit in zip(*rows, strict=True)]
    nominal, ordinal = (alpha(ratings, scale, **HOW) for scale in SCALES)
    assert (nominal.rounded().value, ordinal.rounded().value) == pytest.approx((0.743, 0.815), abs=5e-4)
    assert nominal.n == 11


def test_cohens_kappa_is_that_of_statsmodels_and_its_interval_nearly_the_normal_one() -> None:
    ratings = raters(2, 3, items=800)
    expected = inter_rater.cohens_kappa(inter_rater.to_table(np.array(ratings))[0])
    found = cohen(ratings, 0.95, 2000, 0)
    assert found.value == pytest.approx(expected.kappa)
    assert (found.low, found.high) == pytest.approx((expected.kappa_low, expected.kappa_upp), abs=0.006)


def test_cohens_kappa_by_hand() -> None:
    """Agreement .7, by chance .5 · .6 + .5 · .4 = .5."""
    ratings = [[1, 1]] * 20 + [[1, 0]] * 5 + [[0, 1]] * 10 + [[0, 0]] * 15
    assert cohen(ratings, **HOW).value == pytest.approx(0.4)


def test_fleiss_kappa_is_that_of_statsmodels_on_the_items_that_all_labelled() -> None:
    ratings = raters(4, 3, 0.1)
    whole = [row for row in ratings if None not in row]
    expected = inter_rater.fleiss_kappa(inter_rater.aggregate_raters(np.array(whole))[0])
    found = fleiss(ratings, **HOW)
    assert found.value == pytest.approx(expected)
    assert found.n == len(whole) < len(ratings)


@pytest.mark.parametrize("measure", MEASURES)
def test_no_variation_is_no_figure_and_perfect_agreement_has_no_interval(measure: Any) -> None:
    silent, perfect = measure([[1, 1]] * 9, **HOW), measure([[1, 1]] * 9 + [[0, 0]] * 9, **HOW)
    assert (silent.value, silent.low, silent.high, silent.n) == (None, None, None, 9)
    assert "not defined" in silent.note
    assert (perfect.value, perfect.low, perfect.high) == (1, None, None)
    assert perfect.note


def test_a_rater_who_never_varies_agrees_as_chance_would_have_it() -> None:
    assert cohen([[1, 1], [1, 0], [1, 1]], **HOW).value == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_items_without_two_labels_are_left_aside(measure: Any) -> None:
    ratings: list[list[float | None]] = [[1, 1], [0, 1], [0, 0], [1, 0], [1, 1]]
    assert measure([*ratings, [None, 0], [1, None], [None, None]], **HOW) == measure(ratings, **HOW)
    assert measure([[None, 0]], **HOW).value is None
    assert measure([], **HOW).value is None


def test_resamples_without_a_value_are_left_aside_and_counted() -> None:
    found = cohen([[1, 1]] * 8 + [[0, 1], [0, 0]], **HOW)
    assert found.low is not None
    assert "resamples have no kappa" in found.note


def test_items_of_one_image_make_the_interval_wider() -> None:
    ratings = [row for row in raters(2, 2, items=60) for _ in range(4)]
    image = [str(index // 4) for index in range(240)]
    alone, together = cohen(ratings, **HOW), cohen(ratings, **HOW, groups=image)
    assert alone.low is not None
    assert together.low is not None
    assert together.low < alone.low - 0.05
    assert together.method == "clustered percentile bootstrap 95 %"
    assert cohen(ratings, **HOW, groups=["a"] * 240).low is None


def test_two_raters_are_needed_for_cohen() -> None:
    with pytest.raises(ValueError, match="two raters"):
        cohen([[1, 1, 0]], **HOW)


def test_the_rate_counts_items_that_all_raters_gave_one_label() -> None:
    found = agreement_rate([[1, 1, 1], [1, 1, 0], [0, 0, None], [0, 0, 0], [1, 1, 1]], 0.95)
    assert (found.value, found.n, found.method) == (0.75, 4, "Wilson 95 %")
    assert agreement_rate([[1, None]], 0.95).value is None
