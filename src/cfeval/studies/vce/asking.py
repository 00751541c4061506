"""Asks models about arrays of images: classes by name, because classifiers need not share an order of classes."""

import difflib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cfeval.backends.classifiers.base import Classifier
from cfeval.backends.features.base import FeatureExtractor
from cfeval.backends.perceptual.base import PerceptualDistance
from cfeval.errors import InputError
from cfeval.studies.vce.views import Bytes, Images

Floats = npt.NDArray[np.float64]
Probabilities = npt.NDArray[np.float64]
"""(N, classes)."""


def probabilities(classifier: Classifier, images: Images, prepared: bool) -> Probabilities:
    """Softmax of a classifier's logits, (N, classes).

    Args:
        classifier: which.
        images: (N, 3, H, W) in [−1, 1].
        prepared: see `Classifier.logits`.
    """
    import torch

    with torch.no_grad():
        logits = classifier.logits(torch.from_numpy(images).to(classifier.device), prepared=prepared)
        found: Probabilities = logits.double().softmax(dim=1).cpu().numpy()
    return found


def said(classifier: Classifier, found: Probabilities) -> list[str]:
    """The names of the likeliest classes, N; of equals the first."""
    return [classifier.classes[place] for place in found.argmax(axis=1)]


def check_knows(classifier: Classifier, target: str, who: str) -> None:
    """Check that a classifier has a class.

    Raises:
        InputError: it has not; one line with who it is and the nearest of its classes.
    """
    if target in classifier.classes:
        return
    close = difflib.get_close_matches(target, classifier.classes, n=3, cutoff=0.5)
    hint = f"the nearest it has: {', '.join(close)}" if close else f"it has {listed(classifier.classes)}"
    raise InputError(f"{who} has no class '{target}'; {hint}; choose another target, or leave it out")


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many there are."""
    return f"{len(names)} classes ({', '.join(names[:most])}{', …' if len(names) > most else ''})"


def perceptual(measure: PerceptualDistance, first: Images, second: Images) -> Floats:
    """A perceptual distance of each pair of images, (N,)."""
    import torch

    with torch.no_grad():
        found: Floats = measure.distance(torch.from_numpy(first), torch.from_numpy(second)).double().cpu().numpy()
    return found


def embedded(extractor: FeatureExtractor, images: Bytes) -> Floats:
    """The features of images, (N, width)."""
    import torch

    found: Floats = extractor.features(torch.from_numpy(images)).cpu().numpy()
    return found
