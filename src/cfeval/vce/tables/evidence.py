"""What the hypotheses rest on: figures of single counterfactuals, or of groups where there are no such scores.

The repeats of an image and target are averaged before anything else, so that none of them counts twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from cfeval.core.records import Status
from cfeval.vce.records import GroupScore, Pair, VceCondition
from cfeval.vce.tables.group_scores import Cell, GroupMaterial, Row, SettingNames
from cfeval.vce.tables.summary import mean


@dataclass(frozen=True)
class Reading:
    """A figure by cell; `asked` cells of `units` units there would be, `missing` says why some have none."""

    values: Mapping[Cell, float] = field(default_factory=dict)
    asked: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    units: int = 0


class Evidence:
    """The figures of one setting."""

    def __init__(self, material: GroupMaterial, setting: SettingNames) -> None:
        self.material, self.setting, self.roles = material, setting, material.roles
        self.by_image = any((condition.image_set, condition.denoiser) == setting for condition in material.scores)
        self.unit = "source image" if self.by_image else "source class"

    def classifiers(self, method: str | None) -> list[str]:
        """Those with a condition of a method."""
        return self.material.classifiers(self.setting, method) if method else []

    def witnesses(self, classifier: str) -> list[str]:
        """The oracles that count for a classifier (`Roles.witnesses`)."""
        return self.roles.witnesses(classifier, self.material.oracles(self.setting))

    def conditional_validity(self, classifier: str, method: str | None, pair: Pair = "ideal") -> Reading:
        """The share of the witnesses that see the target, of the counterfactuals in which the classifier sees it.

        Only scores of single counterfactuals tell; of those that the classifier sees otherwise there is no figure.
        """
        of = self.witnesses(classifier)

        def agreed(row: Row) -> float | None:
            said = dict(row.seen.oracles)
            valid = row.seen.predicted == row.cell.target
            return mean([float(said[name] == row.cell.target) for name in of if said.get(name)]) if valid else None

        return self._of_images(classifier, method, pair, agreed)

    def target_accuracy(self, classifier: str, method: str | None, pair: Pair = "ideal") -> Reading:
        """1 where the classifier sees the target; of a group the share."""
        if self.by_image:
            return self._of_images(classifier, method, pair, lambda row: float(row.seen.predicted == row.cell.target))
        return self._of_groups(classifier, method, pair, ["ta"])

    def oracle_accuracy(
        self, classifier: str, method: str | None, pair: Pair = "ideal", oracles: Sequence[str] | None = None
    ) -> Reading:
        """The share of the witnesses, or of other oracles, that see the target."""
        of = self.witnesses(classifier) if oracles is None else oracles
        if not self.by_image:
            return self._of_groups(classifier, method, pair, [f"ota_{name}" for name in of])

        def agreed(row: Row) -> float | None:
            said = {classifier: row.seen.predicted, **dict(row.seen.oracles)}
            return mean([float(said[name] == row.cell.target) for name in of if said.get(name)])

        return self._of_images(classifier, method, pair, agreed)

    def closeness(self, classifier: str, method: str | None) -> tuple[str, Reading]:
        """The first perceptual distance of Table 3 that there is, and its figures."""
        for place, name in enumerate(self.roles.closeness):
            by_image = self._of_images(classifier, method, "ideal", partial(_distance, place))
            reading = by_image if self.by_image else self._of_groups(classifier, method, "ideal", [name])
            if reading.values:
                return name, reading
        return "", Reading()

    def realism(self, classifier: str, method: str | None) -> tuple[str, Reading]:
        """The first distance of distributions of Table 3 that there is; always of groups."""
        for name in self.roles.realism:
            reading = self._of_groups(classifier, method, "ideal", [name])
            if reading.values:
                return name, reading
        return "", Reading()

    def _of_groups(self, classifier: str, method: str | None, pair: Pair, names: Sequence[str]) -> Reading:
        groups = self.material.groups(self.setting, classifier, method, pair)
        found = {_cell(score): mean([score.figures[n] for n in names if n in score.figures]) for score in groups}
        values = {cell: value for cell, value in found.items() if value is not None}
        units = len({score.group.source for score in groups})
        return Reading(values, len(groups), _counts("no figure", len(groups) - len(values)), units)

    def _of_images(self, classifier: str, method: str | None, pair: Pair, of: Callable[[Row], float | None]) -> Reading:
        condition = VceCondition(
            image_set=self.setting[0], denoiser=self.setting[1], classifier=classifier, method=method or ""
        )
        rows = [row for row in self.material.scores.get(condition, ()) if row.seen.pair == pair]
        drawn: dict[Cell, list[float]] = {Cell(row.cell.unit, row.cell.target): [] for row in rows}
        missing: Counter[str] = Counter()
        for row in rows:
            why, value = self._value(row, classifier, of)
            missing += _counts(why, int(value is None))
            if value is not None:
                drawn[Cell(row.cell.unit, row.cell.target)].append(value)
        values = {cell: sum(each) / len(each) for cell, each in drawn.items() if each}
        return Reading(values, len(drawn), missing, len({cell.unit for cell in drawn}))

    def _value(self, row: Row, classifier: str, of: Callable[[Row], float | None]) -> tuple[str, float | None]:
        """The figure of a counterfactual, or why it has none; an original that was misread explains nothing.

        A classifier that was never trained misreads nearly all, so its own are kept.
        """
        if row.seen.status != Status.OK:
            return row.seen.status.value, None
        if row.seen.misread and self.roles.of_classifier(classifier) != "random":
            return "misread before", None
        return "no figure", of(row)


def combined(readings: Iterable[Reading]) -> Reading:
    """The mean over several classifiers, at the cells that all of them have."""
    of = list(readings)
    shared = [cell for cell in (of[0].values if of else {}) if all(cell in reading.values for reading in of)]
    return _joined({cell: sum(reading.values[cell] for reading in of) / len(of) for cell in shared}, of)


def minus(one: Reading, other: Reading, absolute: bool = False) -> Reading:
    """The difference at the cells that both have."""
    shared = [cell for cell in one.values if cell in other.values]
    values = {cell: one.values[cell] - other.values[cell] for cell in shared}
    return _joined({cell: abs(value) if absolute else value for cell, value in values.items()}, [one, other])


def gain_of_part(of_all: Reading, part: Reading) -> Reading:
    """The mean of a part less the mean of all, as values by cell whose mean it is.

    With y a value, k 1 in the part and 0 elsewhere, R the mean of the part and K its share, a cell has
    k (y − R) / K + R − y: their mean is R − mean(y), and their spread that of this difference of dependent means
    (linearization of a ratio; Cochran 1977, Section 2.11), also of resampled units.
    """
    inside = [part.values[cell] for cell in of_all.values if cell in part.values]
    if not inside:
        return _joined({}, [of_all])
    mean_inside, share = sum(inside) / len(inside), len(inside) / len(of_all.values)
    values = {
        cell: mean_inside - value + (part.values.get(cell, mean_inside) - mean_inside) / share
        for cell, value in of_all.values.items()
    }
    return _joined(values, [of_all])


def each_once(readings: Iterable[Reading]) -> Reading:
    """The mean over classifiers at each cell, over those that have it: a classifier counts once, an image once."""
    of = list(readings)
    found: dict[Cell, list[float]] = {}
    for reading in of:
        for cell, value in reading.values.items():
            found.setdefault(cell, []).append(value)
    return _joined({cell: sum(values) / len(values) for cell, values in found.items()}, of)


def by_unit(reading: Reading) -> Reading:
    """The mean over a unit's targets and repeats."""
    found: dict[str, list[float]] = {}
    for cell, value in reading.values.items():
        found.setdefault(cell.unit, []).append(value)
    values = {Cell(unit, ""): sum(of) / len(of) for unit, of in found.items()}
    return Reading(values, reading.units, reading.missing, reading.units)


def _joined(values: Mapping[Cell, float], of: Sequence[Reading]) -> Reading:
    missing = sum((Counter(reading.missing) for reading in of), Counter[str]())
    asked = max((reading.asked for reading in of), default=0)
    return Reading(values, asked, missing, max((reading.units for reading in of), default=0))


def _distance(place: int, row: Row) -> float | None:
    return row.distances[place]


def _cell(score: GroupScore) -> Cell:
    return Cell(score.group.source, score.group.target)


def _counts(reason: str, number: int) -> Counter[str]:
    return Counter({reason: number} if number > 0 else {})
