"""The SQLite file behind the response cache: how it is made and opened, and the rows that lie in it and in an export.

What SQLite says about the file is told in one line; so is what may be wrong with a row.

`LedgerTotals` keeps what the ledger comes to, model by model. Triggers add each send and each settlement in its own
transaction, whichever process writes it, so that a budget is checked without reading the ledger. An older cache's table
is filled once, when it is opened. Sums are kept in whole picodollars (1e-12 USD), so that they do not depend on the
order.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError, OutputError
from cfeval.inference.remote.faults import TIMEOUT
from cfeval.inference.remote.request import Request, Response, canonical, key_of

# Seconds to wait for another process that is writing.
PATIENCE = 60.0
# A crash of the machine may lose the last calls, never more; a crash of the process loses none.
SYNCHRONOUS = "NORMAL"
# How the names of file systems begin, or go on after `fuse.`, that several machines may share.
NETWORK = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "gluster", "panfs", "weka", "afs", "pvfs", "9p")
# SQLite's `application_id` of a response cache: "cfev".
_OURS = 0x63666576
_VERSION = 1


def opened(path: Path, schema: str) -> sqlite3.Connection:
    """Open the file; made where there is none. Any thread may use the connection, one at a time.

    On a local disk it is in WAL mode, so that readers and a writer do not wait for each other. That mode keeps an index
    in memory, which the jobs of several machines cannot share; so elsewhere it is in the mode of a rollback journal.

    Raises:
        InputError: the file is another database, or one of another version.
        sqlite3.Error: see `speaking`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        db.execute(f"PRAGMA synchronous={'FULL' if shared(path) else SYNCHRONOUS}")
        if not _is_ours(db, path):
            with transaction(db):
                _make(db, path, schema)
        db.execute(f"PRAGMA journal_mode={'TRUNCATE' if shared(path) else 'WAL'}")
    except BaseException:
        db.close()
        raise
    return db


def shared(path: Path) -> bool:
    """Whether a file lies where other machines may use it too."""
    import psutil

    there = path.resolve()
    mounted = [part for part in psutil.disk_partitions(all=True) if there.is_relative_to(part.mountpoint)]
    innermost = max(mounted, key=lambda part: len(part.mountpoint), default=None)
    return innermost is not None and innermost.fstype.removeprefix("fuse.").startswith(NETWORK)


def _make(db: sqlite3.Connection, path: Path, schema: str) -> None:
    if _is_ours(db, path):
        return  # another process was faster
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise InputError(f"{path}: a database, but not a response cache; name another file by calls.cache")
    for statement in schema.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {_OURS}")
    db.execute(f"PRAGMA user_version = {_VERSION}")


def _is_ours(db: sqlite3.Connection, path: Path) -> bool:
    marked, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if marked == _OURS and version != _VERSION:
        raise InputError(
            f"{path}: a response cache of version {version}, and this cfeval reads version {_VERSION}; name another "
            "file by calls.cache and import what the version that made it exports"
        )
    return bool(marked == _OURS)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, and nobody else writes meanwhile."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite has rolled back by itself where the disk is full
            db.execute("ROLLBACK")
        raise


