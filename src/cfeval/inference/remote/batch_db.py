"""What is asked by batches: two tables in the file of the response cache.

batches    a row a batch, written before anything of it is sent; `lane` tells whose it is, `remote` its id there
batched    a row a call from when its price is set aside until its reply is stored; `batch` is NULL until it is sent
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from cfeval.inference.remote.cache_db import speaking, transaction

_SCHEMA = (
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
        for statement in _SCHEMA:
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
