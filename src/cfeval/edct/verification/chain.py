"""The evidence chain: image → answer → explanation → instruction → counterfactual image → re-query → verdict → score.

Records that belong together are looked at again, without any model: does each follow from those that it names, and do
the stored calls and images that they name say what they say? The key of a call is the hash of what was asked, images by
their hashes in it. So a call that asks about the image, and holds the text of the record before and that of the record
itself, ties the three together. Images must be there, and be the ones that the records were written for. Calls are kept
on disk: there may be a million of them.

A chain has a line of hashes for each score, as an auditor keeps it, and is compared with one that was kept.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cfeval.core.jsonl import record_line
from cfeval.core.records import ImageRef, ItemId, Record, Sha256, Status, failed
from cfeval.datasets.sample import Sample
from cfeval.edct.files import condition_path
from cfeval.edct.records import (
    Baseline,
    Check,
    Condition,
    Counterfactual,
    Instruction,
    Requery,
    Score,
    Verdict,
)
from cfeval.inference.chat import ChatReply
from cfeval.inference.remote.cache_db import StoredCall
from cfeval.inference.remote.request import Response

# An item and the number of its edit; 0 before there are edits.
Key = tuple[str, int]


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


@dataclass(frozen=True)
class Exchange:
    """A stored call: its request as canonical JSON, and what came back as text."""

    request: str
    text: str
    status: Status


def calls_of(record: Record) -> Iterator[str]:
    """The keys of the calls that a record names, also those of what it says about its checks."""
    yield from getattr(record, "calls", ())
    for other in (getattr(record, "first", None), getattr(record, "again", None)):
        yield from getattr(other, "calls", ())
    if isinstance(record, Counterfactual):
        for attempt in record.attempts:
            yield from attempt.found.calls
    if isinstance(record, Check):
        for part in (record.found, record.sham, record.absent_thing, record.reader):
            yield from part.calls if part else ()


def _conversations(record: Any) -> Iterator[Any]:
    """A record, and the same with the conversation before or after it, where the target was asked again."""
    yield record
    for other in (record.first, getattr(record, "again", None)):
        if other is not None:
            yield record.model_copy(update=dict(other))


def call_links(stage: str, records: Iterable[Record], stored: Mapping[str, Exchange]) -> Iterator[Link]:
    """A link for each call that a stage's records name: it is among those that are stored."""
    for record in records:
        for key in calls_of(record):
            yield Link(stage, key_of(record), "" if key in stored else f"its call {key[:12]}… is not among the calls")


def text_links(stage: str, records: ConditionRecords, stored: Mapping[str, Exchange]) -> Iterator[Link]:
    """A link for each text and image that must stand in some call of a record: in what was asked, or in the reply."""
    samples = {sample.id: sample for sample in records.items}
    images = {key_of(record): record.image.sha256 for record in records.counterfactuals if record.image}
    before = {baseline.id: baseline.explanation for baseline in records.baselines}
    if stage == "baselines":
        for baseline in records.baselines:
            if sample := samples.get(baseline.id):
                for conversation in _conversations(baseline):
                    yield from conversation_links(stage, conversation, sample, sample.image.sha256, stored)
    elif stage == "instructions":
        for instruction in records.instructions:
            if instruction.id in before and (sample := samples.get(instruction.id)):
                yield from reading_links(stage, instruction, before[instruction.id], sample.image.sha256, stored)
    elif stage == "counterfactuals":
        texts = {key_of(record): record.positive.strip() for record in records.instructions}
        for made in records.counterfactuals:
            if (key := key_of(made)) in texts and (calls := _checked_calls(made, stored)):
                yield from links(stage, made, _asks(calls, texts[key], "the instruction"))
    elif stage == "requeries":
        for requery in records.requeries:
            if (sample := samples.get(requery.id)) and (image := images.get(key_of(requery))):
                for conversation in _conversations(requery):
                    yield from conversation_links(stage, conversation, sample, image, stored)
    elif stage == "verdicts":
        after = {key_of(requery): requery.explanation for requery in records.requeries}
        for verdict in records.verdicts:
            if (key := key_of(verdict)) in after and key in images:
                yield from reading_links(stage, verdict, after[key], images[key], stored)


def conversation_links(
    stage: str, record: Any, sample: Sample, image: str, stored: Mapping[str, Exchange]
) -> Iterator[Link]:
    """A link for each of these: a conversation's calls are about its image and question, and replied its texts."""
    calls = _checked_calls(record, stored)
    if not calls:
        return
    yield from links(
        stage,
        record,
        "" if all(image in call.request for call in calls) else "a call of it is not about its image",
        _asks(calls, sample.question, "the question"),
        *(
            "" if any(t in c.text for c in calls) else f"no call replied its {n}"
            for n, t in (("answer", record.answer), ("explanation", record.explanation))
        ),
    )


