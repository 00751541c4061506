"""Given pairs on the labelling sheet: people say whether the answer moved, and whether an explanation names the change.

The judge of pairs reads each explanation alone, without image and answer; people see both conversations. A pair is
named where either explanation names the changed thing, by people as by the judge.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cfeval.core.errors import InputError
from cfeval.core.images import folder_of
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import ImageRef, Status
from cfeval.datasets.pair import pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.labelling.records import PairScore
from cfeval.edct.labelling.sheet import Change, SheetItem, asked
from cfeval.edct.pairs.condition import PairCondition
from cfeval.edct.pairs.files import NAMES, baseline_files, item_files
from cfeval.edct.pairs.records import PairBaseline, PairVerdict
from cfeval.edct.protocols.pairs_2026 import PAIRS_2026

FOLDER = "pair_verdicts"
GIVEN = "given"
"""What stands in the place of instruction writer and editor, which given pairs have not."""
ABSENT = "(not there)"


def is_pairs(file: Path) -> bool:
    """Whether a file holds verdicts about given pairs, by its ending."""
    return file.suffix.lower() == ".jsonl"


def pair_scores(file: Path) -> Iterator[PairScore]:
    """The verdicts of a file `…/pair_verdicts/SET/TARGET/JUDGE.jsonl`, or of a shard of it, but those of natural pairs.

    Raises:
        InputError: the file lies in no such folder, or is broken.
    """
    parts = file.with_suffix("").parts
    at = len(parts) - 1 - parts[::-1].index(FOLDER) if FOLDER in parts else len(parts)
    names = parts[at + 1 : at + 1 + len(NAMES)]
    if len(names) < len(NAMES):
        raise InputError(f"{file}: verdicts of given pairs lie in {FOLDER}/SET/TARGET/JUDGE.jsonl; give such a file")
    pair_set, vlm, judge = names
    known = {"dataset": pair_set, "vlm": vlm, "writer": GIVEN, "protocol": PAIRS_2026, "editor": GIVEN, "judge": judge}
    for one in read_jsonl(file, PairVerdict):
        if not one.natural:
            found = {"id": one.id, "cluster": one.cluster, "status": one.status}
            yield PairScore(**known, **found, answer_moved=one.moved, named=one.named)


@dataclass(frozen=True)
class PairSheets:
    """What the sheet shows of pairs, by target and pair, and where each image lies."""

    items: Mapping[tuple[str, str, str], SheetItem]
    places: Mapping[str, tuple[Path, ImageRef]]

    def item(self, score: PairScore) -> SheetItem:
        """What people see of a pair."""
        return self.items[score.dataset, score.vlm, score.id]


def pair_sheets(results: Path, drawn: Iterable[PairScore], shards: int) -> PairSheets:
    """Read what the drawn pairs need.

    Raises:
        InputError: a file is missing, or lacks a drawn pair.
    """
    wanted: dict[PairCondition, set[str]] = {}
    for one in drawn:
        condition = PairCondition(pair_set=one.dataset, vlm=one.vlm, pair_judge=one.judge)
        wanted.setdefault(condition, set()).add(one.id)
    items: dict[tuple[str, str, str], SheetItem] = {}
    places: dict[str, tuple[Path, ImageRef]] = {}
    for condition, ids in wanted.items():
        names = {f"{name}.{side}" for name in ids for side in ("before", "after")}
        samples: dict[str, Sample] = {}
        for file in item_files(results, condition.pair_set, shards):
            for sample in read_jsonl(file, Sample):
                if sample.id in names:
                    samples[sample.id] = sample
                    places[sample.image.sha256] = (folder_of(file), sample.image)
        said = {
            one.id: one
            for file in baseline_files(results, condition, shards)
            for one in read_jsonl(file, PairBaseline)
            if one.id in names
        }
        for name in ids:
            items[condition.pair_set, condition.vlm, name] = _item(name, samples, said)
    return PairSheets(items, places)


def _item(name: str, samples: Mapping[str, Sample], said: Mapping[str, PairBaseline]) -> SheetItem:
    sides = [f"{name}.{side}" for side in ("before", "after")]
    if missing := [side for side in sides if side not in samples or side not in said]:
        raise InputError(f"pair '{name}': no item or no conversation '{missing[0]}'; give results of one run")
    (first, second), (before, after) = ([samples[side] for side in sides], [said[side] for side in sides])
    pair = pair_of(first)
    told = f"{pair.before or ABSENT} → {pair.after or ABSENT}"
    return SheetItem(
        asks=asked(PAIRS_2026),
        question=first.question,
        changes=(Change(pair.after or pair.before, told, ""),),
        images=(first.image.sha256, second.image.sha256),
        answer=before.answer,
        explanation=before.explanation,
        new_answer=after.answer,
        new_explanation=after.explanation,
    )


def scored(score: PairScore) -> bool:
    """Whether a label could be compared with it."""
    return score.status == Status.OK
