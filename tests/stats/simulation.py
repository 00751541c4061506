"""Studies of known truth: items come in images of unequal size, and items of one image are alike."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cfeval.stats.estimates import Estimate

Rng = np.random.Generator
Study = Callable[[Rng], Estimate]
Floats = npt.NDArray[np.float64]
Images = npt.NDArray[np.int64]
SIZES = (1, 1, 1, 2, 3, 4, 8)
"""Items an image has, each as likely."""


def images(rng: Rng, count: int) -> Images:
    """The image of each item."""
    return np.repeat(np.arange(count), rng.choice(SIZES, count))


def names(of: Images) -> list[str]:
    """Images as the records name them."""
    return [f"image {index}" for index in of]


def alike(rng: Rng, of: Images, mean: float, correlation: float = 0.3) -> Floats:
    """Each item's chance of a one: beta distributed over images, so that items of one image correlate."""
    spread = (1 - correlation) / correlation
    found: Floats = rng.beta(mean * spread, (1 - mean) * spread, of.max() + 1)[of]
    return found


def ones(rng: Rng, chance: Floats) -> list[float]:
    """Zeros and ones."""
    return [float(one) for one in rng.random(len(chance)) < chance]


def coverage(study: Study, truth: float, studies: int) -> float:
    """The share of studies whose interval holds the truth."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(studies):
        found = study(rng)
        assert found.low is not None
        assert found.high is not None
        held += found.low - 1e-12 <= truth <= found.high + 1e-12
    return held / studies
