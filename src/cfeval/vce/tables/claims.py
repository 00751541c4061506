"""The paper's five hypotheses (DBVCE, Section 5.2) as claims about a mean; controls, rejection and planted defects.

Every claim says that an effect lies above or below a bar that was fixed beforehand. Oracles are the witnesses of
`Evidence.witnesses`: trained, not the classifier itself, and not the robust one, whose gradient the cone follows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from cfeval.vce.records import Pair
from cfeval.vce.tables.evidence import Evidence, Reading, by_unit, combined, each_once, gain_of_part, minus

_OF_VALID = ", where the classifier sees it"
_FURTHER: dict[Pair, str] = {"middle": "a target at a middle distance", "other": "a far target"}


@dataclass(frozen=True)
class Claim:
    """One part of a hypothesis: the mean of all values of its readings is above (or below) the bar.

    `paper` is what the paper found, `unit` what is drawn as a whole, `bounds` the least and greatest value possible.
    """

    hypothesis: str
    part: str
    claim: str
    paper: str
    readings: Sequence[Reading] = ()
    classifiers: Sequence[str] = ()
    bar: float = 0.0
    above: bool = True
    bounds: tuple[float, float] = (0.0, 1.0)
    unit: str = ""
    note: str = ""


def claims(of: Evidence) -> Iterator[Claim]:
    """All claims, in the paper's order; one that nothing can be said of has no readings and a note."""
    yield from _valid_close_realistic(of)
    yield _random_changes(of)
    yield from _cone(of)
    yield from _x0_prediction(of)
    yield from _bad_targets(of)
    yield _random_is_never_valid(of)
    yield _robust_unchanged(of)
    yield from _rejection(of)
    yield from _planted(of)


def _fragile(of: Evidence, *without: str) -> list[str]:
    """The trained classifiers of the base that are not robust, nor of the kinds in `without`."""
    return [name for name in of.classifiers(of.roles.base) if of.roles.of_classifier(name) not in ("robust", *without)]


def _valid_close_realistic(of: Evidence) -> Iterator[Claim]:
    base, majority = of.roles.base, of.roles.tests.majority
    names = _fragile(of, "random", "flawed")
    yield Claim(
        *("H1", "valid", "the classifier sees the target in most counterfactuals of non-robust classifiers"),
        paper="supported, but for SIMCLR (TA .90 to .99; .45)",
        classifiers=names,
        readings=[of.target_accuracy(name, base) for name in names],
        bar=majority,
        unit=of.unit,
    )
    seen, where = (of.conditional_validity, _OF_VALID) if of.by_image else (of.oracle_accuracy, "")
    yield Claim(
        *(
            "H1",
            "no adversarial example",
            f"the oracles see the target in most counterfactuals of non-robust classifiers{where}",
        ),
        paper="not supported (OTA well below .5 for most)",
        classifiers=names,
        readings=[seen(name, base) for name in names],
        bar=majority,
        unit=of.unit,
    )
    for part, adjective, found in (
        ("close", "nearer to the original than", "supported (LPIPS .29 to .34; robust .38)"),
        ("realistic", "more realistic than", "supported, but for SIMCLR (FID .80 to 1.16, SIMCLR 3.16; robust 1.87)"),
    ):
        metric, reading = _against_robust(of, names, part)
        measured = f" ({metric})" if metric else ""
        yield Claim(
            *(
                "H1",
                part,
                f"counterfactuals of non-robust classifiers are {adjective} the robust one's{measured}",
            ),
            paper=found,
            classifiers=names,
            readings=[reading],
            above=False,
            bounds=(-inf, inf),
            unit=of.unit if part == "close" else "source class",
        )


def _against_robust(of: Evidence, names: Sequence[str], part: str) -> tuple[str, Reading]:
    """A distance of the non-robust classifiers' counterfactuals − that of the robust ones'."""
    read = of.closeness if part == "close" else of.realism
    robust = [name for name in of.classifiers(of.roles.base) if name in of.roles.robust]
    sides = [[read(name, of.roles.base) for name in some] for some in (names, robust)]
    metrics = {metric for side in sides for metric, _ in side}
    if not all(sides) or len(metrics) != 1:
        return "", Reading()
    ours, theirs = (combined(reading for _, reading in side) for side in sides)
    return metrics.pop(), minus(ours, theirs)


