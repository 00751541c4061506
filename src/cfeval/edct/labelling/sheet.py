"""The labelling sheet: one HTML page that works offline, and a CSV of the same items for those who prefer that.

People see an edit and are asked, in words, whether it is valid, and for the scores of its protocol and the grade: those
that judges give (`cfeval.edct.protocols.rules`), each in one sentence. They see neither which condition an item comes
from nor what the tool made of it.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cfeval.core.images import Image
from cfeval.core.records import Binary, ImageRef, Status
from cfeval.core.text_files import csv_line
from cfeval.datasets.sample import Sample
from cfeval.edct.labelling.draw import Candidate
from cfeval.edct.labelling.files import CONTEXT
from cfeval.edct.labelling.records import ASKED, LABELLED
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Baseline, Counterfactual, Instruction, Requery, Score
from cfeval.report.html import data_url, rendered, script_json

Answers = tuple[tuple[str, str, str], ...]
"""For each answer: how it is recorded, what it is called, the key that gives it."""
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
"""By the field of `cfeval.edct.labelling.records.Marks` that holds the answer."""


def asked(protocol: str, talked: bool = True) -> tuple[str, ...]:
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
        said = {**asdict(item), "changes": "\n".join(map(_told, item.changes))}
        context = (_cell(said[name]) for name in CONTEXT)
        text += csv_line([sheet_hash(items), number, "", *context, *[""] * len(asks), ""])
    return text


def _asks(items: Sequence[SheetItem]) -> dict[str, dict[str, Any]]:
    """The questions of the sheet, by name, in their order."""
    return {name: asdict(ASKS[name]) for name in ASKED if any(name in item.asks for item in items)}


def _told(change: Change) -> str:
    return change.positive + (f" (must not remain: {change.negative})" if change.negative else "")


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def gates(made: Iterable[Counterfactual]) -> dict[Key, Binary | None]:
    """What the editor's own gate said of each edit that there is an image of, if it has one."""
    return {(one.id, one.edit): _gate(one) for one in made if _edited(one)}


def candidates(scores: Iterable[Score], gate: Mapping[Key, Binary | None]) -> Iterator[Candidate]:
    """The edits that people can label: those that were scored, and those that the editor's own gate rejected.

    What failed otherwise, before or after the edit, has nothing that a label could be compared with.

    Args:
        gate: see `gates`.
    """
    for score in scores:
        if (score.id, score.edit) in gate and score.status in (Status.OK, Status.EDIT_INVALID):
            yield Candidate(score, gate[score.id, score.edit])


def sheet_item(of: ConditionRecords, score: Score) -> SheetItem:
    """What people see of a candidate."""
    key = (score.id, score.edit)
    before, after = of.baselines[score.id], of.requeries.get(key)
    talked = score.status == Status.OK and after is not None
    first = 1 if RULES[score.protocol].chained else score.edit
    chain = [(score.id, edit) for edit in range(first, score.edit + 1)]
    edited = [image for one in chain if (image := _edited(of.counterfactuals[one]))]
    return SheetItem(
        asks=asked(score.protocol, talked),
        question=of.samples[score.id].question,
        changes=tuple(_change(of.instructions[one]) for one in chain if RULES[score.protocol].written),
        images=(of.samples[score.id].image.sha256, *(image.sha256 for image in edited)),
        answer=before.answer,
        explanation=before.explanation,
        new_answer=after.answer if after and talked else "",
        new_explanation=after.explanation if after and talked else "",
    )


def _change(instruction: Instruction) -> Change:
    return Change(instruction.concept, instruction.positive, instruction.negative)


def _edited(made: Counterfactual) -> ImageRef | None:
    """The counterfactual image, or the last one that the gate rejected."""
    return made.image or (made.attempts[-1].image if made.attempts else None)


def _gate(made: Counterfactual) -> Binary | None:
    return made.attempts[-1].found.verified if made.attempts else None