@contextmanager
def speaking(path: Path) -> Iterator[None]:
    """Turns what SQLite says into one line."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OutputError(f"{path}: the response cache cannot be used ({error}); {_advice(str(error))}") from None
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{path}: not a response cache, or a damaged one ({error}); name another file by calls.cache, and fill it "
            "from an export (`cfeval cache import`) or with what this one still holds (`cfeval cache recover`)"
        ) from None


def _advice(text: str) -> str:
    if "full" in text or "I/O" in text:
        return "free some space and run again: nothing that is stored is lost"
    if "locked" in text:
        return "another process holds it; end that or wait, then run again"
    return "make the file and its folder writable, or name another by calls.cache"


@dataclass(frozen=True)
class StoredCall:
    """A call and its reply. `key` is the hash of what was asked, `checksum` that of all the rest."""

    key: str
    api: str
    base_url: str
    model: str
    request: str
    sample_index: int
    item: str
    reply: str
    final: bool
    image: str | None
    checksum: str

    @classmethod
    def of_columns(cls, *, draw: int, seal: str, **others: Any) -> "StoredCall":
        """A call by the names of `COLUMNS`; TypeError where they are others."""
        return cls(sample_index=draw, checksum=seal, **others)

    @classmethod
    def of(cls, call: Request, reply: Response) -> "StoredCall":
        """The row of a call and its reply."""
        unchecked = cls(
            key=call.key,
            api=call.api,
            base_url=call.base_url,
            model=call.model,
            request=canonical(call.request),
            sample_index=call.sample_index,
            item=call.item,
            reply=reply.as_json(),
            final=reply.final,
            image=hashlib.sha256(reply.image).hexdigest() if reply.image is not None else None,
            checksum="",
        )
        return replace(unchecked, checksum=unchecked._checksum())

    def row(self) -> tuple[str | int | None, ...]:
        """Its fields, in the order of `COLUMNS`."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def fault(self) -> str:
        """What is wrong with the row; empty where nothing is."""
        try:
            key = key_of(self.api, self.base_url, self.model, json.loads(self.request), self.sample_index)
            final = Response.from_json(self.reply, None).final
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            return f"cannot be read ({type(error).__name__})"
        if key != self.key:
            return "is not the call that its key names"
        return "" if self._checksum() == self.checksum and final == self.final else "was changed after it was stored"

    def _checksum(self) -> str:
        return hashlib.sha256(canonical(self.row()[:-1]).encode()).hexdigest()


# What the fields of a call are called in the cache's file and in archives, whose names stay: what is paid is found.
COLUMNS = ("key", "api", "base_url", "model", "request", "draw", "item", "reply", "final", "image", "seal")


# What a send cost: what the provider said, else its tokens at the list price; NULL where it told neither.
PAID = "coalesce(reported_usd, listed_usd)"
# Of a send: it left, and it is unknown whether the provider did the work.
UNKNOWN_FATE = f"(ended IS NULL OR ended IN ('broken off', '{TIMEOUT}', 'connection', 'bad_body'))"
# What is set aside for a send whose cost was not reported. Where it is unknown whether it was billed, at least as much
# as the dearest call of its model, which matters for models without a list price.
SET_ASIDE = (
    f"iif({UNKNOWN_FATE}, max(reserved_usd,"
    " coalesce((SELECT dearest_usd FROM totals WHERE totals.model = sends.model), 0)), reserved_usd)"
)
_PICO = 1e12


def _paid(row: str) -> str:
    return f"coalesce({row}reported_usd, {row}listed_usd)"


def _pico(usd: str) -> str:
    return f"CAST(round(coalesce({usd}, 0) * {_PICO}) AS INTEGER)"


def _parts(row: str) -> tuple[str, ...]:
    """What a send adds to each sum of its model; `row` is `NEW.`, `OLD.` or empty."""
    both = f"{row}reported_usd IS NOT NULL AND {row}listed_usd > 0"
    return (
        _pico(f"coalesce({_paid(row)}, {row}reserved_usd)"),
        _pico(f"iif({both}, {row}reported_usd, 0)"),
        _pico(f"iif({both}, {row}listed_usd, 0)"),
        f"(coalesce({row}ended, '') = 'ok')",
    )


_SUMS = ("spent", "reported", "listed", "good")
_NAMES = ", ".join(("model", "sent", "dearest_usd", *_SUMS))
_SENT = ", ".join(("NEW.model, 1", _paid("NEW."), *_parts("NEW.")))
_ADDED = ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
_CHANGED = ", ".join(
    f"{name} = {name} + {new} - {old}" for name, new, old in zip(_SUMS, _parts("NEW."), _parts("OLD."), strict=True)
)
_SCHEMA = (
    "CREATE TABLE totals (model TEXT PRIMARY KEY, sent INTEGER NOT NULL, dearest_usd REAL, spent INTEGER NOT NULL,"
    " reported INTEGER NOT NULL, listed INTEGER NOT NULL, good INTEGER NOT NULL) WITHOUT ROWID",
    f"INSERT INTO totals ({_NAMES}) SELECT model, count(*), max({PAID}),"
    f" {', '.join(f'sum({part})' for part in _parts(''))} FROM sends GROUP BY model",
    f"CREATE TRIGGER sent AFTER INSERT ON sends BEGIN INSERT INTO totals ({_NAMES}) VALUES ({_SENT})"
    " ON CONFLICT (model) DO UPDATE SET sent = sent + 1,"
    f" dearest_usd = coalesce(max(dearest_usd, excluded.dearest_usd), dearest_usd, excluded.dearest_usd), {_ADDED};"
    " END",
    f"CREATE TRIGGER settled AFTER UPDATE ON sends BEGIN UPDATE totals SET {_CHANGED},"
    f" dearest_usd = coalesce(max(dearest_usd, {_paid('NEW.')}), dearest_usd, {_paid('NEW.')})"
    " WHERE model = NEW.model; END",
)


