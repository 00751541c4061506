"""Area under the ROC curve: does a higher score tell positive from negative items? (Mann and Whitney 1947)"""

import numpy as np

from cfeval.metrics.coincidences import Floats


def placements(positive: Floats, negative: Floats) -> tuple[Floats, Floats]:
    """For each item the share of the other kind that its score sets apart rightly; ties count one half.

    Args:
        positive, negative: scores, (M,) and (N,).

    Returns:
        (M,) and (N,), in [0, 1]; the mean of either is the AUC.
    """
    below = _share_below(positive, negative)
    return below, 1 - _share_below(negative, positive)


def auc(positive: Floats, negative: Floats) -> float:
    """The chance that a positive item scores higher than a negative one, ties one half; in [0, 1].

    Args:
        positive, negative: scores, (M,) and (N,), at least one each.
    """
    return float(placements(positive, negative)[0].mean())


def _share_below(scores: Floats, others: Floats) -> Floats:
    """The share of `others` below each of the scores."""
    ordered = np.sort(others)
    below, upto = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    found: Floats = (below + upto) / 2 / len(ordered)
    return found
