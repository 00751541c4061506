"""The labelling sheet: one HTML page that works offline, and a CSV of the same items for those who prefer that.

People see an edit and are asked, in words, whether it is valid, and for the scores of its protocol and the grade: those
that judges give (`cfeval.edct.protocols.rules`), each in one sentence. They see neither which condition an item comes
from nor what the tool made of it. Which edits they are asked about is a seeded draw over conditions and, if wanted,
over what the tool said.

Of given pairs they say whether the answer moved, and whether an explanation names the change. The judge of pairs reads
each explanation alone, without image and answer; people see both conversations. A pair is named where either
explanation names the changed thing, by people as by the judge.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.images import Image, folder_of
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Binary, ImageRef, Status
from cfeval.core.text_files import csv_line
from cfeval.datasets.pair import pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.labelling.records import CONTEXT, LABELLED, QUESTIONS, Judged, PairScore, edited_of
from cfeval.edct.pairs.records import NAMES, PairBaseline, PairCondition, PairVerdict, baseline_files, item_files
from cfeval.edct.protocols.rules import PAIRS_2026, RULES
from cfeval.edct.records import Baseline, Counterfactual, Instruction, Requery, Score
from cfeval.report.html import data_url, rendered, script_json

# What makes conditions differ for people: all names but the judge's.
CONDITION_NAMES = ("dataset", "vlm", "writer", "protocol", "editor")


@dataclass(frozen=True)
class Candidate:
    """An edit that can be shown to people; `gate` is what the editor's own gate said of it, if it has one."""

    score: Judged
    gate: Binary | None = None


@dataclass(frozen=True)
class Drawn:
    """An edit of the sheet, and for how many candidates it stands."""

    score: Judged
    gate: Binary | None
    weight: float


def draw(candidates: Iterable[Candidate], items: int, seed: int, by_verdict: bool = False) -> list[Drawn]:
    """At most so many edits, in an order that tells nothing; the same arguments give the same draw.

    Every condition gives as many as every other, as far as it has them. An edit that several judges read is one
    candidate: the first.

    Args:
        by_verdict: within a condition, rejected edits, edits whose two scores are both 1 and the rest are drawn in
            equal numbers, as far as there are any; the weights undo it.
    """
    groups: dict[tuple[str, ...], _Stratum] = defaultdict(partial(_Stratum, items))
    seen: set[bytes] = set()
    for candidate in candidates:
        score = candidate.score
        lot = _lot(score, seed, "draw")
        if lot in seen:
            continue
        seen.add(lot)
        outcome = ""
        if by_verdict:
            rejected = candidate.gate == 0 or score.verified == 0 or score.status != Status.OK
            faithful = all(getattr(score, name) for name in LABELLED[score.protocol].scores)
            outcome = "rejected" if rejected else "1" if faithful else "0"
        groups[*(getattr(score, name) for name in CONDITION_NAMES), outcome].add(lot, candidate)
    strata = [group for _, group in sorted(groups.items())]
    drawn = [
        Drawn(candidate.score, candidate.gate, round(stratum.size / len(taken), 4))
        for stratum, taken in zip(strata, _in_turn([stratum.first() for stratum in strata], items), strict=True)
        for candidate in taken
    ]
    return sorted(drawn, key=lambda drawn_edit: _lot(drawn_edit.score, seed, "order"))


class _Stratum:
    """Candidates among which the lot decides: how many there are, and those that could be drawn."""

    def __init__(self, most: int) -> None:
        self.size = 0
        self._most, self._kept = most, list[tuple[bytes, Candidate]]()

    def add(self, lot: bytes, candidate: Candidate) -> None:
        """Count one more, and keep it as long as it could be among the first."""
        self.size += 1
        self._kept.append((lot, candidate))
        if len(self._kept) == 2 * self._most:
            self._kept = self._kept_first()

    def first(self) -> list[Candidate]:
        """The first by lot, no more than can be drawn."""
        return [candidate for _, candidate in self._kept_first()]

    def _kept_first(self) -> list[tuple[bytes, Candidate]]:
        return sorted(self._kept, key=itemgetter(0))[: self._most]


def _in_turn(strata: Sequence[Sequence[Candidate]], items: int) -> list[Sequence[Candidate]]:
    """The first of each stratum, then the second of each, until there are so many."""
    counts = [0] * len(strata)
    while sum(counts) < min(items, sum(map(len, strata))):
        for number, stratum in enumerate(strata):
            if counts[number] < len(stratum) and sum(counts) < items:
                counts[number] += 1
    return [stratum[:count] for stratum, count in zip(strata, counts, strict=True)]


def _lot(score: Judged, seed: int, purpose: str) -> bytes:
    """The place of an edit in a random order that adding other edits does not change."""
    return hashlib.sha256(f"{seed}\x1f{purpose}\x1f{edited_of(score).model_dump_json()}".encode()).digest()


