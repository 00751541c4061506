"""The response store and the ledger: one SQLite file (WAL) that all jobs of a machine share.

calls    what was asked and what came back, by key; a row is written the moment the answer is there
images   images that came back, by SHA-256
sends    the ledger: a row per paid attempt, written before it leaves, so that what a killed run had in flight is known
"""

import hashlib
import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import psutil

from cfeval.calls.call import Call, Reply, Usage, canonical, key_of
from cfeval.errors import BackendError, InputError, OutputError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY, api TEXT NOT NULL, base_url TEXT NOT NULL, model TEXT NOT NULL, request TEXT NOT NULL,
    draw INTEGER NOT NULL, item TEXT NOT NULL, reply TEXT NOT NULL, final INTEGER NOT NULL, image TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS images (sha256 TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sends (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, model TEXT NOT NULL, sent_at REAL NOT NULL, sender TEXT NOT NULL,
    reserved_usd REAL NOT NULL, ended TEXT, reported_usd REAL, listed_usd REAL,
    input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, images INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS sends_in_flight ON sends (key) WHERE ended IS NULL;
"""
_SPENT = "coalesce(reported_usd, listed_usd, iif(ended IS NULL, reserved_usd, 0))"
"""What a send counts for: what the provider said, else the list price; in flight or lost, what was set aside for it."""


class BudgetError(BackendError):
    """The budget allows no further call."""


@dataclass(frozen=True)
class Budget:
    """How many calls may be sent, and how much spent, in the store's life; None is no limit."""

    max_calls: int | None = None
    max_cost_usd: float | None = None


@dataclass(frozen=True)
class StoredCall:
    """A row of the store."""

    key: str
    api: str
    base_url: str
    model: str
    request: str
    draw: int
    item: str
    reply: str
    final: bool
    image: str | None

    def fault(self) -> str:
        """What is wrong with the row; empty where nothing is."""
        try:
            expected = key_of(self.api, self.base_url, self.model, json.loads(self.request), self.draw)
            Reply.from_json(self.reply, None)
        except (ValueError, TypeError, KeyError) as error:
            return f"cannot be read ({type(error).__name__})"
        return "" if expected == self.key else "is not the call that its key names"


_COLUMNS = tuple(field.name for field in fields(StoredCall))


class Store:
    """The store in a file; made where there is none.

    Raises:
        InputError: the file is no such store.
        OutputError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sender = f"{socket.gethostname()}:{os.getpid()}:{psutil.Process().create_time():.2f}"
        with self._speaking():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def find(self, key: str) -> Reply | None:
        """The reply to a call, if it is there."""
        with self._speaking():
            row = self._db.execute("SELECT reply, final, image FROM calls WHERE key = ?", (key,)).fetchone()
            return None if row is None else Reply.from_json(row[0], self.image(row[2]))

    def image(self, sha256: str | None) -> bytes | None:
        """An image by its hash."""
        row = self._db.execute("SELECT content FROM images WHERE sha256 = ?", (sha256,)).fetchone()
        return None if row is None else bytes(row[0])

    def keep(self, call: Call, reply: Reply) -> None:
        """Store a reply; one that stands is never replaced by one that does not."""
        stored = StoredCall(
            key=call.key,
            api=call.api,
            base_url=call.base_url,
            model=call.model,
            request=canonical(call.request),
            draw=call.draw,
            item=call.item,
            reply=reply.as_json(),
            final=reply.final,
            image=hashlib.sha256(reply.image).hexdigest() if reply.image is not None else None,
        )
        self._add(stored, reply.image)

    def send(self, call: Call, reserved_usd: float, budget: Budget) -> int:
        """Note that a paid attempt is about to leave; returns its number in the ledger.

        Raises:
            BudgetError: it would go over the budget.
        """
        with self._speaking(), self._transaction():
            calls, usd = self._db.execute(f"SELECT count(*), coalesce(sum({_SPENT}), 0) FROM sends").fetchone()
            if budget.max_calls is not None and calls + 1 > budget.max_calls:
                raise BudgetError(_reached("max_calls", budget.max_calls, f"{calls} calls were sent"))
            if budget.max_cost_usd is not None and usd + reserved_usd > budget.max_cost_usd:
                spent = f"{usd:.4f} USD are spent or set aside, the next call may cost {reserved_usd:.4f}"
                raise BudgetError(_reached("max_cost_usd", budget.max_cost_usd, spent))
            cursor = self._db.execute(
                "INSERT INTO sends (key, model, sent_at, sender, reserved_usd) VALUES (?, ?, ?, ?, ?)",
                (call.key, call.model, time.time(), self.sender, reserved_usd),
            )
            return int(cursor.lastrowid or 0)

    def settle(self, send: int, ended: str, usage: Usage | None, listed_usd: float | None) -> None:
        """Note how a paid attempt ended and what it cost; `listed_usd` is its cost by the price list."""
        used = usage or Usage()
        with self._speaking():
            self._db.execute(
                "UPDATE sends SET ended = ?, reported_usd = ?, listed_usd = ?, input_tokens = ?, output_tokens = ?,"
                " images = ? WHERE id = ?",
                (ended, used.cost_usd, listed_usd, used.input_tokens, used.output_tokens, used.images, send),
            )

    def in_flight_elsewhere(self, key: str, longest: float) -> bool:
        """Whether another process that is alive has sent this call, not more than `longest` seconds ago."""
        with self._speaking():
            rows = self._db.execute(
                "SELECT sender FROM sends WHERE key = ? AND ended IS NULL AND sender != ? AND sent_at > ?",
                (key, self.sender, time.time() - longest),
            )
            return any(_alive(sender) for (sender,) in rows.fetchall())

    def calls(self, keys: Iterable[str] | None = None) -> Iterator[StoredCall]:
        """The rows of these keys, or all, in the order of their keys; a key that is not there is left out."""
        wanted = None if keys is None else sorted(set(keys))
        select = f"SELECT {', '.join(_COLUMNS)} FROM calls"
        with self._speaking():
            found = (
                self._db.execute(f"{select} ORDER BY key")
                if wanted is None
                else (row for key in wanted for row in self._db.execute(f"{select} WHERE key = ?", (key,)))
            )
            for row in found:
                yield StoredCall(**{**dict(zip(_COLUMNS, row, strict=True)), "final": bool(row[8])})

    def add(self, stored: StoredCall, image: bytes | None) -> bool:
        """Add a row of another store; whether it was new here."""
        with self._speaking():
            known = self._db.execute("SELECT final FROM calls WHERE key = ?", (stored.key,)).fetchone()
        if known is None or (stored.final and not known[0]):
            self._add(stored, image)
            return True
        return False

    def remove(self, keys: Iterable[str]) -> None:
        """Remove calls and the images that no other call has; the ledger keeps what they cost."""
        with self._speaking(), self._transaction():
            self._db.executemany("DELETE FROM calls WHERE key = ?", ((key,) for key in keys))
            self._db.execute("DELETE FROM images WHERE sha256 NOT IN (SELECT image FROM calls WHERE image IS NOT NULL)")

    def ledger(self) -> list[dict[str, object]]:
        """A line a model: calls stored, sends and how they ended, tokens, cost as reported and by the price list."""
        with self._speaking():
            rows = self._db.execute(
                "SELECT model, count(*) AS sent, sum(ended IS NULL) AS lost, sum(ended = 'ok') AS good,"
                " sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(images) AS images,"
                " sum(reported_usd) AS reported_usd, sum(listed_usd) AS listed_usd,"
                " sum(iif(reported_usd IS NOT NULL, listed_usd, NULL)) AS listed_where_reported_usd,"
                f" sum({_SPENT}) AS spent_usd FROM sends GROUP BY model ORDER BY model"
            )
            names = [column[0] for column in rows.description]
            return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]

    def paid(self, keys: Iterable[str]) -> tuple[int, float]:
        """How often some calls were sent, and what that cost in USD, whenever it was."""
        wanted = [(key,) for key in set(keys)]
        with self._speaking():
            query = f"SELECT count(*), coalesce(sum({_SPENT}), 0) FROM sends WHERE key = ?"
            rows = [self._db.execute(query, key).fetchone() for key in wanted]
        return sum(row[0] for row in rows), sum(row[1] for row in rows)

    def counts(self) -> dict[str, tuple[int, int]]:
        """For each model: stored answers that stand, and failures that another run would try again."""
        with self._speaking():
            rows = self._db.execute("SELECT model, sum(final), sum(NOT final) FROM calls GROUP BY model").fetchall()
        return {model: (final, failed) for model, final, failed in rows}

    def damage(self) -> str:
        """What SQLite finds wrong with the file; empty where nothing is."""
        with self._speaking():
            said = str(self._db.execute("PRAGMA quick_check(1)").fetchone()[0])
        return "" if said == "ok" else " ".join(said.split())

    def _add(self, stored: StoredCall, image: bytes | None) -> None:
        with self._speaking(), self._transaction():
            if stored.image is not None and image is not None:
                self._db.execute("INSERT OR IGNORE INTO images VALUES (?, ?)", (stored.image, image))
            self._db.execute(
                "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
                " reply = excluded.reply, final = excluded.final, image = excluded.image WHERE NOT calls.final",
                astuple(stored),
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turns what SQLite says into one line."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise OutputError(f"{self.path}: the response store cannot be used ({error}); {_advice(error)}") from None
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self.path}: not a response store ({error}); name another file by calls.store, or restore it from an "
                "export with `cfeval store import`"
            ) from None


def _advice(error: sqlite3.OperationalError) -> str:
    text = str(error)
    if "full" in text:
        return "free some space and run again: nothing that is stored is lost"
    if "locked" in text:
        return "another process holds it; end that or wait, then run again"
    return "make the file and its folder writable, or name another by calls.store"


def _reached(name: str, limit: float, spent: str) -> str:
    return (
        f"the budget calls.{name} = {limit:g} is reached: {spent}; all that was paid for is stored: raise it and run "
        "again to go on"
    )


def _alive(sender: str) -> bool:
    """Whether the process that sent a call lives; one of another machine may."""
    host, pid, started = sender.rsplit(":", 2)
    if host != socket.gethostname():
        return True
    try:
        return f"{psutil.Process(int(pid)).create_time():.2f}" == started
    except psutil.Error:
        return False
