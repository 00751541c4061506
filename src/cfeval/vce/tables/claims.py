"""The paper's five hypotheses (DBVCE, Section 5.2) as claims about a mean; controls, rejection and planted defects.

Every claim says that an effect lies above or below a bar that was fixed beforehand. It rests on figures of single
counterfactuals, or of groups where there are no such scores; the repeats of an image and target are averaged before
anything else, so that none of them counts twice. Oracles are the witnesses of `Evidence.witnesses`: trained, not the
classifier itself, and not the robust one, whose gradient the cone follows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf

from cfeval.core.records import Status
from cfeval.vce.records import Pair, VceCondition
from cfeval.vce.tables.group_scores import Cell, GroupMaterial, Row, SettingNames, mean, setting_of


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
        self.by_image = any(setting_of(condition) == setting for condition in material.scores)
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
        witnesses = self.witnesses(classifier)

        def agreed(row: Row) -> float | None:
            valid = row.seen.predicted == row.cell.target
            return _agreement(row, dict(row.seen.oracles), witnesses) if valid else None

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
        oracles_asked = self.witnesses(classifier) if oracles is None else oracles
        if not self.by_image:
            return self._of_groups(classifier, method, pair, [f"ota_{name}" for name in oracles_asked])

        def agreed(row: Row) -> float | None:
            return _agreement(row, {classifier: row.seen.predicted, **dict(row.seen.oracles)}, oracles_asked)

        return self._of_images(classifier, method, pair, agreed)

    def closeness(self, classifier: str, method: str | None) -> tuple[str, Reading]:
        """The first perceptual distance of Table 3 that there is, and its figures."""
        for place, name in enumerate(self.roles.closeness):
            if self.by_image:
                reading = self._of_images(classifier, method, "ideal", partial(_distance, place))
            else:
                reading = self._of_groups(classifier, method, "ideal", [name])
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
        values = {}
        for score in groups:
            value = mean([score.figures[name] for name in names if name in score.figures])
            if value is not None:
                values[Cell(score.group.source, score.group.target)] = value
        lacking = len(groups) - len(values)
        units = len({score.group.source for score in groups})
        return Reading(values, len(groups), {"no figure": lacking} if lacking > 0 else {}, units)

    def _of_images(
        self, classifier: str, method: str | None, pair: Pair, figure_of: Callable[[Row], float | None]
    ) -> Reading:
        image_set, denoiser = self.setting
        condition = VceCondition(image_set=image_set, denoiser=denoiser, classifier=classifier, method=method or "")
        rows = [row for row in self.material.scores.get(condition, ()) if row.seen.pair == pair]
        drawn: dict[Cell, list[float]] = {Cell(row.cell.unit, row.cell.target): [] for row in rows}
        missing: Counter[str] = Counter()
        for row in rows:
            why, value = self._value(row, classifier, figure_of)
            if value is None:
                missing[why] += 1
            else:
                drawn[Cell(row.cell.unit, row.cell.target)].append(value)
        values = {cell: sum(each) / len(each) for cell, each in drawn.items() if each}
        return Reading(values, len(drawn), missing, len({cell.unit for cell in drawn}))

    def _value(self, row: Row, classifier: str, figure_of: Callable[[Row], float | None]) -> tuple[str, float | None]:
        """The figure of a counterfactual, or why it has none; an original that was misread explains nothing.

        A classifier that was never trained misreads nearly all, so its own are kept.
        """
        if row.seen.status != Status.OK:
            return row.seen.status.value, None
        if row.seen.misread and self.roles.of_classifier(classifier) != "random":
            return "misread before", None
        return "no figure", figure_of(row)


def _agreement(row: Row, replies: Mapping[str, str | None], names: Sequence[str]) -> float | None:
    """The share of some classifiers that see the target."""
    return mean([float(replies[name] == row.cell.target) for name in names if replies.get(name)])


def _distance(place: int, row: Row) -> float | None:
    return row.distances[place]


def combined(readings: Iterable[Reading]) -> Reading:
    """The mean over several classifiers, at the cells that all of them have."""
    all_readings = list(readings)
    shared = [
        cell
        for cell in (all_readings[0].values if all_readings else {})
        if all(cell in reading.values for reading in all_readings)
    ]
    return _joined(
        {cell: sum(reading.values[cell] for reading in all_readings) / len(all_readings) for cell in shared},
        all_readings,
    )


def minus(minuend: Reading, subtrahend: Reading, absolute: bool = False) -> Reading:
    """The difference at the cells that both have."""
    values = {
        cell: value - subtrahend.values[cell] for cell, value in minuend.values.items() if cell in subtrahend.values
    }
    return _joined({cell: abs(value) if absolute else value for cell, value in values.items()}, [minuend, subtrahend])


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
    all_readings = list(readings)
    by_cell: dict[Cell, list[float]] = {}
    for reading in all_readings:
        for cell, value in reading.values.items():
            by_cell.setdefault(cell, []).append(value)
    return _joined({cell: sum(values) / len(values) for cell, values in by_cell.items()}, all_readings)


def by_unit(reading: Reading) -> Reading:
    """The mean over a unit's targets and repeats."""
    by_name: dict[str, list[float]] = {}
    for cell, value in reading.values.items():
        by_name.setdefault(cell.unit, []).append(value)
    values = {Cell(unit, ""): sum(unit_values) / len(unit_values) for unit, unit_values in by_name.items()}
    return Reading(values, reading.units, reading.missing, reading.units)


