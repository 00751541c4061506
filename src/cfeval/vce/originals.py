"""How a classifier reads the user's own images, before anything is made of them: what is done to them, how many it gets
right, and where it does no better than chance, what would mend that.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfeval.core import registry
from cfeval.core.errors import CfevalError, PluginError
from cfeval.core.registry import Diagnostic
from cfeval.stats.proportions import wilson_limits
from cfeval.vce.config import Vce
from cfeval.vce.interfaces import Classifier, LabelledImage
from cfeval.vce.models.classifier import IMAGENET_MEAN, IMAGENET_STD

if TYPE_CHECKING:
    from cfeval.vce.models.classifier import NetworkClassifier

IMAGES = 40
"""How many images a classifier is asked about, at most."""
LEVEL = 0.95
_BATCH = 8
_LUCK = 0.1
"""The probability from which on a difference may be luck."""
_SHOWN = 3
"""Mistakes that are listed."""
_GOOD = 0.75
"""A trained classifier reads this share of images rightly: below it, other ways of preparing them are tried."""
_NOTHING = "Check `classes` (their order), `mean`, `std` and `size`, and that these are the trained weights"
_HALF = (0.5, 0.5, 0.5)
SPREADS = (((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), (_HALF, _HALF), (IMAGENET_MEAN, IMAGENET_STD))
"""Means and standard deviations that networks are trained with."""


def limits(right: float, total: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share of images; [0, 1] of none."""
    return wilson_limits(right / total, total, LEVEL) if total else (0.0, 1.0)


def chance_of(classes: int) -> float:
    """The share that whoever always names the same class gets right, of as many images of each class."""
    return 1 / max(classes, 2)


@dataclass(frozen=True)
class Reading:
    """What a classifier says of labelled images.

    Attributes:
        name: the classifier's.
        prepared: what is done to an image; empty where the classifier does not tell.
        right: how many it puts into their own class.
        total: of how many.
        classes: of how many classes these are.
        only: the one class that it names whatever it is shown; empty: several.
        taken: for how many images of a class it takes another one, `CLASS for OTHER`.
        notes: what to know of its weights.
        advice: what would mend a bad reading; empty: nothing that was tried.
    """

    name: str
    prepared: str
    right: int
    total: int
    classes: int
    only: str = ""
    taken: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    advice: str = ""
    order: tuple[str, ...] = field(default=(), repr=False)
    """The order of the names of the outputs under which most are read rightly, where another one is better."""

    @property
    def surely_above(self) -> bool:
        """Whether the interval of the share lies above chance."""
        return limits(self.right, self.total)[0] > chance_of(self.classes)

    @property
    def is_bad(self) -> bool:
        """Whether it is no better than chance, however few images there are."""
        return self.right / self.total <= chance_of(self.classes) if self.total else False

    def summary(self) -> str:
        """One line for people."""
        low, high = limits(self.right, self.total)
        prepared = f"images become {self.prepared}; " if self.prepared else ""
        same = f"always naming one class would give {chance_of(self.classes):.2f}"
        text = f"{prepared}reads {self.right} of {self.total} of your images rightly"
        text += f" (95 % interval {low:.2f} to {high:.2f}; {same})"
        if self.only:
            text += f", and says '{self.only}' of all"
        elif self.taken:
            text += f", and takes {'; '.join(f'{what} ({count})' for what, count in self.taken.items())}"
        if self.is_bad:
            return f"{text}: too few. {self.advice or _NOTHING}"
        if self.advice:
            return f"{text}. {self.advice}"
        return text if self.surely_above else f"{text}: these are too few images to tell; add some"


class Remedy(NamedTuple):
    """Another way of reading the images: which it reads rightly, (N,), how to get it, and the order of its outputs."""

    right: npt.NDArray[np.bool_]
    advice: str
    order: tuple[str, ...] = ()


def reading(name: str, classifier: Classifier, images: Sequence[LabelledImage]) -> Reading:
    """Ask a classifier about images whose classes it knows.

    Raises:
        PluginError: it says what is not finite.
    """
    labels = [image.label for image in images]
    places = _predicted(classifier, images, f"classifier '{name}'")
    names = [classifier.classes[place] for place in places]
    right = np.array(names) == np.array(labels)
    shown = getattr(getattr(classifier, "preprocessing", None), "summary", None)
    wrong = Counter(f"'{label}' for '{name}'" for name, label in zip(names, labels, strict=True) if name != label)
    made = Reading(
        name,
        shown(classifier.options.crop) if shown else "",  # type: ignore[attr-defined]
        int(right.sum()),
        len(images),
        len(set(labels)),
        names[0] if len(set(names)) == 1 and len(set(labels)) > 1 else "",
        dict(wrong.most_common(_SHOWN)),
        getattr(classifier, "notes", ()),
    )
    if made.surely_above and right.mean() >= _GOOD:
        return made
    remedies = list(_order(classifier.classes, places, labels))
    if shown:
        remedies += _spreads(classifier, images, labels)  # type: ignore[arg-type]
    best = max(remedies, key=lambda remedy: remedy.right.sum(), default=None)
    if best is None or _may_be_luck(int((best.right & ~right).sum()), int((right & ~best.right).sum())):
        return made
    surely = limits(int(best.right.sum()), len(images))[0] > chance_of(made.classes)
    return replace(made, order=best.order, advice=best.advice if surely else "")


