"""Links of the evidence chain, the records of a condition between which they are, and a line as an auditor keeps it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cfeval.core.records import ItemId, Record, Sha256, Status
from cfeval.datasets.sample import Sample
from cfeval.edct.records import Baseline, Check, Condition, Counterfactual, Instruction, Requery, Score, Verdict

Key = tuple[str, int]
"""An item and the number of its edit; 0 before there are edits."""


class Link(NamedTuple):
    """A link that was looked at; `fault` says what is wrong with it, empty where nothing is."""

    stage: str
    key: Key
    fault: str = ""


@dataclass(frozen=True)
class ConditionRecords:
    """What the files of a condition, or of one shard of it, hold: each stage in the order of its lines."""

    condition: Condition
    items: Sequence[Sample]
    baselines: Sequence[Baseline]
    instructions: Sequence[Instruction]
    counterfactuals: Sequence[Counterfactual]
    checks: Sequence[Check]
    requeries: Sequence[Requery]
    verdicts: Sequence[Verdict]
    scores: Sequence[Score]


def key_of(record: Any) -> Key:
    """The item and the edit of a record."""
    return record.id, getattr(record, "edit", 0)


def links(stage: str, record: Record, *faults: str) -> Iterator[Link]:
    """A link for each of the faults, empty texts included."""
    key = key_of(record)
    return (Link(stage, key, fault) for fault in faults)


class ChainLine(Condition):
    """Everything behind one score, by SHA-256.

    `image` and `edited` are image files. A stage's field is the hash of its record as a JSONL line (keys sorted,
    UTF-8, with the line end); the record names images and calls by hash in turn.
    """

    id: ItemId
    edit: int
    status: Status
    image: Sha256
    sample: Sha256
    baseline: Sha256
    instruction: Sha256
    edited: Sha256 | None
    """None where the edit failed."""
    counterfactual: Sha256
    check: Sha256
    requery: Sha256
    verdict: Sha256
    score: Sha256
    images: tuple[Sha256, ...] = ()
    """The images of attempts and checks: rejected edits, masks, heat maps."""
    calls: tuple[Sha256, ...] = ()
    """The calls to models outside: keys of the response cache, each the hash of what was asked."""
    head: Sha256
    """The hash of this line without its head, after the head of the line before: the last one stands for all."""
