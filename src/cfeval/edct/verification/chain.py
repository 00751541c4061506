"""The evidence chain: image → answer → explanation → instruction → counterfactual image → re-query → verdict → score.

Records that belong together are looked at again, without any model: does each follow from those that it names? A chain
has a line of hashes for each score, as an auditor keeps it, and is compared with one that was kept.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

from cfeval.core.jsonl import record_line
from cfeval.core.records import Record
from cfeval.edct.files import condition_path
from cfeval.edct.verification.calls import ChainLine, ConditionRecords, Link, calls_of, images_of, key_of

_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
# What stands for the head before the first line.
START = hashlib.sha256(b"").hexdigest()
_BY_EDIT = {
    "instruction": "instructions",
    "counterfactual": "counterfactuals",
    "check": "checks",
    "requery": "requeries",
    "verdict": "verdicts",
}


def chain(conditions: Iterable[ConditionRecords]) -> Iterator[ChainLine]:
    """A line for each score, each bound to the one before; none for a score of which another stage has no record."""
    head = START
    for condition in conditions:
        for line in _lines(condition):
            head = head_after(head, line)
            yield line.model_copy(update={"head": head})


def _lines(records_of: ConditionRecords) -> Iterator[ChainLine]:
    samples = {sample.id: sample for sample in records_of.items}
    baselines = {baseline.id: baseline for baseline in records_of.baselines}
    stages = {
        name: {key_of(record): record for record in getattr(records_of, stage)} for name, stage in _BY_EDIT.items()
    }
    for score in records_of.scores:
        later = {name: records[key_of(score)] for name, records in stages.items() if key_of(score) in records}
        if score.id in samples and score.id in baselines and len(later) == len(stages):
            sample = samples[score.id]
            baseline = baselines[score.id]
            image = later["counterfactual"].image
            yield ChainLine(
                **records_of.condition.model_dump(),
                id=score.id,
                edit=score.edit,
                status=score.status,
                image=sample.image.sha256,
                edited=image.sha256 if image else None,
                images=tuple(ref.sha256 for record in later.values() for ref in images_of(record) if ref != image),
                calls=tuple(key for record in (baseline, *later.values()) for key in calls_of(record)),
                sample=hash_of(sample),
                baseline=hash_of(baseline),
                **{name: hash_of(record) for name, record in later.items()},
                score=hash_of(score),
                head=START,
            )


def hash_of(record: Record) -> str:
    """SHA-256 of a record's line; however the line was written, equal records have equal hashes."""
    return hashlib.sha256(record_line(record).encode()).hexdigest()


def head_after(before: str, line: ChainLine) -> str:
    """The head of a line: SHA-256 of the former head and the line without its own."""
    text = _JSON.encode(line.model_dump(mode="json", exclude={"head"}))
    return hashlib.sha256(f"{before}\n{text}\n".encode()).hexdigest()


def is_whole(lines: Sequence[ChainLine]) -> bool:
    """Whether every head is that of its line and of all lines before."""
    head = START
    for line in lines:
        head = head_after(head, line)
        if line.head != head:
            return False
    return True


def kept_links(kept: Sequence[ChainLine], now: Sequence[ChainLine]) -> Iterator[Link]:
    """A link for each line of a chain that was kept: the line is there, and every hash of it is the same."""
    lines_now = {_place(line): line for line in now}
    for line in kept:
        fault = _difference(line, lines_now.pop(_place(line), None))
        yield Link("kept", (line.id, line.edit), fault and f"{condition_path(line)}: {fault}")
    for line in lines_now.values():
        yield Link("kept", (line.id, line.edit), f"{condition_path(line)}: the kept chain has no such line")


def _difference(kept: ChainLine, now: ChainLine | None) -> str:
    if now is None:
        return "the line of the kept chain is gone"
    names = [name for name in ChainLine.model_fields if name != "head" and getattr(kept, name) != getattr(now, name)]
    return f"not what the kept chain holds: {', '.join(names)}" if names else ""


def _place(line: ChainLine) -> tuple[str, str, int]:
    return condition_path(line), line.id, line.edit