def _random_changes(of: Evidence) -> Claim:
    base, unguided = of.roles.base, of.roles.unguided
    names = [name for name in of.classifiers(base) if name in of.roles.random]
    readings = []
    for name in names:
        oracles = of.witnesses(name)
        guided = of.oracle_accuracy(name, base, oracles=oracles)
        start = next(iter(sorted(of.classifiers(unguided), key=lambda other: other != name)), None)
        readings.append(
            minus(guided, of.oracle_accuracy(start, unguided, oracles=oracles)) if start is not None else guided
        )
    return Claim(
        *(
            "H2",
            "no meaningful change",
            "by a random classifier's guidance the oracles see the target no more often",
        ),
        paper="not supported (OTA .14 to .23: the cone carries the robust classifier's gradient)",
        classifiers=names,
        readings=readings,
        bar=of.roles.tests.margin,
        above=False,
        bounds=(-1.0, 1.0) if of.classifiers(unguided) else (0.0, 1.0),
        unit=of.unit,
        note="" if of.classifiers(unguided) else "no unguided condition to compare with",
    )


def _cone(of: Evidence) -> Iterator[Claim]:
    names = _paired(of, _fragile(of, "random"), of.roles.no_cone)
    yield Claim(
        *("H3", "cone projection", "the oracles see the target of non-robust classifiers more often with the cone"),
        paper="supported (OTA falls by .26 to .39 without it, SIMCLR by .06 to .19)",
        classifiers=names,
        readings=[_gain(of, name, of.oracle_accuracy) for name in names],
        bounds=(-1.0, 1.0),
        unit=of.unit,
    )
    flawed = [name for name in names if of.roles.of_classifier(name) == "flawed"]
    if of.by_image and flawed:
        yield Claim(
            *(
                "H3",
                "of valid ones",
                f"the oracles see the target of flawed classifiers more often with the cone{_OF_VALID} both times",
            ),
            paper="not reported",
            classifiers=flawed,
            readings=[_gain(of, name, of.conditional_validity) for name in flawed],
            bounds=(-1.0, 1.0),
            unit=of.unit,
        )


def _gain(of: Evidence, name: str, figure: Callable[[str, str | None], Reading]) -> Reading:
    """What the cone adds to a figure of one classifier."""
    return minus(figure(name, of.roles.base), figure(name, of.roles.no_cone))


def _rejection(of: Evidence) -> Iterator[Claim]:
    """What dropping the counterfactuals buys that the classifier itself does not see as the target, without the cone.

    It needs no condition of its own: what would be kept is seen in the scores.
    """
    names = _paired(of, _fragile(of, "random"), of.roles.no_cone)
    if not of.by_image or not names:
        return
    kept = {name: of.conditional_validity(name, of.roles.no_cone) for name in names}
    all_of = {name: of.oracle_accuracy(name, of.roles.no_cone) for name in names}
    yield Claim(
        *(
            "Rejection",
            "of those kept",
            "without the cone the oracles see the target more often in what the classifier sees as it than in all",
        ),
        paper="proposed, not measured",
        classifiers=names,
        readings=[gain_of_part(all_of[name], kept[name]) for name in names],
        bounds=(-inf, inf),
        unit=of.unit,
    )
    yield Claim(
        *("Rejection", "less than the cone", "in the same images the oracles see the target more often with the cone"),
        paper="not reported",
        classifiers=names,
        readings=[minus(of.oracle_accuracy(name, of.roles.base), kept[name]) for name in names],
        bounds=(-1.0, 1.0),
        unit=of.unit,
    )


def _planted(of: Evidence) -> Iterator[Claim]:
    """Whether the oracles tell a classifier with a known defect from sound ones; without the cone, which hides it."""
    names = _paired(of, _fragile(of, "random"), of.roles.no_cone)
    sound = [name for name in names if of.roles.of_classifier(name) != "flawed"]
    if not of.by_image:
        return
    known = each_once(of.conditional_validity(name, of.roles.no_cone) for name in sound)
    for name in names if sound else ():
        if name not in sound:
            yield Claim(
                *(
                    "Planted",
                    name,
                    f"without the cone oracles see its target less often than for sound classifiers{_OF_VALID}",
                ),
                paper="not in the paper: the defect is known",
                classifiers=[name],
                readings=[minus(of.conditional_validity(name, of.roles.no_cone), known)],
                above=False,
                bounds=(-1.0, 1.0),
                unit=of.unit,
            )