@dataclass(frozen=True)
class Spent:
    """What all models and one of them came to, in USD.

    `usd` is what all sends cost, or what was set aside for them where that is not told; `dearest` the most that one of
    the model's cost; `dearer` how many times the list price the model's came to, where both are known, else 1.
    """

    usd: float
    dearest: float
    dearer: float


class LedgerTotals:
    """The table, over the connection of the cache; made and filled where the file has none."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        if not self._is_there():
            with transaction(db):
                if not self._is_there():
                    for statement in _SCHEMA:
                        db.execute(statement)

    def _is_there(self) -> bool:
        return bool(self._row("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'settled')")[0])

    def sent(self) -> int:
        """How many attempts were sent."""
        return int(self._row("SELECT coalesce(sum(sent), 0) FROM totals")[0])

    def answered(self, model: str) -> bool:
        """Whether a call to a model has ended well."""
        return bool(self._row("SELECT EXISTS (SELECT 1 FROM totals WHERE model = ? AND good > 0)", model)[0])

    def spent(self, model: str) -> Spent:
        """What all came to, and the calls to a model."""
        (spent,) = self._row("SELECT coalesce(sum(spent), 0) FROM totals")
        own = self._row("SELECT total(dearest_usd), total(reported), total(listed) FROM totals WHERE model = ?", model)
        dearest, reported, listed = own
        return Spent(spent / _PICO, dearest, reported / listed if reported and listed else 1.0)

    def _row(self, query: str, *values: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self._db.execute(query, values).fetchone()
        return row


# `batches`: a row a batch, written before anything of it is sent; `lane` tells whose it is, `remote` its id there.
# `batched`: a row a call from when its price is set aside until its reply is stored; `batch` is NULL until it is sent.
_BATCH_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS batches ("
    " id TEXT PRIMARY KEY, lane TEXT NOT NULL, began_at REAL NOT NULL, state TEXT NOT NULL, remote TEXT)",
    "CREATE TABLE IF NOT EXISTS batched ( key TEXT PRIMARY KEY, send INTEGER NOT NULL, batch TEXT, outcome TEXT)",
    "CREATE INDEX IF NOT EXISTS batched_of ON batched (batch)",
)


class BatchState(StrEnum):
    """How far a batch is."""

    SUBMITTING = "submitting"
    """It may be at the provider, or not."""
    SUBMITTED = "submitted"
    """It is there, and its id is known."""
    ENDED = "ended"
    """What became of its calls is stored, or it never was at the provider."""


@dataclass(frozen=True)
class Batch:
    """A batch: our id, which the provider was told, when it began (Unix time), how far it is, the provider's id."""

    id: str
    began_at: float
    state: BatchState
    remote: str | None


@dataclass(frozen=True)
class Batched:
    """A call: its number in the ledger, its batch once that was begun, and what came of it once that is known."""

    send: int
    batch: str | None
    outcome: dict[str, Any] | None


@dataclass(frozen=True)
class Sought:
    """A batch that may be at its provider: our name, since when (Unix time), its calls, batches that are others."""

    name: str
    since: float
    calls: int
    others: frozenset[str]


