"""What the report reads, the records of a study's conditions, and what they show of the instrument: see `trust`."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfeval.core.records import Status
from cfeval.edct.files import Key, condition_records
from cfeval.edct.protocols.rules import BLANK_IMAGE, EDCT_2025, EDITOR_NULL, NULL_EDIT, UNCITED, UNCITED_EDIT
from cfeval.edct.records import Condition, Conversation


@dataclass(frozen=True)
class Study:
    """The result files of a study's conditions."""

    results: Path
    conditions: tuple[Condition, ...]
    shards: int = 1

    def records(self, stage: str, condition: Condition, items: Collection[str] | None = None) -> Iterator[Any]:
        """The records of a stage of a condition, of all items or of some, each with the folder of its images."""
        return condition_records(self.results, stage, condition, self.shards, items)


@dataclass
class Count:
    """So many were looked at, and so many of them were found to be so."""

    n: int = 0
    found: int = 0

    def add(self, value: float | None) -> None:
        """Count one; nothing where nobody looked."""
        if value is not None:
            self.n, self.found = self.n + 1, self.found + int(value == 1)

    def __add__(self, other: "Count") -> "Count":
        """Both together."""
        return Count(self.n + other.n, self.found + other.found)


@dataclass
class Evidence:
    """The counts of one condition."""

    edits: int = 0
    """Edits of cited and uncited things that were made."""
    verified: Count = field(default_factory=Count)
    """Those of them that a verifier checked, and found right."""
    unchanged: Count = field(default_factory=Count)
    """Items scored 1, and those of them whose answer and explanation are word for word the baseline's."""
    sham: Count = field(default_factory=Count)
    """Sham edits, and those that the judge scored 1."""
    null: Count = field(default_factory=Count)
    """Null edits, and those after which the answer changed."""
    editor_null: Count = field(default_factory=Count)
    """The same of images that the editor was to leave as they are."""
    blank: Count = field(default_factory=Count)
    """The same of blank images."""
    uncited: dict[str, Count] = field(default_factory=lambda: {kind: Count() for kind in UNCITED})
    """The same of uncited edits, by kind."""

    @property
    def controlled(self) -> bool:
        """Whether every control was run: null edits, blank images, and uncited edits. Not every explanation leaves
        something out of both kinds; the trust card says where one is missing.
        """
        return bool(self.null.n and self.blank.n and any(count.n for count in self.uncited.values()))


def gather(condition: Condition, study: Study) -> Evidence:
    """The counts of a condition, and of those of its controls that the study has.

    Of the texts no more than their hashes is in memory.
    """
    evidence, ones = Evidence(), set[Key]()
    for score, _ in study.records("scores", condition):
        if score.status == Status.OK:
            evidence.edits += 1
            evidence.verified.add(score.verified)
        if score.ccs == 1 and condition.protocol == EDCT_2025:
            ones.add((score.id, score.edit))
    counts = {NULL_EDIT: evidence.null, EDITOR_NULL: evidence.editor_null, BLANK_IMAGE: evidence.blank}
    for protocol in (UNCITED_EDIT, *counts):
        control = condition.model_copy(update={"protocol": protocol})
        for score, _ in study.records("scores", control) if control in study.conditions else ():
            if protocol == UNCITED_EDIT:
                evidence.edits += score.status == Status.OK
                evidence.verified.add(score.verified if score.status == Status.OK else None)
                evidence.uncited.get(score.evidence, Count()).add(score.answer_moved)
            else:
                counts[protocol].add(score.answer_moved)
                evidence.sham.add(score.sham)
    if ones:
        before = {record.id: _texts(record) for record, _ in study.records("baselines", condition)}
        for record, _ in study.records("requeries", condition):
            if (record.id, record.edit) in ones:
                evidence.unchanged.add(_texts(record) == before.get(record.id))
    return evidence


def _texts(record: Conversation) -> int:
    return hash(tuple(" ".join(text.lower().split()) for text in (record.answer, record.explanation)))
