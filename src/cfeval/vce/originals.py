"""How a classifier reads the user's own images, before anything is made of them: what is done to them, how many it gets
right, and where it does no better than chance, what would mend that.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from math import comb
from typing import TYPE_CHECKING, Any

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
    from cfeval.vce.predictions import Probabilities

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

    def told(self) -> str:
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


def reading(name: str, classifier: Classifier, images: Sequence[LabelledImage], who: str = "") -> Reading:
    """Ask a classifier about images whose classes it knows.

    Raises:
        PluginError: it says what is not finite.
    """
    labels = [image.label for image in images]
    found = _asked(classifier, images, who or f"classifier '{name}'")
    names = [classifier.classes[place] for place in found.argmax(1)]
    right = sum(map(str.__eq__, names, labels))
    told = getattr(getattr(classifier, "preprocessing", None), "told", None)
    made = Reading(
        name,
        told(classifier.options.crop) if told else "",  # type: ignore[attr-defined]
        right,
        len(images),
        len(set(labels)),
        names[0] if len(set(names)) == 1 and len(set(labels)) > 1 else "",
        _taken(names, labels),
        getattr(classifier, "notes", ()),
    )
    if made.surely_above and right >= _GOOD * len(images):
        return made
    order = _order(classifier.classes, found, labels)
    best, advice = _best_order(classifier.classes, order, found, labels) if order else (right, "")
    if told:
        best, advice, order = _spreads(classifier, images, labels, (best, advice, order))  # type: ignore[arg-type]
    if _may_be_luck(best, right):
        return made
    surely = limits(best, len(images))[0] > chance_of(made.classes)
    return replace(made, order=order, advice=advice if surely else "")


def _may_be_luck(more: int, fewer: int) -> bool:
    """Whether so many more images could be read rightly by chance: a sign test of those that only one way reads."""
    total = more + fewer
    return sum(comb(total, count) for count in range(more, total + 1)) >= _LUCK * 2**total


def _taken(names: Sequence[str], labels: Sequence[str]) -> dict[str, int]:
    """The commonest mistakes."""
    wrong = Counter(f"'{label}' for '{name}'" for name, label in zip(names, labels, strict=True) if name != label)
    return dict(wrong.most_common(_SHOWN))


def _asked(classifier: Classifier, images: Sequence[LabelledImage], who: str) -> "Probabilities":
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
    return np.concatenate(rows)


def _order(classes: Sequence[str], found: npt.NDArray[np.float64], labels: Sequence[str]) -> tuple[str, ...]:
    """The names of the outputs, those of the labels exchanged among each other so that most images are read rightly."""
    from scipy.optimize import linear_sum_assignment

    wanted = list(dict.fromkeys(labels))
    places = [classes.index(name) for name in wanted]
    said = np.array([[sum((found.argmax(1) == p) & (np.array(labels) == name)) for name in wanted] for p in places])
    outputs, names = linear_sum_assignment(said, maximize=True)
    order = list(classes)
    for output, name in zip(outputs, names, strict=True):
        order[places[output]] = wanted[name]
    return tuple(order) if order != list(classes) else ()


def _best_order(
    classes: Sequence[str], order: Sequence[str], found: npt.NDArray[np.float64], labels: Sequence[str]
) -> tuple[int, str]:
    right = sum(order[place] == label for place, label in zip(found.argmax(1), labels, strict=True))
    moved = [f"{name} where {before} stands" for name, before in zip(order, classes, strict=True) if name != before]
    advice = (
        f"If its outputs had another order it would read {right} of them ({', '.join(moved[:4])}): correct `classes`"
    )
    return right, advice


def _spreads(
    classifier: "NetworkClassifier",
    images: Sequence[LabelledImage],
    labels: Sequence[str],
    best: tuple[int, str, tuple[str, ...]],
) -> tuple[int, str, tuple[str, ...]]:
    """The best of other means and standard deviations, where one is better."""
    for mean, std in SPREADS:
        other = copy(classifier)
        other.preprocessing = classifier.preprocessing.but(mean=mean, std=std)
        if other.preprocessing == classifier.preprocessing:
            continue
        try:
            found = _asked(other, images, "")
        except PluginError:
            continue
        right = sum(classifier.classes[p] == label for p, label in zip(found.argmax(1), labels, strict=True))
        if right > best[0]:
            spread = f"`mean: {list(mean)}` and `std: {list(std)}`"
            best = right, f"With {spread} it would read {right} of them: set these if it was trained so", ()
    return best


def own_images(spec: Mapping[str, Any], labels: Sequence[str], size: int, seed: int = 0) -> list[LabelledImage]:
    """Some images of each class, as many as there are up to `IMAGES` together; those that cannot be used are left out.

    Raises:
        InputError: no such folder or class.
    """
    each = max(1, IMAGES // len(labels))
    built = registry.build("image_sets", {**spec, "strict": False} if "strict" in spec else spec)
    found: list[LabelledImage] = []
    for label in labels:
        for count in range(each, 0, -1):
            try:
                found += built.images([label], count, size, seed)
                break
            except CfevalError:
                if count == 1:
                    raise
    return found


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
    yield Diagnostic(True, f"{name}: {read.told()}", warns=not read.surely_above or bool(read.advice))


def on_cpu(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A classifier for a look at a few images: on the processor, which any machine has, in float32."""
    fields = type(registry.plugin_of("classifiers", spec)).model_fields
    settings = {"device": "cpu", "dtype": "float32"}
    return {**spec, **{key: value for key, value in settings.items() if key in fields}}