def _joined(values: Mapping[Cell, float], readings: Sequence[Reading]) -> Reading:
    missing = sum((Counter(reading.missing) for reading in readings), Counter[str]())
    asked = max((reading.asked for reading in readings), default=0)
    return Reading(values, asked, missing, max((reading.units for reading in readings), default=0))


@dataclass(frozen=True)
class Claim:
    """One part of a hypothesis: the mean of all values of its readings is above (or below) the bar.

    `paper` is what the paper found, `unit` what is drawn as a whole, `bounds` the least and greatest value possible.
    """

    hypothesis: str
    part: str
    claim: str
    paper: str
    classifiers: Sequence[str]
    readings: Sequence[Reading]
    unit: str
    bar: float = 0.0
    above: bool = True
    bounds: tuple[float, float] = (-1.0, 1.0)
    note: str = ""


_SHARE, _ANY = (0.0, 1.0), (-inf, inf)
_OF_VALID = ", where the classifier sees it"
_FURTHER: dict[Pair, str] = {"middle": "a target at a middle distance", "other": "a far target"}


def claims(evidence: Evidence) -> Iterator[Claim]:
    """All claims, in the paper's order; one that nothing can be said of has no readings and a note."""
    yield from _valid_close_realistic(evidence)
    yield _random_changes(evidence)
    yield from _cone(evidence)
    yield from _x0_prediction(evidence)
    yield from _bad_targets(evidence)
    base, without, margin = evidence.roles.base, evidence.roles.no_cone, evidence.roles.tests.margin
    names = [name for name in evidence.classifiers(base) if name in evidence.roles.random]
    yield Claim(
        "RandomNet",
        "never valid",
        "a random classifier sees the target in next to no counterfactual",
        "supported (TA 0)",
        names,
        [evidence.target_accuracy(name, base) for name in names],
        evidence.unit,
        bar=margin,
        above=False,
        bounds=_SHARE,
    )
    names = _paired(evidence, [name for name in evidence.classifiers(base) if name in evidence.roles.robust], without)
    yield Claim(
        "Control",
        "robust unchanged",
        "cone projection changes next to nothing for the robust classifier",
        "supported (TA the same)",
        names,
        [minus(evidence.target_accuracy(n, base), evidence.target_accuracy(n, without), absolute=True) for n in names],
        evidence.unit,
        bar=margin,
        above=False,
        bounds=_SHARE,
    )
    yield from _rejection(evidence)
    yield from _planted(evidence)


def _fragile(evidence: Evidence, *without: str) -> list[str]:
    """The trained classifiers of the base that are not robust, nor of the kinds in `without`."""
    return [
        name
        for name in evidence.classifiers(evidence.roles.base)
        if evidence.roles.of_classifier(name) not in ("robust", *without)
    ]


def _paired(evidence: Evidence, names: Sequence[str], method: str | None) -> list[str]:
    return [name for name in names if name in evidence.classifiers(method)]