class BatchTables:
    """The tables, made where there are none; only the thread that uses the cache may use them."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db, self._path = db, path
        for statement in _BATCH_SCHEMA:
            db.execute(statement)

    def enter(self, key: str, send: int) -> None:
        """Note that a call waits for a batch, within the transaction that sets its price aside."""
        self._db.execute("INSERT OR REPLACE INTO batched VALUES (?, ?, NULL, NULL)", (key, send))

    def leave(self, key: str) -> None:
        """Forget a call whose reply is stored, within that transaction; one of a batch under way stays."""
        self._db.execute(
            "DELETE FROM batched WHERE key = ? AND NOT EXISTS"
            " (SELECT 1 FROM batches WHERE id = batched.batch AND state <> ?)",
            (key, BatchState.ENDED),
        )

    def withdraw(self, key: str) -> bool:
        """Forget a call that is in no batch yet; whether it was not."""
        with self._speaking():
            query = "DELETE FROM batched WHERE key = ? AND batch IS NULL"
            return self._db.execute(query, (key,)).rowcount > 0

    def again(self, key: str) -> None:
        """Let a call wait for another batch, whatever came of it in the last."""
        with self._speaking():
            self._db.execute("UPDATE batched SET batch = NULL, outcome = NULL WHERE key = ?", (key,))

    def forget(self, key: str) -> None:
        """Forget a call of a batch that ended."""
        with self._speaking():
            self.leave(key)

    def call(self, key: str) -> Batched | None:
        """What is known of a call."""
        with self._speaking():
            row = self._db.execute("SELECT send, batch, outcome FROM batched WHERE key = ?", (key,)).fetchone()
        return row and Batched(row[0], row[1], row[2] and json.loads(row[2]))

    def batch(self, name: str) -> Batch:
        """A batch by its own id."""
        with self._speaking():
            query = "SELECT began_at, state, remote FROM batches WHERE id = ?"
            began_at, state, remote = self._db.execute(query, (name,)).fetchone()
        return Batch(name, began_at, BatchState(state), remote)

    def sought(self, name: str) -> Sought:
        """What a batch is found by at the provider."""
        with self._speaking():
            (since,) = self._db.execute("SELECT began_at FROM batches WHERE id = ?", (name,)).fetchone()
            (calls,) = self._db.execute("SELECT count(*) FROM batched WHERE batch = ?", (name,)).fetchone()
            others = self._db.execute("SELECT remote FROM batches WHERE id <> ? AND remote IS NOT NULL", (name,))
            return Sought(name, since, calls, frozenset(remote for (remote,) in others))

    def begin(self, name: str, lane: str, keys: Iterable[str]) -> None:
        """A batch of these calls is about to be sent."""
        with self._speaking(), transaction(self._db):
            begun = (name, lane, time.time(), BatchState.SUBMITTING)
            self._db.execute("INSERT INTO batches VALUES (?, ?, ?, ?, NULL)", begun)
            self._db.executemany("UPDATE batched SET batch = ? WHERE key = ?", ((name, key) for key in keys))

    def submitted(self, name: str, remote: str) -> None:
        """The provider has it, under this id."""
        with self._speaking():
            query = "UPDATE batches SET state = ?, remote = ? WHERE id = ?"
            self._db.execute(query, (BatchState.SUBMITTED, remote, name))

    def not_sent(self, name: str) -> None:
        """The provider does not have it and will not: its calls wait for another."""
        with self._speaking(), transaction(self._db):
            self._db.execute("UPDATE batches SET state = ? WHERE id = ?", (BatchState.ENDED, name))
            self._db.execute("UPDATE batched SET batch = NULL WHERE batch = ?", (name,))

    def end(self, name: str, outcomes: Mapping[str, Mapping[str, Any]], missing: Mapping[str, Any]) -> None:
        """Store what came of a batch's calls; `missing` is that of those which `outcomes` lacks."""
        with self._speaking(), transaction(self._db):
            self._db.execute("UPDATE batched SET outcome = ? WHERE batch = ?", (json.dumps(missing), name))
            rows = ((json.dumps(outcome), key, name) for key, outcome in outcomes.items())
            self._db.executemany("UPDATE batched SET outcome = ? WHERE key = ? AND batch = ?", rows)
            self._db.execute("UPDATE batches SET state = ? WHERE id = ?", (BatchState.ENDED, name))

    def _speaking(self) -> AbstractContextManager[None]:
        return speaking(self._path)