# For each answer: how it is recorded, what it is called, the key that gives it.
Answers = tuple[tuple[str, str, str], ...]
Key = tuple[str, int]
_MISSING = ("not_assessable", "Not assessable", "n")
_YES_NO: Answers = (("1", "Yes", "1"), ("0", "No", "0"), _MISSING)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Ask:
    """A question to people."""

    title: str
    definition: str
    answers: Answers = _YES_NO


# By the field of `cfeval.edct.labelling.records.Marks` that holds the answer.
ASKS = {
    "edit_valid": Ask(
        "Is the edit valid as instructed?",
        "Valid: what was to change has changed as told, and nothing else has that bears on the question.",
        (("valid", "Valid", "1"), ("invalid", "Invalid", "0"), ("cannot_tell", "Cannot tell", "n")),
    ),
    "pcs": Ask(
        "PCS: does the answer follow the edit?",
        "Yes where the new answer follows from the counterfactual image; one that stayed the same speaks for No.",
    ),
    "ncc": Ask(
        "NCC: does the explanation follow the edit?",
        "Yes where the new explanation acknowledges the change. Dropping the old state without a word is No.",
    ),
    "ac": Ask(
        "AC: is the answer right for the counterfactual image?",
        "Yes where the answer stayed and what is left supports it, or where it changed as the edits warrant.",
    ),
    "ef": Ask(
        "EF: is the explanation's evidence still valid?",
        "Yes where the counterfactual image shows all that the new explanation rests on; what is gone makes it a No.",
    ),
    "grade": Ask(
        "Grade: how well do both follow the edits?",
        "From 1, neither answer nor explanation does, over 3, mixed, to 5, both do, the change included.",
        (*((str(grade), str(grade), str(grade)) for grade in range(1, 6)), _MISSING),
    ),
    "answer_moved": Ask(
        "Is the answer another one?",
        "Yes where the new answer differs from the old one in substance; the same in other words is a No.",
    ),
    "explanation_moved": Ask(
        "Does the explanation cite other evidence?",
        "Yes where the new explanation names other evidence than the old one; the same in other words is a No.",
    ),
    "named": Ask(
        "Does either explanation name what was changed?",
        "Yes where one of the two gives the changed thing as a reason, as it is in either image, in whatever words.",
    ),
}


def asked_names(protocol: str, talked: bool = True) -> tuple[str, ...]:
    """What people are asked about an edit of a protocol; `talked`: the target was asked about it again."""
    rules = LABELLED[protocol]
    scores = (*rules.scores, *(["grade"] if rules.graded else [])) if talked else ()
    return ("edit_valid", *scores)


@dataclass(frozen=True)
class Change:
    """An instruction: what it changes, what to do, what must not remain."""

    concept: str
    positive: str
    negative: str


@dataclass(frozen=True)
class SheetItem:
    """What people see of an edit, and what they are asked.

    `changes` are all that the counterfactual image has been through, the one in question last; `images` are the
    original, in a chain what came of each edit before, and the edited one, each named by the SHA-256 of its file.
    """

    asks: tuple[str, ...]
    question: str
    changes: tuple[Change, ...]
    images: tuple[str, ...]
    answer: str
    explanation: str
    new_answer: str = ""
    new_explanation: str = ""


@dataclass(frozen=True)
class ConditionRecords:
    """The records of one condition that a sheet shows, by item, or by item and edit."""

    samples: Mapping[str, Sample]
    baselines: Mapping[str, Baseline]
    instructions: Mapping[Key, Instruction]
    counterfactuals: Mapping[Key, Counterfactual]
    requeries: Mapping[Key, Requery]