def _valid_close_realistic(evidence: Evidence) -> Iterator[Claim]:
    base, majority = evidence.roles.base, evidence.roles.tests.majority
    names = _fragile(evidence, "random", "flawed")
    yield Claim(
        "H1",
        "valid",
        "the classifier sees the target in most counterfactuals of non-robust classifiers",
        "supported, but for SIMCLR (TA .90 to .99; .45)",
        names,
        [evidence.target_accuracy(name, base) for name in names],
        evidence.unit,
        bar=majority,
        bounds=_SHARE,
    )
    seen, where = (evidence.conditional_validity, _OF_VALID) if evidence.by_image else (evidence.oracle_accuracy, "")
    yield Claim(
        "H1",
        "no adversarial example",
        f"the oracles see the target in most counterfactuals of non-robust classifiers{where}",
        "not supported (OTA well below .5 for most)",
        names,
        [seen(name, base) for name in names],
        evidence.unit,
        bar=majority,
        bounds=_SHARE,
    )
    realistic = "supported, but for SIMCLR (FID .80 to 1.16, SIMCLR 3.16; robust 1.87)"
    for part, adjective, in_paper, read, unit in (
        (
            "close",
            "nearer to the original than",
            "supported (LPIPS .29 to .34; robust .38)",
            evidence.closeness,
            evidence.unit,
        ),
        ("realistic", "more realistic than", realistic, evidence.realism, "source class"),
    ):
        metric, reading = _against_robust(evidence, names, read)
        measured = f" ({metric})" if metric else ""
        yield Claim(
            "H1",
            part,
            f"counterfactuals of non-robust classifiers are {adjective} the robust one's{measured}",
            in_paper,
            names,
            [reading],
            unit,
            above=False,
            bounds=_ANY,
        )


def _against_robust(
    evidence: Evidence, names: Sequence[str], read: Callable[[str, str | None], tuple[str, Reading]]
) -> tuple[str, Reading]:
    """A distance of the non-robust classifiers' counterfactuals − that of the robust ones'."""
    robust = [name for name in evidence.classifiers(evidence.roles.base) if name in evidence.roles.robust]
    sides = [[read(name, evidence.roles.base) for name in some] for some in (names, robust)]
    metrics = {metric for side in sides for metric, _ in side}
    if not all(sides) or len(metrics) != 1:
        return "", Reading()
    ours, theirs = (combined(reading for _, reading in side) for side in sides)
    return metrics.pop(), minus(ours, theirs)


def _random_changes(evidence: Evidence) -> Claim:
    base, unguided = evidence.roles.base, evidence.roles.unguided
    names = [name for name in evidence.classifiers(base) if name in evidence.roles.random]
    readings = []
    for name in names:
        oracles = evidence.witnesses(name)
        guided = evidence.oracle_accuracy(name, base, oracles=oracles)
        start = next(iter(sorted(evidence.classifiers(unguided), key=lambda other: other != name)), None)
        chance = evidence.oracle_accuracy(start, unguided, oracles=oracles) if start is not None else None
        readings.append(minus(guided, chance) if chance is not None else guided)
    return Claim(
        "H2",
        "no meaningful change",
        "by a random classifier's guidance the oracles see the target no more often",
        "not supported (OTA .14 to .23: the cone carries the robust classifier's gradient)",
        names,
        readings,
        evidence.unit,
        bar=evidence.roles.tests.margin,
        above=False,
        bounds=(-1.0, 1.0) if evidence.classifiers(unguided) else _SHARE,
        note="" if evidence.classifiers(unguided) else "no unguided condition to compare with",
    )


def _cone(evidence: Evidence) -> Iterator[Claim]:
    base, without = evidence.roles.base, evidence.roles.no_cone
    names = _paired(evidence, _fragile(evidence, "random"), without)
    yield Claim(
        "H3",
        "cone projection",
        "the oracles see the target of non-robust classifiers more often with the cone",
        "supported (OTA falls by .26 to .39 without it, SIMCLR by .06 to .19)",
        names,
        [minus(evidence.oracle_accuracy(name, base), evidence.oracle_accuracy(name, without)) for name in names],
        evidence.unit,
    )
    flawed = [name for name in names if evidence.roles.of_classifier(name) == "flawed"]
    if evidence.by_image and flawed:
        yield Claim(
            "H3",
            "of valid ones",
            f"the oracles see the target of flawed classifiers more often with the cone{_OF_VALID} both times",
            "not reported",
            flawed,
            [
                minus(evidence.conditional_validity(name, base), evidence.conditional_validity(name, without))
                for name in flawed
            ],
            evidence.unit,
        )


