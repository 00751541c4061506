"""What groups of counterfactuals are worth as sets: attributes that changed, and distances to real images.

Attributes: what oracles say of a condition's groups, MNAC and CD (DiVE, STEEX, DiME).

Distances of distributions: how far are a group's counterfactuals, as a set, from real images? (DBVCE, Section 3.3) A
Fréchet distance of no more images than features is mostly bias, so it is left out, but from the reference evaluation,
which follows the paper's code. The kernel distance beside it is unbiased with any number, and has a standard error.
Features of whole groups are held: 8 bytes a number, so 16 KB an image with the 2,048 numbers of Inception.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cfeval.core.images import Image
from cfeval.core.streams import batched
from cfeval.vce.interfaces import AttributeClassifier, FeatureExtractor
from cfeval.vce.metrics.proximity import attributes_changed, correlation_difference
from cfeval.vce.metrics.realism import frechet_distance, frechet_floor, kernel_distance, split_frechet_distance
from cfeval.vce.models.attributes import Bools
from cfeval.vce.predictions import Floats, Images, Shown, Views, embedded, from_bytes, nearest_bytes, pixels_of, stacked

Key = tuple[str, str, str]
"""Source, pair and target of a group."""


@dataclass
class Attributes:
    """Looks each image of a condition up once; what is seen of it is kept, a byte an attribute."""

    views: Views
    oracles: Mapping[str, AttributeClassifier]
    batch: int = 64
    _kept: dict[tuple[str, Key], tuple[Bools, Bools]] = field(default_factory=dict, init=False)

    def figures(self, key: Key, groups: Mapping[Key, Sequence[Shown]]) -> dict[str, float]:
        """`mnac_<oracle>` and `cd_<oracle>` of a group; what cannot be computed is left out.

        CD needs an attribute that changes in both directions, so it is that of the group and of the one back, from
        the target class to the source class, together: `Smiling` to `not Smiling` and `not Smiling` to `Smiling`. It
        is the mean over the attributes in which the two classes differ.

        Args:
            key: the group.
            groups: the counterfactuals that have a result, of all groups of the condition.
        """
        figures: dict[str, float] = {}
        for name, oracle in self.oracles.items() if groups[key] else ():
            of_source, of_target = oracle.of_class(key[0]), oracle.of_class(key[2])
            if of_source is None or of_target is None:
                continue
            figures[f"mnac_{name}"] = float(attributes_changed(*self._seen(name, key, groups)).mean())
            back = (key[2], key[1], key[0])
            differing = sorted(of_source ^ of_target) if groups.get(back) else []
            differences = [self._difference(name, query, (key, back), groups) for query in differing]
            known_differences = [value for value in differences if value is not None]
            if known_differences:
                figures[f"cd_{name}"] = sum(known_differences) / len(known_differences)
        return figures

    def _difference(
        self, name: str, query: str, both: tuple[Key, Key], groups: Mapping[Key, Sequence[Shown]]
    ) -> float | None:
        oracle = self.oracles[name]
        if oracle.labels is None:
            return None
        seen = [self._seen(name, key, groups) for key in both]
        before, after = (np.concatenate([sides[place] for sides in seen]) for place in (0, 1))
        return correlation_difference(before, after, oracle.labels, oracle.attributes.index(query))

    def _seen(self, name: str, key: Key, groups: Mapping[Key, Sequence[Shown]]) -> tuple[Bools, Bools]:
        import torch

        if (name, key) not in self._kept:
            sides: list[list[Bools]] = [[], []]
            for some in batched(groups[key], self.batch):
                for side, images in zip(sides, self.views.pairs(some), strict=True):
                    side.append(self.oracles[name].decisions(torch.from_numpy(nearest_bytes(images))).numpy())
            self._kept[name, key] = (np.concatenate(sides[0]), np.concatenate(sides[1]))
        return self._kept[name, key]


TargetImages = Callable[[str], Iterable[Image]]
"""From a class to images of it."""
_ENOUGH = 2
"""Images that a covariance needs."""


@dataclass
class Distributions:
    """Computes the Fréchet distances of one group after the other.

    Real images are the originals of the group, as in the paper, and beside them images of the target class where
    `targets` gives some. Their features are kept until a group has other ones.
    """

    views: Views
    extractors: Mapping[str, FeatureExtractor]
    targets: TargetImages | None = None
    splits: int = 10
    batch: int = 64
    _kept: dict[str, tuple[tuple[str, ...], dict[str, Floats]]] = field(default_factory=dict, init=False)

    def figures(self, group: Sequence[Shown], ok: Sequence[Shown], target: str, seed: int) -> dict[str, float]:
        """The distances of a group by name; see `cfeval.vce.stages.group_scores`.

        Args:
            group: all counterfactuals that were asked for; their originals are the real images.
            ok: those that have a result.
            target: their target class.
            seed: of the splits in halves.
        """
        if not self.extractors or len(ok) < _ENOUGH:
            return {}
        sources = list({score.source_image: score for score in group}.values())
        places = {score.source_image: place for place, score in enumerate(sources)}
        real = self._features("sources", tuple(places), lambda: self._originals(sources))
        made = self._all(self.views.counterfactuals(some) for some in batched(ok, self.batch))
        wanted = self._features("targets", (target,), lambda: self._targets(target)) if self.targets else {}
        figures: dict[str, float | None] = {}
        for name in self.extractors:
            close = wanted or real
            if min(len(close[name]), len(made[name])) >= _ENOUGH:
                kernel = kernel_name(name)
                figures[kernel], figures[f"{kernel}_se"] = kernel_distance(close[name], made[name])
            if not self.views.reference and min(len(places), len(ok)) <= real[name].shape[1]:
                continue
            figures[name] = _distance(real[name], made[name])
            figures[f"s{name}"] = split_frechet_distance(
                real[name], made[name], [places[score.source_image] for score in ok], self.splits, seed
            )
            figures[f"{name}_floor"] = frechet_floor(real[name], self.splits, seed)
            figures[f"{name}_target"] = _distance(wanted[name], made[name]) if wanted else None
        return {name: value for name, value in figures.items() if value is not None}

    def of_both(self, group: Sequence[Shown], ok: Sequence[Shown], seed: int) -> dict[str, float]:
        """The Fréchet distances of both directions between two classes together, as papers on two classes report them.

        Args:
            group, ok, seed: as for `figures`, of both groups.
        """
        alone = Distributions(self.views, self.extractors, None, self.splits, self.batch)
        figures = alone.figures(group, ok, "", seed)
        names = [name for each in self.extractors for name in (each, f"s{each}") if name in figures]
        return {f"{name}_both": figures[name] for name in names}

    def _originals(self, sources: Sequence[Shown]) -> Iterator[Images]:
        return (self.views.originals(some) for some in batched(sources, self.batch))

    def _targets(self, target: str) -> Iterator[Images]:
        for some in batched(self.targets(target) if self.targets else (), self.batch):
            pixels = [pixels_of(image) for image in some]
            yield from_bytes(stacked(pixels, [f"an image of '{target}'"] * len(some)))

    def _features(self, kind: str, ids: tuple[str, ...], images: Callable[[], Iterator[Images]]) -> dict[str, Floats]:
        """The features of real images by extractor, those of the last group where they are the same images."""
        if kind not in self._kept or self._kept[kind][0] != ids:
            self._kept[kind] = (ids, self._all(images()))
        return self._kept[kind][1]

    def _all(self, batches: Iterable[Images]) -> dict[str, Floats]:
        """The features of all images, by extractor; the images themselves are let go."""
        features = {name: array("d") for name in self.extractors}  # grows in place; joining rows would double them
        widths = dict.fromkeys(self.extractors, 0)
        for images in batches:
            pixels = self.views.as_bytes(images)
            for name, extractor in self.extractors.items():
                rows = embedded(extractor, pixels, name)
                features[name].frombytes(np.ascontiguousarray(rows, dtype=np.float64).tobytes())
                widths[name] = rows.shape[1]
        return {
            name: np.frombuffer(values).reshape(-1, widths[name]) if values else np.empty((0, 0))
            for name, values in features.items()
        }


def kernel_name(name: str) -> str:
    """What the kernel distance of a Fréchet distance's features is called: `fid_64` → `kid_64`, `fd_x` → `kd_x`."""
    word, _, rest = name.partition("_")
    kernel_words = {"fid": "kid", "fd": "kd"}
    return f"{kernel_words[word]}_{rest}" if word in kernel_words and rest else f"kd_{name}"


def _distance(real: Floats, made: Floats) -> float | None:
    return frechet_distance(real, made) if min(len(real), len(made)) >= _ENOUGH else None
