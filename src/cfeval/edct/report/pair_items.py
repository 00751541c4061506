"""The gallery's rows of given pairs: both images and the question with every target beside each other, as JSON."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path

from cfeval.core.images import folder_of
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import ImageRef
from cfeval.datasets.pair import Pair, pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.pairs.condition import PairCondition
from cfeval.edct.pairs.files import baseline_files, item_files, verdict_files
from cfeval.edct.pairs.records import PairBaseline, PairVerdict
from cfeval.report.gallery import Item
from cfeval.report.html import Images

ENDINGS: Mapping[str, tuple[str, str, str]] = {
    "moved-named": ("moved, named", "The answer moved, and an explanation names the changed thing", "fits"),
    "moved-unnamed": ("moved, not named", "The answer moved, and no explanation names the changed thing", "also"),
    "stayed-named": ("stayed, named", "The answer stayed, and an explanation names the changed thing", "changed"),
    "stayed-unnamed": ("stayed, not named", "The answer stayed, and no explanation names the changed thing", "stayed"),
    "moved": ("moved", "Natural pair: the answers differ; what moved them is not told", "one"),
    "stayed": ("stayed", "Natural pair: the answers are the same", "zero"),
    "missing": ("no score", "A conversation or a ruling is missing", "missing"),
}
"""How a pair ends for a target: in two words, in a sentence, and its sign."""


@dataclass(frozen=True)
class PairView:
    """What one gallery shows: a set of pairs and a judge, and which targets in which order."""

    pair_set: str
    judge: str
    models: tuple[str, ...]

    def condition(self, model: str) -> PairCondition:
        """The condition of a target."""
        return PairCondition(pair_set=self.pair_set, vlm=model, pair_judge=self.judge)

    def as_json(self) -> Item:
        """What the page's script knows of it."""
        return {"title": f"{self.pair_set} · {self.judge}", "models": self.models, "judges": [self.judge]}


def pair_views(conditions: Sequence[PairCondition]) -> list[PairView]:
    """The views of some conditions, in their order."""
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for one in conditions:
        found[one.pair_set, one.pair_judge][one.vlm] = None
    return [PairView(*names, tuple(models)) for names, models in found.items()]


def pair_items(view: PairView, results: Path, shards: int, images: Images, most: int) -> tuple[list[Item], int]:
    """The rows of a view, the first `most` pairs by their ids; and how many more there are.

    Raises:
        InputError: a record file is missing or broken.
    """
    samples: dict[str, dict[str, tuple[Sample, Path]]] = defaultdict(dict)
    for file in item_files(results, view.pair_set, shards):
        for sample in read_jsonl(file, Sample):
            pair = pair_of(sample)
            samples[pair.pair][pair.side] = sample, folder_of(file)
    ids = nsmallest(most, samples)
    cells = {model: _cells(view.condition(model), results, shards, set(ids)) for model in view.models}
    return [_row(name, samples[name], cells, images) for name in ids], len(samples) - len(ids)


def _row(
    name: str, sides: Mapping[str, tuple[Sample, Path]], cells: Mapping[str, Mapping[str, Item]], images: Images
) -> Item:
    (first, folder), (second, beside) = sides["before"], sides["after"]
    pair = pair_of(first)

    def image(place: Path, ref: ImageRef) -> dict[str, object]:
        return {"img": images.number(place, ref), "sha": ref.sha256}

    return {
        "id": name,
        "q": first.question,
        "kind": pair.kind,
        "ref": " / ".join(one.reference for one in (first, second) if one.reference),
        "what": _change(pair),
        "checked": pair.verified,
        "after": image(beside, second.image),
        "m": {model: of[name] for model, of in cells.items() if name in of},
        **image(folder, first.image),
    }


def _change(pair: Pair) -> str:
    """What was changed: `red wall → blue wall`."""
    return " → ".join(words or "(not there)" for words in (pair.before, pair.after))


def _cells(condition: PairCondition, results: Path, shards: int, ids: set[str]) -> dict[str, Item]:
    """What a target said about both images of each pair, and what was found about it."""
    said: dict[str, PairBaseline] = {}
    for file in baseline_files(results, condition, shards):
        said.update((one.id, one) for one in read_jsonl(file, PairBaseline))
    verdicts = (one for file in verdict_files(results, condition, shards) for one in read_jsonl(file, PairVerdict))
    return {one.id: _cell(one, said[f"{one.id}.before"], said[f"{one.id}.after"]) for one in verdicts if one.id in ids}


def _cell(found: PairVerdict, first: PairBaseline, second: PairBaseline) -> Item:
    cell: Item = {"o": _ending(found), "kind": found.kind, "a0": first.answer, "e0": first.explanation}
    cell |= {"a1": second.answer, "e1": second.explanation, "n0": found.named_before, "n1": found.named_after}
    cell |= {"r0": found.correct_before, "r1": found.correct_after, "why": found.reason or found.completion}
    return {name: value for name, value in cell.items() if value not in ("", None)}


def _ending(found: PairVerdict) -> str:
    if found.moved is None or (found.named is None and not found.natural):
        return "missing"
    moved = "moved" if found.moved else "stayed"
    return moved if found.natural else f"{moved}-{'named' if found.named else 'unnamed'}"