def _x0_prediction(evidence: Evidence) -> Iterator[Claim]:
    base, without = evidence.roles.base, evidence.roles.no_x0
    losses = {
        name: minus(evidence.target_accuracy(name, base), evidence.target_accuracy(name, without))
        for name in _paired(evidence, evidence.classifiers(base), without)
    }
    plain = [name for name in _fragile(evidence, "random", "noise-trained", "flawed") if name in losses]
    noisy = [name for name in losses if evidence.roles.of_classifier(name) in ("robust", "noise-trained")]
    yield Claim(
        "H4",
        "x0-prediction",
        "classifiers not trained on noise see the target more often with x0-prediction",
        "supported (TA falls by .45 to .58 without it, AlexNet by .08)",
        plain,
        [losses[name] for name in plain],
        evidence.unit,
    )
    both = plain and noisy
    mine, theirs = (combined(losses[name] for name in some) for some in (plain, noisy))
    yield Claim(
        "H4",
        "more than where noise is known",
        "classifiers not trained on noise gain more by x0-prediction than robust and noise-trained ones",
        "supported (Madry and UnetE unchanged)",
        [*plain, *noisy] if both else [],
        [minus(mine, theirs)] if both else [],
        evidence.unit,
        bounds=(-2.0, 2.0),
    )


def _bad_targets(evidence: Evidence) -> Iterator[Claim]:
    base = evidence.roles.base
    names = [
        name for name in evidence.classifiers(base) if evidence.roles.of_classifier(name) not in ("random", "flawed")
    ]
    middle = [name for name in names if evidence.oracle_accuracy(name, base, "middle").values]
    further: Pair = "middle" if middle else "other"
    names = middle or [name for name in names if evidence.oracle_accuracy(name, base, "other").values]
    far = [evidence.oracle_accuracy(name, base, further) for name in names]
    near = [by_unit(evidence.oracle_accuracy(name, base)) for name in names]
    reached = [v for name in names for v in evidence.target_accuracy(name, base, further).values.values()]
    # Where no classifier reaches a further target, it is not worse: it is out of the method's reach.
    out_of_reach = bool(reached) and sum(reached) / len(reached) < evidence.roles.tests.margin
    floor = "floor: the classifiers see such a target in next to none, so its distance tells nothing; name nearer ones"
    note = floor if out_of_reach else ""
    yield Claim(
        "H5",
        "bad targets are worse",
        f"the oracles see an ideal target more often than {_FURTHER[further]}",
        "supported (OTA falls by .14 to .35, SIMCLR by .04 to .12)",
        names,
        [minus(ideal, by_unit(other)) for ideal, other in zip(near, far, strict=True)],
        evidence.unit,
        note=note,
    )
    yield Claim(
        "H5",
        "bad targets fail",
        f"the oracles see {_FURTHER[further]} in fewer than most counterfactuals",
        "supported (OTA .03 to .54)",
        names,
        far,
        evidence.unit,
        bar=evidence.roles.tests.majority,
        above=False,
        bounds=_SHARE,
        note=note,
    )


def _rejection(evidence: Evidence) -> Iterator[Claim]:
    """What dropping the counterfactuals buys that the classifier itself does not see as the target, without the cone.

    It needs no condition of its own: what would be kept is seen in the scores.
    """
    base, without = evidence.roles.base, evidence.roles.no_cone
    names = _paired(evidence, _fragile(evidence, "random"), without)
    if not evidence.by_image or not names:
        return
    kept = {name: evidence.conditional_validity(name, without) for name in names}
    yield Claim(
        "Rejection",
        "of those kept",
        "without the cone the oracles see the target more often in what the classifier sees as it than in all",
        "proposed, not measured",
        names,
        [gain_of_part(evidence.oracle_accuracy(name, without), kept[name]) for name in names],
        evidence.unit,
        bounds=_ANY,
    )
    yield Claim(
        "Rejection",
        "less than the cone",
        "in the same images the oracles see the target more often with the cone",
        "not reported",
        names,
        [minus(evidence.oracle_accuracy(name, base), kept[name]) for name in names],
        evidence.unit,
    )


def _planted(evidence: Evidence) -> Iterator[Claim]:
    """Whether the oracles tell a classifier with a known defect from sound ones; without the cone, which hides it."""
    without = evidence.roles.no_cone
    names = _paired(evidence, _fragile(evidence, "random"), without)
    sound = [name for name in names if evidence.roles.of_classifier(name) != "flawed"]
    if not evidence.by_image or not sound:
        return
    of_sound = each_once(evidence.conditional_validity(name, without) for name in sound)
    for name in names:
        if name not in sound:
            yield Claim(
                "Planted",
                name,
                f"without the cone oracles see its target less often than for sound classifiers{_OF_VALID}",
                "not in the paper: the defect is known",
                [name],
                [minus(evidence.conditional_validity(name, without), of_sound)],
                evidence.unit,
                above=False,
            )