def reading_links(stage: str, record: Any, shown: str, image: str, stored: Mapping[str, Exchange]) -> Iterator[Link]:
    """A writer or judge was shown the explanation, and no other image; its record keeps what it replied."""
    if calls := _checked_calls(record, stored):
        other = any(_SHOWS.search(call.request) and image not in call.request for call in calls)
        kept = all(call.text.strip() in record.completion for call in calls)
        yield from links(
            stage,
            record,
            _asks(calls, shown, "the explanation"),
            "a call of it shows another image" if other else "",
            "" if kept else "a call of it replied something else",
        )


# How a request names an image, wherever in it.
_SHOWS = re.compile(r'(?<!\\)"sha256:')


def _checked_calls(record: Any, stored: Mapping[str, Exchange]) -> list[Exchange]:
    """The calls of a record that is ok, where all of them are there and stand; else none: nothing can be said."""
    calls = [stored[key] for key in record.calls if key in stored]
    whole = len(calls) == len(record.calls) and all(call.status == Status.OK for call in calls)
    return calls if whole and not failed(record) else []


def _asks(calls: Sequence[Exchange], text: str, what: str) -> str:
    """A text stands in a request as JSON writes it."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    return "" if any(written in call.request for call in calls) else f"no call of it holds {what}"


def images_of(record: Record) -> Iterator[ImageRef]:
    """Every image that a record names: its own, the attempts at an edit, masks and heat maps."""
    if isinstance(record, Sample | Counterfactual) and record.image is not None:
        yield record.image
    if isinstance(record, Counterfactual):
        for attempt in record.attempts:
            yield attempt.image
            yield from (image for _, image in sorted(attempt.found.images.items()))
    if isinstance(record, Check) and record.found is not None:
        yield from (image for _, image in sorted(record.found.images.items()))


def image_links(
    stage: str, records: Sequence[Record], look: Callable[[ImageRef], str], there: Collection[str]
) -> Iterator[Link]:
    """A link for each image that a stage's records name, and a fault for each that lies there unnamed.

    Args:
        look: what is wrong with an image's file; empty where nothing is.
        there: the names of the image files beside the records.
    """
    named = set()
    for record in records:
        for ref in images_of(record):
            named.add(ref.path)
            yield Link(stage, key_of(record), look(ref))
    for name in sorted(set(there) - named):
        yield Link(stage, ("", 0), f"no line names the image {name}")


class StoredCalls(Mapping[str, Exchange]):
    """Calls that were found sound."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("CREATE TABLE calls (key TEXT PRIMARY KEY, request TEXT, text TEXT, status TEXT) WITHOUT ROWID")

    def add(self, call: StoredCall) -> None:
        """Keep a call; one of the same key is replaced."""
        reply = Response.from_json(call.reply, None)
        bare = ChatReply(reply.text, status=reply.status)
        row = (call.key, call.request, bare.text, bare.status.value)
        self._db.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?)", row)

    def __getitem__(self, key: str) -> Exchange:
        """The call of a key; KeyError where it is not there."""
        row = self._db.execute("SELECT request, text, status FROM calls WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return Exchange(row[0], row[1], Status(row[2]))

    def __iter__(self) -> Iterator[str]:
        """The keys, in their order."""
        return (key for (key,) in self._db.execute("SELECT key FROM calls ORDER BY key"))

    def __len__(self) -> int:
        """How many there are."""
        return int(self._db.execute("SELECT count(*) FROM calls").fetchone()[0])


@contextmanager
def on_disk(calls: Iterable[StoredCall] = ()) -> Iterator[StoredCalls]:
    """Yields calls kept in a file that is gone afterwards."""
    with TemporaryDirectory(prefix="cfeval-calls-") as folder:
        db = sqlite3.connect(Path(folder, "calls.sqlite"), isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("PRAGMA synchronous = OFF")
            kept_calls = StoredCalls(db)
            for call in calls:
                kept_calls.add(call)
            yield kept_calls
        finally:
            db.close()


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
    for files in conditions:
        samples = {sample.id: sample for sample in files.items}
        baselines = {baseline.id: baseline for baseline in files.baselines}
        stages = {
            name: {key_of(record): record for record in getattr(files, stage)} for name, stage in _BY_EDIT.items()
        }
        for score in files.scores:
            later = {name: records[key_of(score)] for name, records in stages.items() if key_of(score) in records}
            if score.id not in samples or score.id not in baselines or len(later) != len(stages):
                continue
            sample, baseline, image = samples[score.id], baselines[score.id], later["counterfactual"].image
            line = ChainLine(
                **files.condition.model_dump(),
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
            head = head_after(head, line)
            yield line.model_copy(update={"head": head})


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
        fault, line_now = "the line of the kept chain is gone", lines_now.pop(_place(line), None)
        if line_now is not None:
            fields = [name for name in ChainLine.model_fields if name != "head"]
            different = [name for name in fields if getattr(line, name) != getattr(line_now, name)]
            fault = f"not what the kept chain holds: {', '.join(different)}" if different else ""
        yield Link("kept", (line.id, line.edit), fault and f"{condition_path(line)}: {fault}")
    for line in lines_now.values():
        yield Link("kept", (line.id, line.edit), f"{condition_path(line)}: the kept chain has no such line")


def _place(line: ChainLine) -> tuple[str, str, int]:
    return condition_path(line), line.id, line.edit
