"""What the page shows of conditions: each counterfactual with its original, its score and how it ends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cfeval.core.images import load
from cfeval.vce.asked import AskedReport
from cfeval.vce.contact_sheet import Pixels
from cfeval.vce.endings import Ending, ending_of
from cfeval.vce.records import SourceImage, VceCondition, VceCounterfactual, VceScore
from cfeval.vce.report.items import place_of, records


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


Sources = Mapping[str, tuple[SourceImage, Path]]
"""The images of a set by id, each with its folder."""


def sources_of(image_set: str, results: Path, shards: int) -> Sources:
    """The source images of a set."""
    found = records(results / "images" / image_set, SourceImage, shards)
    return {record.id: (record, folder) for record, folder in found}


def made_for(conditions: Iterable[VceCondition], results: Path, asked: AskedReport) -> list[Made]:
    """The counterfactuals of conditions that have an image and a score, in order.

    Raises:
        InputError: a record file is missing or broken.
    """
    found: list[Made] = []
    sources: dict[str, Sources] = {}
    for condition in conditions:
        name = condition.image_set
        if name not in sources:
            sources[name] = sources_of(name, results, asked.shards)
        scored = records(place_of(results, "scores", condition), VceScore, asked.shards)
        scores = {score.id: score for score, _ in scored if score.pair == "ideal"}
        for record, folder in records(place_of(results, "counterfactuals", condition), VceCounterfactual, asked.shards):
            ending = ending_of(scores.get(record.id), condition.classifier, asked.roles)
            if record.image is not None and ending != "missing":
                source = sources[name][record.source_image]
                found.append(Made(condition, record, folder, *source, scores[record.id], ending))
    return sorted(found, key=lambda one: (one.condition.image_set, one.record.id))
