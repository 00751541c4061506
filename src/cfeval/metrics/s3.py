"""S3, similarity of embeddings (Jeanneret et al. 2023, ACE: SimSiam similarity, for images that show no faces)."""

import numpy as np
import numpy.typing as npt

from cfeval.metrics.coincidences import Floats


def embedding_similarity(originals: npt.ArrayLike, counterfactuals: npt.ArrayLike) -> Floats:
    """The cosine of the angle between the embeddings of each pair, (N,), in [−1, 1]; 1: the same direction.

    S3 is its mean, with the embedding of SimSiam's ResNet-50 (`cfeval.backends.features.simsiam`). With another
    embedding it is no S3 and must have a name of its own. An embedding of length 0 has cosine 0 with any other.

    Args:
        originals, counterfactuals: embeddings, (N, D).
    """
    one, other = (np.asarray(rows, dtype=np.float64) for rows in (originals, counterfactuals))
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    products = (one * other).sum(axis=1)
    found: Floats = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.clip(found, -1, 1)
