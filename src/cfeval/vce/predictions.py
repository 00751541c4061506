"""The images of counterfactuals as metrics see them, and what models say of arrays of images.

Classes go by name, because classifiers need not share an order of classes.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.vce.interfaces import Classifier, FeatureExtractor, PerceptualDistance
from cfeval.vce.metrics.proximity import wrapped_uint8
from cfeval.vce.models.classifier import check_outputs, name_of

Images = npt.NDArray[np.float32]
"""(N, 3, H, W) in [−1, 1]; samples of a diffusion model may go a little beyond."""
Bytes = npt.NDArray[np.uint8]
"""(N, 3, H, W)."""
Floats = npt.NDArray[np.float64]
Probabilities = npt.NDArray[np.float64]
"""(N, classes)."""
T = TypeVar("T", bound=np.generic)


class Shown(Protocol):
    """What has an id and a source image."""

    @property
    def id(self) -> str:
        """The id of the counterfactual."""

    @property
    def source_image(self) -> str:
        """The id of its original."""


@dataclass(frozen=True)
class Views:
    """Where images come from: originals by the id of the source image, the others by that of the counterfactual.

    Each is asked for when it is needed and not kept. `sample` is what the sampler returned, (3, H, W), float32, not
    clamped. Where it is given, everything is measured as by the reference code of DBVCE: on the sample instead of the
    image file, with images as they are for classifiers, and bytes that wrap around for Fréchet distances. The paper's
    definitions, without `sample`, take the image that a user sees.
    """

    original: Callable[[str], Image]
    counterfactual: Callable[[str], Image]
    sample: Callable[[str], npt.NDArray[np.float32]] | None = None

    @property
    def reference(self) -> bool:
        """Whether measured as by the reference code."""
        return self.sample is not None

    def originals(self, records: Sequence[Shown]) -> Images:
        """The originals; InputError where their sizes differ."""
        images = [pixels_of(self.original(record.source_image)) for record in records]
        return from_bytes(stacked(images, [record.source_image for record in records]))

    def counterfactuals(self, records: Sequence[Shown]) -> Images:
        """The counterfactuals, or their samples; InputError where their sizes differ."""
        names = [record.id for record in records]
        if self.sample is not None:
            return stacked([np.asarray(self.sample(name), dtype=np.float32) for name in names], names)
        return from_bytes(stacked([pixels_of(self.counterfactual(name)) for name in names], names))

    def pairs(self, records: Sequence[Shown]) -> tuple[Images, Images]:
        """Originals and counterfactuals.

        Raises:
            InputError: an image has another size than the others; one line that names it.
        """
        before, after = self.originals(records), self.counterfactuals(records)
        if before.shape != after.shape:
            raise InputError(
                f"{records[0].id}: the counterfactual is {size_of(after)} and its original {size_of(before)} pixels; "
                "make the counterfactuals again from these originals"
            )
        return before, after

    def as_bytes(self, images: Images) -> Bytes:
        """What Fréchet distances see of images: the nearest bytes, or bytes that wrap around as in the reference."""
        return wrapped_uint8(images) if self.reference else nearest_bytes(images)


def nearest_bytes(images: Images) -> Bytes:
    """Images of [−1, 1] as bytes, rounded; what lies beyond is clamped."""
    rounded: Bytes = np.clip(np.rint((images + 1) * np.float32(127.5)), 0, 255).astype(np.uint8)
    return rounded


def pixels_of(image: Image) -> Bytes:
    """The pixels of an image, (3, H, W)."""
    return np.ascontiguousarray(image.pixels.transpose(2, 0, 1))


def from_bytes(pixels: Bytes) -> Images:
    """Pixels in [−1, 1], with the reference code's order of operations."""
    scaled: Images = pixels.astype(np.float32) / np.float32(255) * np.float32(2) - np.float32(1)
    return scaled


