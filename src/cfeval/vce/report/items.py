"""The gallery of vce: one image and target class with the counterfactuals for all classifiers beside each other; and
each counterfactual with its original, its score and how it ends.

A *view* is an image set, denoiser and method. Rows are JSON; images are numbers (`report.html`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path

from cfeval.core.images import load
from cfeval.core.records import Status
from cfeval.report.gallery import Item, records_at
from cfeval.report.html import Images
from cfeval.vce.asked import AskedReport
from cfeval.vce.contact_sheet import Pixels
from cfeval.vce.endings import Ending, ending_of
from cfeval.vce.records import SourceImage, VceCondition, VceCounterfactual, VceScore

SIGNS: Mapping[str, tuple[str, str, str]] = {
    "valid": ("valid", "The classifier sees the target class, and most oracles do too", "fits"),
    "alone": ("alone", "The classifier sees the target class, and most oracles do not", "also"),
    "taken": ("taken", "The classifier sees the target class; no oracle was asked", "changed"),
    "not": ("not valid", "The classifier does not see the target class", "stayed"),
    "misread": ("misread", "The classifier puts the original itself into another class", "absent"),
    "missing": ("no image", "There is no counterfactual, or no score of it", "missing"),
}
"""How a counterfactual ends for a classifier: in two words, in a sentence, and its sign."""
_Found = dict[tuple[str, str], list[tuple[VceCounterfactual, Path]]]


@dataclass(frozen=True)
class View:
    """What one gallery shows, and its classifiers in order."""

    image_set: str
    denoiser: str
    method: str
    classifiers: tuple[str, ...]

    def condition(self, classifier: str) -> VceCondition:
        """The condition of a classifier."""
        names = {"image_set": self.image_set, "denoiser": self.denoiser, "method": self.method}
        return VceCondition(classifier=classifier, **names)

    def as_json(self) -> Item:
        """What the page's script knows of it."""
        return {"title": " · ".join((self.image_set, self.denoiser, self.method)), "models": self.classifiers}


def views(conditions: Sequence[VceCondition]) -> list[View]:
    """The views of some conditions, in their order."""
    classifiers: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for condition in conditions:
        classifiers[condition.image_set, condition.denoiser, condition.method].append(condition.classifier)
    return [View(*names, tuple(dict.fromkeys(of_view))) for names, of_view in classifiers.items()]


def items_of(view: View, results: Path, asked: AskedReport, images: Images, most: int) -> tuple[list[Item], int]:
    """The rows of a view, the first `most` by source image and target class; and how many more there are.

    Raises:
        InputError: a record file is missing or broken.
    """
    shards = asked.shards
    made = {name: _by_item(view.condition(name), results, shards) for name in view.classifiers}
    keys = {key for found in made.values() for key in found}
    wanted = set(nsmallest(most, keys))
    sources = {
        record.id: (record, folder)
        for record, folder in records_at(results / "images" / view.image_set, SourceImage, shards)
        if record.id in {source for source, _ in wanted}
    }
    rows = {key: _row(key, *sources[key[0]], images) for key in sorted(wanted)}
    for name, found in made.items():
        shown = {record.id for key in wanted for record, _ in found.get(key, ())}
        place = place_of(results, "scores", view.condition(name))
        scores = {score.id: score for score, _ in records_at(place, VceScore, shards) if score.id in shown}
        for key in [key for key in rows if key in found]:  # in their order, by which images are numbered
            draws = sorted(found[key], key=lambda draw: draw[0].repeat)
            first, _ = draws[0]  # by which the row says how it ends
            turns = [_turn(record, folder, scores.get(record.id), images) for record, folder in draws]
            ending = ending_of(scores.get(first.id), name, asked.roles)
            rows[key]["m"][name] = {"o": ending, "pair": first.pair, "t": turns}
    return list(rows.values()), len(keys) - len(rows)


def _by_item(condition: VceCondition, results: Path, shards: int) -> _Found:
    found: _Found = defaultdict(list)
    for record, folder in records_at(place_of(results, "counterfactuals", condition), VceCounterfactual, shards):
        found[record.source_image, record.target].append((record, folder))
    return found


def place_of(results: Path, stage: str, of: VceCondition) -> Path:
    """The folder of a stage's images of a condition; its record file has the same name."""
    return results / stage / of.image_set / of.denoiser / of.classifier / of.method


def _row(key: tuple[str, str], source: SourceImage, folder: Path, images: Images) -> Item:
    _, target = key
    return {
        "id": f"{source.id} to {target}",
        "q": f"{source.label}, changed to show: {target}",
        "target": target,
        "img": images.number(folder, source.image),
        "sha": source.image.sha256,
        "m": {},
    }


def _turn(record: VceCounterfactual, folder: Path, score: VceScore | None, images: Images) -> Item:
    if record.image is None or score is None or score.status != Status.OK:
        why = record if record.status != Status.OK or score is None else score
        return {"status": why.status.value.replace("_", " "), "stage": why.stage, "why": why.reason}
    return {
        "img": images.number(folder, record.image),
        "sha": record.image.sha256,
        "text": f"{record.concept}, to show {record.target}" if record.concept else f"to show {record.target}",
        "says": score.predicted,
        "before": score.before,
        "pt": score.p_target,
        "ps": score.p_source,
        "oracles": score.oracles,
        "d": score.distances,
    }


@dataclass(frozen=True)
class Made:
    """A counterfactual towards an ideal target, with its image.

    Attributes:
        condition: how it was made.
        record: its record.
        folder: the folder of its image.
        source: its original.
        source_folder: the folder of the original.
        score: what classifiers say of it.
        ending: how it ends.
    """

    condition: VceCondition
    record: VceCounterfactual
    folder: Path
    source: SourceImage
    source_folder: Path
    score: VceScore
    ending: Ending

    def pixels(self) -> tuple[Pixels, Pixels]:
        """The original and the counterfactual, (H, W, 3)."""
        assert self.record.image is not None
        return load(self.source_folder, self.source.image).pixels, load(self.folder, self.record.image).pixels


def made_for(conditions: Iterable[VceCondition], results: Path, asked: AskedReport) -> list[Made]:
    """The counterfactuals of conditions that have an image and a score, in order.

    Raises:
        InputError: a record file is missing or broken.
    """
    made: list[Made] = []
    sources: dict[str, dict[str, tuple[SourceImage, Path]]] = {}
    for condition in conditions:
        name = condition.image_set
        if name not in sources:
            of_set = records_at(results / "images" / name, SourceImage, asked.shards)
            sources[name] = {record.id: (record, folder) for record, folder in of_set}
        scored = records_at(place_of(results, "scores", condition), VceScore, asked.shards)
        scores = {score.id: score for score, _ in scored if score.pair == "ideal"}
        for record, folder in records_at(
            place_of(results, "counterfactuals", condition), VceCounterfactual, asked.shards
        ):
            ending = ending_of(scores.get(record.id), condition.classifier, asked.roles)
            if record.image is not None and ending != "missing":
                source = sources[name][record.source_image]
                made.append(Made(condition, record, folder, *source, scores[record.id], ending))
    return sorted(made, key=lambda one: (one.condition.image_set, one.record.id))
