"""sFID: the Fréchet distance across halves (Jeanneret et al. 2023, ACE). It is not the spatial FID of Nash et al.

A counterfactual keeps most of its original, so that a plain FID of both rewards changing nothing. Here the
counterfactuals of one half of the images are compared with the originals of the other half.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cfeval.metrics.coincidences import Floats
from cfeval.metrics.frechet_distance import frechet_distance

Places = npt.NDArray[np.int64]


def split_frechet_distance(
    originals: Floats, counterfactuals: Floats, source_of: Sequence[int], splits: int, seed: int
) -> float | None:
    """The mean over both directions of random splits; None where the halves are too small.

    Args:
        originals: features, (M, D).
        counterfactuals: features, (N, D).
        source_of: the row of the original that each counterfactual was made of, N.
        splits: how many splits to average, at least one.
        seed: of the splits.
    """
    sources = np.asarray(source_of)
    found = []
    for one, other in halves(len(originals), splits, seed):
        for real, made in ((one, other), (other, one)):
            theirs = counterfactuals[np.isin(sources, made)]
            if min(len(real), len(theirs)) < 2:
                return None
            found.append(frechet_distance(originals[real], theirs))
    return float(np.mean(found))


def frechet_floor(originals: Floats, splits: int, seed: int) -> float | None:
    """The mean distance of two disjoint halves of the same images: what equal distributions come to at this size.

    The halves are those of `split_frechet_distance` for the same seed. None where there are fewer than four images.

    Args:
        originals: features, (M, D).
        splits: how many splits to average, at least one.
        seed: of the splits.
    """
    if len(originals) < 4:
        return None
    parts = halves(len(originals), splits, seed)
    return float(np.mean([frechet_distance(originals[one], originals[other]) for one, other in parts]))


def halves(count: int, splits: int, seed: int) -> Iterator[tuple[Places, Places]]:
    """Random halves of 0 … count − 1, of equal size; of an odd count one number stays out."""
    random = np.random.default_rng(seed)
    for _ in range(splits):
        order = random.permutation(count)
        yield order[: count // 2], order[count // 2 : 2 * (count // 2)]
