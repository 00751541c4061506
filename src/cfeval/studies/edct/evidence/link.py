"""One link of the chain, and the records of an arm between which the links are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.records.common import Record
from cfeval.records.edct import Arm, Baseline, Check, Counterfactual, Instruction, Requery, Sample, Score, Verdict

Key = tuple[str, int]
"""An item and the number of its edit; 0 before there are edits."""


@dataclass(frozen=True)
class Link:
    """A link that was looked at; `fault` says what is wrong with it, empty where nothing is."""

    stage: str
    key: Key
    fault: str = ""


@dataclass(frozen=True)
class ArmRecords:
    """What the files of an arm, or of one shard of it, hold: each stage in the order of its lines."""

    arm: Arm
    samples: Sequence[Sample]
    baseline: Sequence[Baseline]
    instructions: Sequence[Instruction]
    counterfactuals: Sequence[Counterfactual]
    checks: Sequence[Check]
    requery: Sequence[Requery]
    verdicts: Sequence[Verdict]
    scores: Sequence[Score]


def key_of(record: Any) -> Key:
    """The item and the edit of a record."""
    return record.id, getattr(record, "edit", 0)


def links(stage: str, record: Record, *faults: str) -> Iterator[Link]:
    """A link for each of the faults, empty texts included."""
    return (Link(stage, key_of(record), fault) for fault in faults)
