"""Four counterfactuals that show the answer: before, after, and the change."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from cfeval.core.images import Image
from cfeval.report.digits import two
from cfeval.report.html import data_url
from cfeval.report.images import Images
from cfeval.vce.config import Roles
from cfeval.vce.contact_sheet import GAIN, difference
from cfeval.vce.endings import Ending
from cfeval.vce.report.items import SIGNS
from cfeval.vce.report.made import Made

EXAMPLES = 4
SHOWN: tuple[Ending, ...] = ("valid", "taken", "alone", "not")
"""The endings that have a example, in order."""
CAPTION = (
    "Not picked by hand: of each kind the counterfactual with the median change, or evenly spaced ones. "
    f"Change: the difference to the original × {GAIN} around grey."
)
Places = Mapping[tuple[str, str, str, str], int]
"""The number of the gallery's view by image set, denoiser, method and item."""
_SIDE = 256
"""Pixels: the change is drawn at most so large."""


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
    for ending, number in _places(
        {name: len(candidates) for name, candidates in kinds.items() if candidates}, most
    ).items():
        candidates = sorted(
            kinds[ending],
            key=lambda candidate: (_distance(candidate, roles), candidate.condition.classifier, candidate.record.id),
        )
        examples += [candidates[len(candidates) * (2 * place + 1) // (2 * number)] for place in range(number)]
    return examples


def examples(made: Sequence[Made], roles: Roles, images: Images, places: Places) -> list[Example]:
    """What the page shows of some counterfactuals; `places` are the rows that the gallery has."""
    return [_example(one, roles, images, places) for one in made]


def _places(counts: Mapping[Ending, int], most: int) -> Counter[Ending]:
    """How many examples each ending gets: one each, and further ones where most counterfactuals end so."""
    places: Counter[Ending] = Counter(list(counts)[:most])
    while sum(places.values()) < most and (free := [name for name in counts if places[name] < counts[name]]):
        places[max(free, key=lambda name: counts[name] / places[name])] += 1
    return places


def _distance(one: Made, roles: Roles) -> float:
    names = (*roles.closeness, "d2")
    return next((one.score.distances[name] for name in names if name in one.score.distances), 0.0)


def _example(one: Made, roles: Roles, images: Images, places: Places) -> Example:
    assert one.record.image is not None
    score, (short, _, sign) = one.score, SIGNS[one.ending]
    words: Mapping[Ending, str] = {"alone": "seen by the classifier alone", "taken": "seen by the classifier"}
    links = [
        images.links[images.number(*at)]
        for at in ((one.source_folder, one.source.image), (one.folder, one.record.image))
    ]
    change = Image.from_pixels(difference(*one.pixels()))
    return Example(
        sign=sign,
        ending=words.get(one.ending, short),
        title=f"{one.source.label} → {score.target}",
        classifier=one.condition.classifier,
        before=links[0],
        after=links[1],
        change=Markup(data_url(change, _SIDE)),
        lines=tuple(_lines(one, roles)),
        link=_link(one, places),
    )


def _link(one: Made, places: Places) -> str:
    of, item = one.condition, f"{one.source.id} to {one.score.target}"
    view = places.get((of.image_set, of.denoiser, of.method, item))
    return "" if view is None else f"#view={view}&item={quote(item)}"


def _lines(one: Made, roles: Roles) -> list[str]:
    score, name = one.score, one.condition.classifier
    certain = "" if score.p_target is None else f", P(target) {two(score.p_target)}"
    lines = [f"{name} sees {score.predicted}{certain}"]
    oracles = roles.witnesses(name, score.oracles)
    if oracles:
        seen = sum(score.oracles[oracle] == score.target for oracle in oracles)
        others = Counter(label for oracle in oracles if (label := score.oracles[oracle]) != score.target)
        instead = f"; others see {others.most_common(1)[0][0]}" if others else ""
        lines.append(
            f"{seen} of {len(oracles)} {'oracle sees' if len(oracles) == 1 else 'oracles see'} the target{instead}"
        )
    return lines
