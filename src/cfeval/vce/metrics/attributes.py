"""What else changed? Attributes that an oracle sees in image and counterfactual, and whose face it is.

MNAC and FVA: Rodríguez et al. 2021 (DiVE), Section 4; Jacob et al. 2022 (STEEX). CD: Jeanneret et al. 2022 (DiME),
Section 4.
"""

import numpy as np
import numpy.typing as npt

from cfeval.stats.estimates import Floats

SAME_FACE = 0.5
"""The cosine of two face embeddings above which they count as one face (DiVE, DiME, ACE)."""


def attributes_changed(before: npt.ArrayLike, after: npt.ArrayLike) -> Floats:
    """In how many attributes each counterfactual differs from its image, (N,); the mean over images is MNAC.

    At least the attribute that should change is among them, so 1 is the best value of a counterfactual that succeeds.

    Args:
        before, after: whether the oracle sees each attribute, (N, A).
    """
    seen_before, seen_after = (np.asarray(rows, dtype=bool) for rows in (before, after))
    counts: Floats = (seen_before != seen_after).sum(axis=1).astype(np.float64)
    return counts


def correlation_difference(
    before: npt.ArrayLike, after: npt.ArrayLike, labels: npt.ArrayLike, query: int
) -> float | None:
    """CD: Σ over attributes a of |corr(a, query) in the data − corr(change of a, change of query)|, in [0, 2 (A − 1)].

    A change is −1, 0 or 1; 0 for two attributes that are not related in the data and changed independently. It is low
    where what else changes is what goes with the query attribute in the data. Both directions of a change are needed:
    None where the query attribute did not appear in some image and vanish from another, since "changed or not" alone
    does not say which attributes come together. An attribute that never changes, or has one value in the data, has
    correlation 0 (the authors' code has none then).

    Args:
        before, after: whether the oracle sees each attribute, (N, A).
        labels: those of the data, (M, A).
        query: the place of the attribute that should change.
    """
    changes = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    if not {-1.0, 1.0} <= set(changes[:, query]):
        return None
    of_data = _correlations(np.asarray(labels, dtype=np.float64), query)
    return float(np.abs(of_data - _correlations(changes, query)).sum())


def verification_accuracy(similarities: npt.ArrayLike) -> float:
    """FVA: the share of counterfactuals whose face embedding has a cosine above 0.5 with that of their image.

    Args:
        similarities: the cosine of each pair, (N,), at least one.
    """
    return float((np.asarray(similarities) > SAME_FACE).mean())


def _correlations(columns: Floats, query: int) -> Floats:
    """Pearson's correlation of every column with that of the query, (A,); 0 where a column does not vary."""
    centered = columns - columns.mean(axis=0)
    lengths = np.linalg.norm(centered, axis=0) * np.linalg.norm(centered[:, query])
    products = centered[:, query] @ centered
    correlations: Floats = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return correlations