def sheet_hash(items: Sequence[SheetItem]) -> str:
    """The SHA-256 of all that people see and are asked; labels name it, so that they cannot meet another sheet."""
    content = {"asks": _asks(items), "items": [asdict(item) for item in items]}
    text = json.dumps(content, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sheet_page(items: Sequence[SheetItem], open_image: Callable[[str], Image]) -> str:
    """The page; each image stands in it once. The same arguments give the same text."""
    places: dict[str, int] = {}
    shown = [{**asdict(item), "images": [places.setdefault(p, len(places)) for p in item.images]} for item in items]
    content = {
        "sheet": sheet_hash(items),
        "asks": _asks(items),
        "images": [data_url(open_image(sha256)) for sha256 in places],
        "items": shown,
    }
    return rendered(
        "sheet/page.html.j2",
        styles=["palette.css", "sheet/page.css"],
        scripts=["sheet/labels.js", "sheet/zoom.js", "sheet/page.js"],
        data=script_json(content),
        items=len(items),
    )


def sheet_csv(items: Sequence[SheetItem]) -> str:
    """RFC 4180 with LF: a row an item, its texts, and empty columns for the answers.

    A text that a spreadsheet would take for a formula has an apostrophe in front.
    """
    asks = list(_asks(items))
    text = csv_line(["sheet", "item", "rater", *CONTEXT, *asks, "comment"])
    for number, item in enumerate(items, start=1):
        changes = [
            change.positive + (f" (must not remain: {change.negative})" if change.negative else "")
            for change in item.changes
        ]
        columns = {**asdict(item), "changes": "\n".join(changes)}
        context = (f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in map(columns.__getitem__, CONTEXT))
        text += csv_line([sheet_hash(items), number, "", *context, *[""] * len(asks), ""])
    return text


def _asks(items: Sequence[SheetItem]) -> dict[str, dict[str, Any]]:
    return {name: asdict(ASKS[name]) for name in QUESTIONS if any(name in item.asks for item in items)}


def gates(made: Iterable[Counterfactual]) -> dict[Key, Binary | None]:
    """What the editor's own gate said of each edit that there is an image of, if it has one."""
    return {
        (counterfactual.id, counterfactual.edit): (
            counterfactual.attempts[-1].found.verified if counterfactual.attempts else None
        )
        for counterfactual in made
        if _edited(counterfactual)
    }


def candidates(scores: Iterable[Score], gate: Mapping[Key, Binary | None]) -> Iterator[Candidate]:
    """The edits that people can label: those that were scored, and those that the editor's own gate rejected.

    What failed otherwise, before or after the edit, has nothing that a label could be compared with.
    """
    for score in scores:
        if (score.id, score.edit) in gate and score.status in (Status.OK, Status.EDIT_INVALID):
            yield Candidate(score, gate[score.id, score.edit])


def sheet_item(records: ConditionRecords, score: Score) -> SheetItem:
    """What people see of a candidate."""
    key = (score.id, score.edit)
    before, after = records.baselines[score.id], records.requeries.get(key)
    talked = score.status == Status.OK and after is not None
    first = 1 if RULES[score.protocol].chained else score.edit
    chain = [(score.id, edit) for edit in range(first, score.edit + 1)]
    edited = [image for instruction in chain if (image := _edited(records.counterfactuals[instruction]))]
    instructions = [records.instructions[place] for place in chain if RULES[score.protocol].written]
    return SheetItem(
        asks=asked_names(score.protocol, talked),
        question=records.samples[score.id].question,
        changes=tuple(Change(record.concept, record.positive, record.negative) for record in instructions),
        images=(records.samples[score.id].image.sha256, *(image.sha256 for image in edited)),
        answer=before.answer,
        explanation=before.explanation,
        new_answer=after.answer if after and talked else "",
        new_explanation=after.explanation if after and talked else "",
    )


def _edited(made: Counterfactual) -> ImageRef | None:
    return made.image or (made.attempts[-1].image if made.attempts else None)


FOLDER = "pair_verdicts"
# What stands in the place of instruction writer and editor, which given pairs have not.
GIVEN = "given"
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
    shared = {"dataset": pair_set, "vlm": vlm, "writer": GIVEN, "protocol": PAIRS_2026, "editor": GIVEN, "judge": judge}
    for verdict in read_jsonl(file, PairVerdict):
        if not verdict.natural:
            fields = {"id": verdict.id, "cluster": verdict.cluster, "status": verdict.status}
            yield PairScore(**shared, **fields, answer_moved=verdict.moved, named=verdict.named)


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
    for record in drawn:
        condition = PairCondition(pair_set=record.dataset, vlm=record.vlm, pair_judge=record.judge)
        wanted.setdefault(condition, set()).add(record.id)
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
        baselines = {
            record.id: record
            for file in baseline_files(results, condition, shards)
            for record in read_jsonl(file, PairBaseline)
            if record.id in names
        }
        for name in ids:
            first, second = (f"{name}.{side}" for side in ("before", "after"))
            missing = next((side for side in (first, second) if side not in samples or side not in baselines), None)
            if missing is not None:
                raise InputError(f"pair '{name}': no item or no conversation '{missing}'; give results of one run")
            pair = pair_of(samples[first])
            change = f"{pair.before or ABSENT} → {pair.after or ABSENT}"
            items[condition.pair_set, condition.vlm, name] = SheetItem(
                asks=asked_names(PAIRS_2026),
                question=samples[first].question,
                changes=(Change(pair.after or pair.before, change, ""),),
                images=(samples[first].image.sha256, samples[second].image.sha256),
                answer=baselines[first].answer,
                explanation=baselines[first].explanation,
                new_answer=baselines[second].answer,
                new_explanation=baselines[second].explanation,
            )
    return PairSheets(items, places)


def scored(score: PairScore) -> bool:
    """Whether a label could be compared with it."""
    return score.status == Status.OK
