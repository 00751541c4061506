"""COUT, counterfactual transition: how few of the changed pixels flip the decision? (Khorram and Fuxin 2022,
"Cycle-Consistent Counterfactuals by Latent Transformations", Section 4; ACE computes it so too)"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cfeval.metrics.coincidences import Floats

Images = npt.NDArray[np.floating]
Probabilities = Callable[[Images], npt.ArrayLike]
"""From images (N, 3, H, W) to the probabilities of source and target class, (N, 2)."""


def cout(originals: Images, counterfactuals: Images, probabilities: Probabilities, steps: int = 50) -> Floats:
    """The area under the target's curve less that under the source's, (N,), in [−1, 1]; higher is sparser.

    The pixels of the counterfactual are put into the original, those that changed most (sum of |difference| over the
    channels) first. The curves are the probabilities of the two classes against the share of pixels put in. The areas
    are exact for the straight lines between the points, also where the last step is a shorter one; the papers' code
    takes all steps for equal.

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
    found: Floats = areas[:, 1] - areas[:, 0]
    return found


def _ranks(originals: Images, counterfactuals: Images) -> npt.NDArray[np.int64]:
    """The place of every pixel, from 0 for the one that changed most, (N, 1, H, W); of equals the first comes first."""
    changed = np.abs(counterfactuals.astype(np.float64) - originals).sum(axis=1).reshape(len(originals), -1)
    order = np.argsort(-changed, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(order.shape[1])[None], axis=1)
    return places.reshape(len(originals), 1, *originals.shape[2:])
