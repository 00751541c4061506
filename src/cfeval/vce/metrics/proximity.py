"""How far is a counterfactual from its original, how sparse the change, how different several of one image? What else
changed: attributes that an oracle sees in image and counterfactual, and whose face it is.

MNAC and FVA: Rodríguez et al. 2021 (DiVE), Section 4; Jacob et al. 2022 (STEEX). CD: Jeanneret et al. 2022 (DiME),
Section 4.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from cfeval.stats.estimates import Floats

Images = npt.NDArray[np.floating]
Floats32 = npt.NDArray[np.float32]
Probabilities = Callable[[Images], npt.ArrayLike]
"""From images (N, 3, H, W) to the probabilities of source and target class, (N, 2)."""


def lp_distance(originals: npt.ArrayLike, counterfactuals: npt.ArrayLike, p: float) -> Floats:
    """‖x − c(x)‖_p of each pair, (N,), 0 or more; the paper's D_p is their mean (DBVCE, Section 3.2).

    It grows with the number of pixels: images of one size only can be compared.

    Args:
        originals, counterfactuals: (N, …); in the papers (N, 3, H, W) in [−1, 1].
        p: 1 or more; the paper has 1, 1.5 and 2.
    """
    original, changed = (np.asarray(images, dtype=np.float64) for images in (originals, counterfactuals))
    difference = np.abs(original - changed).reshape(len(original), -1)
    distances: Floats = (difference**p).sum(axis=1) ** (1 / p)
    return distances


def is_destroyed(originals: npt.ArrayLike, counterfactuals: npt.ArrayLike) -> "npt.NDArray[np.bool_]":
    """Whether nothing of the original is left, (N,): an image of one color would be as near to it.

    The squared change is held against that to the original's own mean color, which is the least that any blank image
    needs; of an original that is nearly blank itself, against a change of an eighth of the range.

    Args:
        originals, counterfactuals: (N, 3, H, W) in [−1, 1].
    """
    original, changed = (np.asarray(images, dtype=np.float64) for images in (originals, counterfactuals))
    change = ((changed - original) ** 2).mean(axis=(1, 2, 3))
    blank = original.var(axis=(2, 3)).mean(axis=1)
    destroyed: npt.NDArray[np.bool_] = change >= np.maximum(blank, 0.25**2) * (
        1 - 1e-9
    )  # a blank image itself, whatever is rounded
    return destroyed


def batch_lp_distance(distances: npt.ArrayLike, p: float) -> float:
    """The figure of the reference code of DBVCE: one norm over the whole batch of differences, 0 or more.

    A norm over all is that of the norms of its parts, so the batch itself is not needed. It grows with the number of
    images (N^(1/p) times, if they are alike), so groups of one size only can be compared.

    Args:
        distances: D_p of each pair, (N,).
        p: of these.
    """
    return float((np.asarray(distances, dtype=np.float64) ** p).sum() ** (1 / p))


def cout(originals: Images, counterfactuals: Images, probabilities: Probabilities, steps: int = 50) -> Floats:
    """COUT, counterfactual transition: how few changed pixels flip the decision, (N,), in [−1, 1]; higher: fewer.

    The pixels of the counterfactual are put into the original, those that changed most (sum of |difference| over the
    channels) first. COUT is the area under the target's curve less that under the source's, which are the probabilities
    of the two classes against the share of pixels put in. The areas are exact for the straight lines between the
    points, also where the last step is a shorter one; the papers' code takes all steps for equal.

    Source: Khorram and Fuxin 2022, "Cycle-Consistent Counterfactuals by Latent Transformations", Section 4; ACE.

    Args:
        originals, counterfactuals: (N, 3, H, W), of any scale.
        probabilities: what the classifier gives source and target.
        steps: how many steps there are; one more where they do not divide the pixels, never more than pixels.
    """
    pixels = originals.shape[2] * originals.shape[3]
    step = max(1, pixels // steps)
    counts = [*range(0, pixels, step), pixels]
    ranks = _ranks(originals, counterfactuals)
    curves = np.stack(
        [
            np.asarray(probabilities(np.where(ranks < count, counterfactuals, originals)), dtype=np.float64)
            for count in counts
        ]
    )
    areas = np.trapezoid(curves, np.array(counts) / pixels, axis=0)
    difference: Floats = areas[:, 1] - areas[:, 0]
    return difference


def _ranks(originals: Images, counterfactuals: Images) -> npt.NDArray[np.int64]:
    """The place of every pixel, from 0 for the one that changed most, (N, 1, H, W); of equals the first comes first."""
    changed = np.abs(counterfactuals.astype(np.float64) - originals).sum(axis=1).reshape(len(originals), -1)
    order = np.argsort(-changed, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(order.shape[1])[None], axis=1)
    return places.reshape(len(originals), 1, *originals.shape[2:])


def embedding_similarity(originals: npt.ArrayLike, counterfactuals: npt.ArrayLike) -> Floats:
    """The cosine of the angle between the embeddings of each pair, (N,), in [−1, 1]; 1: the same direction.

    S3 is its mean, with the embedding of SimSiam's ResNet-50 (`cfeval.vce.plugins.feature_extractors`;
    Jeanneret et al. 2023, ACE, for images that show no faces). With another embedding it is no S3 and must have a name
    of its own. An embedding of length 0 has cosine 0 with any other.

    Args:
        originals, counterfactuals: embeddings, (N, D).
    """
    left, right = (np.asarray(rows, dtype=np.float64) for rows in (originals, counterfactuals))
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    products = (left * right).sum(axis=1)
    cosines: Floats = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.clip(cosines, -1, 1)


def repeat_pairs(repeats: int) -> list[tuple[int, int]]:
    """All pairs of different repeats: (0, 1), (0, 2), …"""
    return list(combinations(range(repeats), 2))


def diversity(distances: Sequence[Sequence[float]]) -> float:
    """The mean over images of the mean distance between counterfactuals of an image; 0 where none differ.

    The unit is that of the distance. Every image counts the same, however many of its counterfactuals there are. DBVCE,
    Section 3.4, proposes pairwise LPIPS over seeds and does not measure it.

    Args:
        distances: for each image those of its pairs (`repeat_pairs`), at least one; at least one image.
    """
    return sum(sum(pairs) / len(pairs) for pairs in distances) / len(distances)


def wrapped_uint8(images: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """255 · x, cut to a whole number, modulo 256: what FID sees in the reference code of DBVCE.

    The paper does not mean it: other images would give the same value. It is there so that the paper's tables can be
    reproduced, and never used unless asked for. Its images are in [−1, 1], so that all darker than mid grey wrap
    around: −0.5 → 129, −1 → 1, 1.02 → 4.

    Args:
        images: any shape, float in about [−1, 1].
    """
    scaled = np.asarray(images, dtype=np.float32) * np.float32(255)
    wrapped: npt.NDArray[np.uint8] = np.mod(np.trunc(scaled).astype(np.int64), 256).astype(np.uint8)
    return wrapped


def stretched(images: npt.ArrayLike, low: float, high: float) -> Floats32:
    """Images rescaled from [low, high] to [−1, 1]: what LPIPS sees there, with the extremes of the whole batch.

    Like `wrapped_uint8` not meant by the paper, and never used unless asked for: the distance of a pair depends on
    which other images are in the batch. Where low = high all is 0.

    Args:
        images: any shape, float.
        low, high: the least and greatest value of the batch that the images are of.
    """
    values = np.asarray(images, dtype=np.float32)
    if high == low:
        return np.zeros_like(values)
    unit: Floats32 = (values - np.float32(low)) / (np.float32(high) - np.float32(low))
    return unit * np.float32(2) - np.float32(1)


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
