"""Where a classifier looks, in a sentence: what hiding each region takes from the class that it sees.

Occlusion (Zeiler and Fergus 2014, Section 4.2) in 3 × 3 regions; it needs no gradient.
"""

import numpy as np
import numpy.typing as npt

from cfeval.vce.interfaces import Classifier
from cfeval.vce.predictions import Images, probabilities

REGIONS = ("top left", "top", "top right", "left", "middle", "right", "bottom left", "bottom", "bottom right")
"""Of an image cut into 3 × 3."""
NAMED = 3
"""Regions that the sentence names at most."""


def looked_at(classifier: Classifier, image: Images) -> str:
    """What the classifier sees in an image (3, H, W) in [−1, 1], and the regions without which it sees that less."""
    shares = probabilities(classifier, np.stack([image, *_hidden(image)]), prepared=True)
    seen = int(shares[0].argmax())
    loss = np.maximum(shares[0, seen] - shares[1:, seen], 0)
    sentence = f"The classifier sees {classifier.classes[seen]}."
    if loss.sum() < 1e-6:
        return f"{sentence} No single region of the image counts for that."
    order = sorted(range(len(REGIONS)), key=lambda place: (-round(float(loss[place]), 6), place))
    named = [f"{REGIONS[place]} ({round(100 * loss[place] / loss.sum())} %)" for place in order[:NAMED] if loss[place]]
    return f"{sentence} The regions that count most for that: {', '.join(named)}."


def _hidden(image: Images) -> list[npt.NDArray[np.float32]]:
    """The image with each region in its mean color."""
    rows, columns = (np.array_split(np.arange(side), 3) for side in image.shape[1:])
    hidden = []
    for down in rows:
        for across in columns:
            view = np.array(image, dtype=np.float32)
            view[:, down[:, None], across] = view.mean(axis=(1, 2), keepdims=True)
            hidden.append(view)
    return hidden