def size_of(images: npt.NDArray[np.generic]) -> str:
    """Height × width."""
    return " × ".join(map(str, images.shape[-2:]))


def stacked(images: Sequence[npt.NDArray[T]], names: Sequence[str]) -> npt.NDArray[T]:
    """Images of one size as one array; `names` are what errors call them.

    Raises:
        InputError: one has another size than the first.
    """
    for image, name in zip(images, names, strict=True):
        if image.shape != images[0].shape:
            raise InputError(
                f"{name}: an image of {size_of(image)} pixels among images of {size_of(images[0])}; "
                "images that are scored together must have one size"
            )
    return np.stack(images)


def probabilities(classifier: Classifier, images: Images, prepared: bool, who: str = "") -> Probabilities:
    """Softmax of a classifier's logits, (N, classes).

    Args:
        classifier: which.
        images: (N, 3, H, W) in [−1, 1].
        prepared: see `Classifier.logits`.
        who: what errors call it; empty: its own name.

    Raises:
        PluginError: logits that are not finite.
    """
    import torch

    with torch.no_grad():
        logits = classifier.logits(torch.from_numpy(images).to(classifier.device), prepared=prepared).double()
        check_outputs(logits.cpu().numpy(), who or f"classifier '{name_of(classifier)}'")
        shares: Probabilities = logits.softmax(dim=1).cpu().numpy()
    return shares


def likeliest(classifier: Classifier, shares: Probabilities) -> list[str]:
    """The names of the likeliest classes, N; of equals the first."""
    return [classifier.classes[place] for place in shares.argmax(axis=1)]


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


def perceptual(measure: PerceptualDistance, first: Images, second: Images, name: str) -> Floats:
    """A perceptual distance of each pair of images, (N,), by the name of its figures.

    Raises:
        PluginError: a distance that is not finite.
    """
    import torch

    with torch.no_grad():
        distances: Floats = measure.distance(torch.from_numpy(first), torch.from_numpy(second)).double().cpu().numpy()
    check_outputs(distances, f"the distance '{name}'")
    return distances


def embedded(extractor: FeatureExtractor, images: Bytes, name: str) -> Floats:
    """The features of images, (N, width), by the name of their figures.

    Raises:
        PluginError: features that are not finite.
    """
    import torch

    features: Floats = extractor.features(torch.from_numpy(images)).cpu().numpy()
    check_outputs(features, f"the features of '{name}'")
    return features


REGIONS = ("top left", "top", "top right", "left", "middle", "right", "bottom left", "bottom", "bottom right")
"""Of an image cut into 3 × 3."""
NAMED = 3
"""Regions that the sentence names at most."""


def looked_at(classifier: Classifier, image: Images) -> str:
    """What the classifier sees in an image (3, H, W) in [−1, 1], and the regions without which it sees that less.

    Occlusion (Zeiler and Fergus 2014, Section 4.2) in 3 × 3 regions; it needs no gradient.
    """
    rows, columns = (np.array_split(np.arange(side), 3) for side in image.shape[1:])
    hidden = []
    for down in rows:
        for across in columns:
            view = np.array(image, dtype=np.float32)
            view[:, down[:, None], across] = view.mean(axis=(1, 2), keepdims=True)
            hidden.append(view)
    shares = probabilities(classifier, np.stack([image, *hidden]), prepared=True)
    seen = int(shares[0].argmax())
    loss = np.maximum(shares[0, seen] - shares[1:, seen], 0)
    sentence = f"The classifier sees {classifier.classes[seen]}."
    if loss.sum() < 1e-6:
        return f"{sentence} No single region of the image counts for that."
    order = sorted(range(len(REGIONS)), key=lambda place: (-round(float(loss[place]), 6), place))
    named = [f"{REGIONS[place]} ({round(100 * loss[place] / loss.sum())} %)" for place in order[:NAMED] if loss[place]]
    return f"{sentence} The regions that count most for that: {', '.join(named)}."
