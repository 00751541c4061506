"""What the page shows of counterfactuals: four that show the answer, and where they differ from their originals.

Every counterfactual in which the classifier sees the target class counts equally: its change, the mean of |difference|
over channels, is divided by its sum. A region stands out where its share of the change exceeds that of noise alone
(unguided images), or its share of the area where there are none: by more than the tests' margin, and by the whole
interval of a bootstrap over source images at a level that allows for looking at nine regions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from cfeval.core.images import Image
from cfeval.report.digits import percent, two
from cfeval.report.html import Images, data_url
from cfeval.stats.intervals import bootstrap
from cfeval.vce.config import Roles, Tests
from cfeval.vce.contact_sheet import GAIN, difference
from cfeval.vce.endings import FLIPPED, Ending
from cfeval.vce.predictions import REGIONS
from cfeval.vce.report.items import SIGNS, Made

EXAMPLES = 4
SHOWN: tuple[Ending, ...] = ("valid", "taken", "alone", "not")
"""The endings that have an example, in order."""
CAPTION = (
    "Not picked by hand: of each kind the counterfactual with the median change, or evenly spaced ones. "
    f"Change: the difference to the original × {GAIN} around grey."
)
Places = Mapping[tuple[str, str, str, str], int]
"""The number of the gallery's view by image set, denoiser, method and item."""
_SIDE = 256  # pixels: the change is drawn at most so large


@dataclass(frozen=True)
class Example:
    """A counterfactual as the page shows it.

    Attributes:
        sign: of how it ends.
        ending: that in words.
        title: from which class to which.
        classifier: whose it is.
        before, after, change: links to images.
        lines: what the classifier and the oracles say.
        link: to its row in the gallery; empty where the gallery leaves it out.
    """

    sign: str
    ending: str
    title: str
    classifier: str
    before: str
    after: str
    change: Markup
    lines: tuple[str, ...]
    link: str


