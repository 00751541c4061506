"""What oracles of attributes say of a condition's groups: MNAC and CD (DiVE, STEEX, DiME)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cfeval.core.streams import batched
from cfeval.vce.interfaces import AttributeClassifier
from cfeval.vce.metrics.attributes import attributes_changed, correlation_difference
from cfeval.vce.models.attributes import Bools
from cfeval.vce.predictions import Shown, Views, nearest_bytes

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
            if oracle.of_class(key[0]) is None or oracle.of_class(key[2]) is None:
                continue
            figures[f"mnac_{name}"] = float(attributes_changed(*self._seen(name, key, groups)).mean())
            back = (key[2], key[1], key[0])
            differing = sorted(_differing(oracle, key[0], key[2])) if groups.get(back) else []
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
        if (name, key) not in self._kept:
            sides: list[list[Bools]] = [[], []]
            for some in batched(groups[key], self.batch):
                for side, images in zip(sides, self.views.pairs(some), strict=True):
                    side.append(_decided(self.oracles[name], nearest_bytes(images)))
            self._kept[name, key] = (np.concatenate(sides[0]), np.concatenate(sides[1]))
        return self._kept[name, key]


def _decided(oracle: AttributeClassifier, images: "np.typing.NDArray[np.uint8]") -> Bools:
    import torch

    decisions: Bools = oracle.decisions(torch.from_numpy(images)).numpy()
    return decisions


def _differing(oracle: AttributeClassifier, source: str, target: str) -> frozenset[str]:
    """The attributes that only one of two classes has; none where the oracle does not know both."""
    first, second = oracle.of_class(source), oracle.of_class(target)
    return frozenset() if first is None or second is None else first ^ second