def _x0_prediction(of: Evidence) -> Iterator[Claim]:
    base, without = of.roles.base, of.roles.no_x0
    losses = {
        name: minus(of.target_accuracy(name, base), of.target_accuracy(name, without))
        for name in _paired(of, of.classifiers(base), without)
    }
    plain = [name for name in _fragile(of, "random", "noise-trained", "flawed") if name in losses]
    noisy = [name for name in losses if of.roles.of_classifier(name) in ("robust", "noise-trained")]
    yield Claim(
        *("H4", "x0-prediction", "classifiers not trained on noise see the target more often with x0-prediction"),
        paper="supported (TA falls by .45 to .58 without it, AlexNet by .08)",
        classifiers=plain,
        readings=[losses[name] for name in plain],
        bounds=(-1.0, 1.0),
        unit=of.unit,
    )
    both = plain and noisy
    mine, theirs = (combined(losses[name] for name in some) for some in (plain, noisy))
    yield Claim(
        *(
            "H4",
            "more than where noise is known",
            "classifiers not trained on noise gain more by x0-prediction than robust and noise-trained ones",
        ),
        paper="supported (Madry and UnetE unchanged)",
        classifiers=[*plain, *noisy] if both else [],
        readings=[minus(mine, theirs)] if both else [],
        bounds=(-2.0, 2.0),
        unit=of.unit,
    )


def _bad_targets(of: Evidence) -> Iterator[Claim]:
    base = of.roles.base
    names = [name for name in of.classifiers(base) if of.roles.of_classifier(name) not in ("random", "flawed")]
    middle = [name for name in names if of.oracle_accuracy(name, base, "middle").values]
    further: Pair = "middle" if middle else "other"
    names = middle or [name for name in names if of.oracle_accuracy(name, base, "other").values]
    far = [of.oracle_accuracy(name, base, further) for name in names]
    near = [by_unit(of.oracle_accuracy(name, base)) for name in names]
    floor = _floor(of, names, further)
    yield Claim(
        *("H5", "bad targets are worse", f"the oracles see an ideal target more often than {_FURTHER[further]}"),
        paper="supported (OTA falls by .14 to .35, SIMCLR by .04 to .12)",
        classifiers=names,
        readings=[minus(one, by_unit(other)) for one, other in zip(near, far, strict=True)],
        bounds=(-1.0, 1.0),
        unit=of.unit,
        note=floor,
    )
    yield Claim(
        *("H5", "bad targets fail", f"the oracles see {_FURTHER[further]} in fewer than most counterfactuals"),
        paper="supported (OTA .03 to .54)",
        classifiers=names,
        readings=far,
        bar=of.roles.tests.majority,
        above=False,
        unit=of.unit,
        note=floor,
    )


def _floor(of: Evidence, names: Sequence[str], further: Pair) -> str:
    """A note where no classifier reaches a further target: then it is not worse, it is out of the method's reach."""
    values = [v for name in names for v in of.target_accuracy(name, of.roles.base, further).values.values()]
    if not values or sum(values) / len(values) >= of.roles.tests.margin:
        return ""
    return "floor: the classifiers see such a target in next to none, so its distance tells nothing; name nearer ones"


def _random_is_never_valid(of: Evidence) -> Claim:
    names = [name for name in of.classifiers(of.roles.base) if name in of.roles.random]
    return Claim(
        *("RandomNet", "never valid", "a random classifier sees the target in next to no counterfactual"),
        paper="supported (TA 0)",
        classifiers=names,
        readings=[of.target_accuracy(name, of.roles.base) for name in names],
        bar=of.roles.tests.margin,
        above=False,
        unit=of.unit,
    )


def _robust_unchanged(of: Evidence) -> Claim:
    base, without = of.roles.base, of.roles.no_cone
    names = _paired(of, [name for name in of.classifiers(base) if name in of.roles.robust], without)
    readings = [minus(of.target_accuracy(n, base), of.target_accuracy(n, without), absolute=True) for n in names]
    return Claim(
        *("Control", "robust unchanged", "cone projection changes next to nothing for the robust classifier"),
        paper="supported (TA the same)",
        classifiers=names,
        readings=readings,
        bar=of.roles.tests.margin,
        above=False,
        unit=of.unit,
    )


def _paired(of: Evidence, names: Sequence[str], method: str | None) -> list[str]:
    return [name for name in names if name in of.classifiers(method)]