def chosen(made: Sequence[Made], roles: Roles, most: int = EXAMPLES) -> list[Made]:
    """At most so many counterfactuals, some of each ending: those with the median change, or evenly spaced ones."""
    kinds = {ending: [candidate for candidate in made if candidate.ending == ending] for ending in SHOWN}
    examples: list[Made] = []
    # How many examples each ending gets: one each, and further ones where most counterfactuals end so.
    counts = {name: len(candidates) for name, candidates in kinds.items() if candidates}
    places: Counter[Ending] = Counter(list(counts)[:most])
    while sum(places.values()) < most and (free := [name for name in counts if places[name] < counts[name]]):
        places[max(free, key=lambda name: counts[name] / places[name])] += 1
    for ending, number in places.items():
        candidates = sorted(
            kinds[ending],
            key=lambda candidate: (_distance(candidate, roles), candidate.condition.classifier, candidate.record.id),
        )
        examples += [candidates[len(candidates) * (2 * place + 1) // (2 * number)] for place in range(number)]
    return examples


def _distance(one: Made, roles: Roles) -> float:
    names = (*roles.closeness, "d2")
    return next((one.score.distances[name] for name in names if name in one.score.distances), 0.0)


def example(one: Made, roles: Roles, images: Images, places: Places) -> Example:
    """What the page shows of a counterfactual; `places` are the rows that the gallery has."""
    assert one.record.image is not None
    score, name, (short, _, sign) = one.score, one.condition.classifier, SIGNS[one.ending]
    words: Mapping[Ending, str] = {"alone": "seen by the classifier alone", "taken": "seen by the classifier"}
    before, after = (
        images.links[images.number(*at)]
        for at in ((one.source_folder, one.source.image), (one.folder, one.record.image))
    )
    lines = [
        f"{name} sees {score.predicted}" + ("" if score.p_target is None else f", P(target) {two(score.p_target)}")
    ]
    if oracles := roles.witnesses(name, score.oracles):
        seen = sum(score.oracles[oracle] == score.target for oracle in oracles)
        others = Counter(label for oracle in oracles if (label := score.oracles[oracle]) != score.target)
        instead = f"; others see {others.most_common(1)[0][0]}" if others else ""
        see = "oracle sees" if len(oracles) == 1 else "oracles see"
        lines.append(f"{seen} of {len(oracles)} {see} the target{instead}")
    item = f"{one.source.id} to {score.target}"
    view = places.get((one.condition.image_set, one.condition.denoiser, one.condition.method, item))
    return Example(
        sign=sign,
        ending=words.get(one.ending, short),
        title=f"{one.source.label} → {score.target}",
        classifier=name,
        before=before,
        after=after,
        change=Markup(data_url(Image.from_pixels(difference(*one.pixels())), _SIDE)),
        lines=tuple(lines),
        link="" if view is None else f"#view={view}&item={quote(item)}",
    )


Floats = npt.NDArray[np.float64]
FEW = 5
"""Counterfactuals: of fewer nothing is said."""
MOST = 100
"""Counterfactuals of a classifier that are looked at, evenly spaced; the page says so where there are more."""
_CELLS, _PIXELS = 8, 9  # cells a side of the drawing; the width of one


@dataclass(frozen=True)
class Regions:
    """Where the counterfactuals of one classifier change.

    Attributes:
        n: counterfactuals that it rests on.
        sentence: the region that stands out.
        drawing: the share of the change in each cell, stronger where it is more.
    """

    n: int
    sentence: str
    drawing: Markup


def regions(made: Sequence[Made], noise: Sequence[Made], tests: Tests, label: str) -> Regions | None:
    """Where the counterfactuals of a classifier change that it sees as the target class; None of fewer than `FEW`.

    Args:
        made: the classifier's.
        noise: unguided images of the same setting; may be empty.
        tests: level, resamples and seed of the bootstrap.
        label: the accessible name of the drawing.
    """
    flipped = _thinned([counterfactual for counterfactual in made if counterfactual.ending in FLIPPED])
    maps = [
        (counterfactual.source.id, change)
        for counterfactual in flipped
        if (change := _change(counterfactual)) is not None
    ]
    if len(maps) < FEW:
        return None
    floor = [change for counterfactual in _thinned(noise) if (change := _change(counterfactual)) is not None]
    shares = np.stack([_cut(change, 3).ravel() for _, change in maps])
    if floor:
        expected = np.mean([_cut(change, 3).ravel() for change in floor], axis=0)
    else:
        expected = _cut(np.full_like(maps[0][1], 1 / maps[0][1].size), 3).ravel()
    place = int(np.argmax(shares.mean(axis=0) - expected))
    level = 1 - (1 - tests.level) / len(REGIONS)
    share = bootstrap(
        list(map(float, shares[:, place])), level, tests.resamples, tests.seed, [source for source, _ in maps]
    )
    stands_out = share.value is not None and share.value - expected[place] > tests.margin
    if stands_out and share.low is not None and share.low > expected[place]:
        where = "in the middle" if REGIONS[place] == "middle" else f"at the {REGIONS[place]}"
        against = "by noise alone" if floor else "of the area"
        other = f"{percent(float(expected[place]))} {against}"
        sentence = f"{where.capitalize()}: {percent(share.value or 0)} of the change, {other}."
    else:
        sentence = f"No region has much more of the change than {'noise alone' if floor else 'its area'}."
    whole = np.mean([_cut(change, _CELLS) for _, change in maps], axis=0)
    return Regions(len(maps), sentence, _drawing(whole, f"{label}. {sentence}"))


def _thinned(made: Sequence[Made]) -> Sequence[Made]:
    step = max(1, -(-len(made) // MOST))
    return made[::step]


def _change(one: Made) -> Floats | None:
    """The share of each pixel in what changed, (H, W); None where nothing did."""
    before, after = one.pixels()
    change: Floats = np.abs(after.astype(np.float64) - before.astype(np.float64)).mean(axis=2)
    total = float(change.sum())
    return change / total if total else None


def _cut(change: Floats, parts: int) -> Floats:
    """The sums over parts × parts cells; of small images fewer cells."""
    rows, columns = (np.arange(min(parts, side)) * side // min(parts, side) for side in change.shape)
    summed: Floats = np.add.reduceat(np.add.reduceat(change, rows, axis=0), columns, axis=1)
    return summed


def _drawing(whole: Floats, label: str) -> Markup:
    down, across = whole.shape
    size = Markup('viewBox="0 0 {0} {1}" width="{0}" height="{1}"').format(across * _PIXELS, down * _PIXELS)
    cells = Markup("").join(
        Markup('<rect x="{}" y="{}" width="{}" height="{}" fill-opacity="{}"/>').format(
            column * _PIXELS, row * _PIXELS, _PIXELS, _PIXELS, f"{whole[row, column] / whole.max():.2f}"
        )
        for row in range(down)
        for column in range(across)
    )
    return Markup('<svg class="where" {} role="img" aria-label="{}">{}</svg>').format(size, label, cells)