def _may_be_luck(won: int, lost: int) -> bool:
    """Whether chance could win so many images where it loses so few: a one-sided sign test."""
    total = won + lost
    return bool(sum(comb(total, count) for count in range(won, total + 1)) >= _LUCK * 2**total)


def _predicted(classifier: Classifier, images: Sequence[LabelledImage], who: str) -> npt.NDArray[np.intp]:
    """The place of the likeliest class of each image."""
    from cfeval.vce.predictions import from_bytes, pixels_of, probabilities

    rows = [
        probabilities(
            classifier,
            np.stack([from_bytes(pixels_of(image.image)) for image in images[start : start + _BATCH]]),
            True,
            who,
        )
        for start in range(0, len(images), _BATCH)
    ]
    places: npt.NDArray[np.intp] = np.concatenate(rows).argmax(axis=1)
    return places


def _order(classes: Sequence[str], places: npt.NDArray[np.intp], labels: Sequence[str]) -> Iterator[Remedy]:
    """The names of the labels exchanged among each other, so that most images are read rightly."""
    from scipy.optimize import linear_sum_assignment

    wanted = list(dict.fromkeys(labels))
    outputs = [classes.index(name) for name in wanted]
    counts = [
        [sum(o == p and n == name for p, n in zip(places, labels, strict=True)) for name in wanted] for o in outputs
    ]
    order = list(classes)
    for row, column in zip(*linear_sum_assignment(np.array(counts), maximize=True), strict=True):
        order[outputs[row]] = wanted[column]
    right = np.array([order[place] for place in places]) == np.array(labels)
    moved = [f"{name} where {before} stands" for name, before in zip(order, classes, strict=True) if name != before]
    if moved:
        what = f"In another order of its outputs it would read {right.sum()} ({', '.join(moved[:_SHOWN])})"
        yield Remedy(right, f"{what}: correct `classes`", tuple(order))


def _spreads(
    classifier: "NetworkClassifier", images: Sequence[LabelledImage], labels: Sequence[str]
) -> Iterator[Remedy]:
    """Other means and standard deviations."""
    for mean, std in SPREADS:
        other = copy(classifier)
        other.preprocessing = classifier.preprocessing.but(mean=mean, std=std)
        with suppress(PluginError):
            places = _predicted(other, images, "")
            right = np.array([classifier.classes[place] for place in places]) == np.array(labels)
            spread = f"`mean: {list(mean)}` and `std: {list(std)}`"
            yield Remedy(right, f"With {spread} it would read {right.sum()} of them: set these if it was trained so")


def own_images(spec: Mapping[str, Any], labels: Sequence[str], size: int, seed: int = 0) -> list[LabelledImage]:
    """Some images of each class, as many as there are up to `IMAGES` together; those that cannot be used are left out.

    Raises:
        InputError: no such folder or class.
    """
    each = max(1, IMAGES // len(labels))
    built = registry.build("image_sets", {**spec, "strict": False} if "strict" in spec else spec)
    images: list[LabelledImage] = []
    for label in labels:
        for count in range(each, 0, -1):
            try:
                images += built.images([label], count, size, seed)
                break
            except CfevalError:
                if count == 1:
                    raise
    return images


def of_classifiers(study: Vce, names: Collection[str]) -> Iterator[Diagnostic]:
    """What a look at the user's own images tells of the classifiers, one after the other.

    Only image sets that lie in files are looked at, and only classifiers that need no download.

    Args:
        study: whose.
        names: of the classifiers to look at, among those that its conditions use.
    """
    sources = list(dict.fromkeys(group.source for group in study.groups))
    pairs = {
        (condition.image_set, name): None
        for condition in study.all_conditions()
        for name in (condition.classifier, *study.oracles_of(condition))
        if name in names and name not in study.roles.random
    }
    for image_set, name in pairs:
        images = study.image_sets[image_set].plugin_options()
        if registry.dependencies("image_sets", images):
            where = f"{name} on {image_set}" if len(study.image_sets) > 1 else name
            try:
                yield from _looked(where, study.classifiers[name].plugin_options(), images, sources, study.size)
            except CfevalError as error:
                yield Diagnostic(False, f"{where}: {error}")


def _looked(
    name: str, spec: Mapping[str, Any], images: Mapping[str, Any], sources: Sequence[str], size: int
) -> Iterator[Diagnostic]:
    plugin = registry.plugin_of("classifiers", spec)
    if not getattr(plugin, "is_here", lambda: True)():
        return
    classifier = registry.build("classifiers", on_cpu(spec))
    labels = [label for label in sources if label in classifier.classes]
    if getattr(plugin, "is_fitted", False) or not labels:
        yield from (Diagnostic(True, f"{name}: {note}") for note in getattr(classifier, "notes", ()))
        return
    read = reading(name, classifier, own_images(images, labels, size))
    yield from (Diagnostic(True, f"{name}: {note}") for note in read.notes)
    yield Diagnostic(True, f"{name}: {read.summary()}", warns=not read.surely_above or bool(read.advice))


def on_cpu(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A classifier for a look at a few images: on the processor, which any machine has, in float32."""
    fields = type(registry.plugin_of("classifiers", spec)).model_fields
    settings = {"device": "cpu", "dtype": "float32"}
    return {**spec, **{key: value for key, value in settings.items() if key in fields}}
