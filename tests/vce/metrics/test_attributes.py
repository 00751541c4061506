"""MNAC, CD and FVA against the papers' formulas, written out with loops, numpy and scipy; and what refutes them."""

import numpy as np
import pytest
from scipy.stats import pearsonr

from cfeval.vce.metrics.proximity import attributes_changed, correlation_difference, verification_accuracy

RANDOM = np.random.default_rng(3)
LABELS = np.stack(
    [(smile := RANDOM.random(3000) < 0.5), smile ^ (RANDOM.random(3000) < 0.2), RANDOM.random(3000) < 0.4], 1
)
"""Smiling; high cheekbones, which mostly go with it; and a hat, which does not."""


def changed(cheeks: float, hat: float, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Half the images are made to smile and half not to; with what chance cheeks follow and a hat comes or goes."""
    before = np.stack([np.arange(count) % 2 == 0, np.arange(count) % 2 == 0, RANDOM.random(count) < 0.4], 1)
    after = before.copy()
    after[:, 0] = ~before[:, 0]
    after[:, 1] = np.where(RANDOM.random(count) < cheeks, after[:, 0], before[:, 1])
    after[:, 2] ^= RANDOM.random(count) < hat
    return before, after


def paper_cd(before: np.ndarray, after: np.ndarray, labels: np.ndarray, query: int) -> float:
    """DiME, Section 4: Pearson's correlations of changes and of labels, one attribute after the other."""
    total = 0.0
    for attribute in range(labels.shape[1]):
        changes = [(after[:, at].astype(int) - before[:, at].astype(int)) for at in (attribute, query)]
        total += abs(pearsonr(labels[:, attribute], labels[:, query])[0] - pearsonr(*changes)[0])
    return float(total)


def test_mnac_counts_the_attributes_whose_decision_is_another() -> None:
    before = [[1, 0, 0, 1], [0, 0, 0, 0]]
    after = [[1, 1, 0, 0], [0, 0, 0, 0]]
    by_hand = [sum(one != other for one, other in zip(*rows, strict=True)) for rows in zip(before, after, strict=True)]
    assert attributes_changed(before, after).tolist() == by_hand == [2, 0]


@pytest.mark.parametrize(("cheeks", "hat"), [(1.0, 0.0), (0.6, 0.1), (0.05, 0.7)])
def test_cd_is_the_papers_sum_over_attributes(cheeks: float, hat: float) -> None:
    before, after = changed(cheeks, hat or 0.02)
    assert correlation_difference(before, after, LABELS, 0) == pytest.approx(paper_cd(before, after, LABELS, 0))


def test_cd_is_low_where_only_what_goes_along_in_the_data_changes_along() -> None:
    along = correlation_difference(*changed(0.6, 0.0), LABELS, 0)
    nothing = correlation_difference(*changed(0.0, 0.0), LABELS, 0)
    before, after = changed(0.6, 0.0)
    after[:, 2] = after[:, 0]  # whoever smiles now has a hat
    before[:, 2] = before[:, 0]
    hats = correlation_difference(before, after, LABELS, 0)
    assert (along or 9) < (nothing or 0) < (hats or 0)
    assert nothing == pytest.approx(
        np.corrcoef(LABELS.T)[0, 1:].__abs__().sum()
    )  # what never changes has correlation 0


def test_a_change_in_one_direction_alone_correlates_with_nothing() -> None:
    before, after = changed(0.6, 0.1)
    one_way = ~before[:, 0]
    assert correlation_difference(before[one_way], after[one_way], LABELS, 0) is None
    assert correlation_difference(before[:1], after[:1], LABELS, 0) is None
    after[~one_way, 0] = before[~one_way, 0]  # some come, and the others stay: no image of the other direction
    assert correlation_difference(before, after, LABELS, 0) is None
    assert correlation_difference(after, before, LABELS, 0) is None


def test_fva_is_the_share_above_a_half() -> None:
    cosines = [0.9, 0.5, 0.51, -0.2]
    assert verification_accuracy(cosines) == sum(cosine > 0.5 for cosine in cosines) / 4 == 0.5
