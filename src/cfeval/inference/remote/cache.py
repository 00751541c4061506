"""The response cache and the ledger: one SQLite file (WAL) that all jobs of a machine share.

calls    what was asked and what came back, by key; a row is written the moment the answer is there
images   images that came back, by SHA-256
claims   who is at a call or a batch now, so that two jobs that ask the same send it once
sends    the ledger: a row per paid attempt, written before it leaves, so that what a killed run had in flight is known
totals   what the ledger comes to by model (`ledger_db`)
"""

import os
import socket
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from cfeval.core.errors import InputError, PluginError
from cfeval.inference.remote.cache_db import (
    COLUMNS,
    PAID,
    SET_ASIDE,
    BatchTables,
    LedgerTotals,
    StoredCall,
    opened,
    speaking,
    transaction,
)
from cfeval.inference.remote.faults import TIMEOUT
from cfeval.inference.remote.request import Request, Response, Usage

_SCHEMA = """
CREATE TABLE calls (
    key TEXT PRIMARY KEY, api TEXT NOT NULL, base_url TEXT NOT NULL, model TEXT NOT NULL, request TEXT NOT NULL,
    draw INTEGER NOT NULL, item TEXT NOT NULL, reply TEXT NOT NULL, final INTEGER NOT NULL, image TEXT,
    seal TEXT NOT NULL
);
CREATE TABLE images (sha256 TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE claims (key TEXT PRIMARY KEY, holder TEXT NOT NULL, since REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE sends (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, model TEXT NOT NULL, sent_at REAL NOT NULL, reserved_usd REAL NOT NULL,
    ended TEXT, reported_usd REAL, listed_usd REAL,
    input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, images INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sends_of_call ON sends (key);
"""
# How a paid attempt ended that was not waited for, as by Ctrl-C.
BROKEN_OFF = "broken off"
# What a send may have cost of which nothing was told: what was set aside for it, 0 where it was refused.
_MAYBE = f"iif({PAID} IS NULL, {SET_ASIDE}, 0)"


class BudgetError(PluginError):
    """The budget allows no further call."""


@dataclass(frozen=True)
class Budget:
    """How many calls may be sent, and how much spent, in the cache's life; None is no limit."""

    max_calls: int | None = None
    max_cost_usd: float | None = None


class Sent(NamedTuple):
    """A paid attempt that is about to leave: its number in the ledger, and what is set aside for it."""

    number: int
    reserved_usd: float


class Attempts(NamedTuple):
    """Paid attempts: how many were sent and how many of them are in flight; USD spent or set aside for them; how many
    got no answer in time, and how many of those were sent again."""

    sent: int
    in_flight: int
    usd: float
    timed_out: int
    sent_again: int


@dataclass(frozen=True)
class UsageEntry:
    """How a paid attempt ended and what it cost.

    `send` is its number in the ledger; `ended` is `ok` or the kind of fault; `usage` is what it used, where that is
    told, and `listed_usd` what that costs by the price list, where it has the model. `charged` says that it may cost
    something: where nothing says how much, what was set aside for it stays so.
    """

    send: int
    ended: str
    usage: Usage | None
    listed_usd: float | None
    charged: bool

    @property
    def paid_usd(self) -> float | None:
        """What it cost: what the provider reported, else the list price; None where neither is known."""
        reported = self.usage.cost_usd if self.usage else None
        return self.listed_usd if reported is None else reported


class ResponseCache:
    """The cache in a file; made where there is none.

    Raises:
        InputError: the file is no such cache.
        OutputError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{psutil.Process().create_time():.2f}:{uuid.uuid4().hex}"
        with self._speaking():
            self._db = opened(path, _SCHEMA)
            self.batches = BatchTables(self._db, path)
            self._totals = LedgerTotals(self._db)

    def close(self) -> None:
        """Let go of the file and of every call that this cache holds."""
        with suppress(sqlite3.Error):
            self._db.execute("DELETE FROM claims WHERE holder = ?", (self._holder,))
        self._db.close()

    def find(self, key: str) -> Response | None:
        """The reply to a call, if it is there.

        Raises:
            InputError: it is there, but damaged.
        """
        with self._speaking():
            row = self._db.execute("SELECT reply, image FROM calls WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        image = self.image(row[1])
        try:
            if row[1] is not None and image is None:
                raise ValueError("no image")
            return Response.from_json(row[0], image)
        except (ValueError, TypeError, KeyError):
            raise InputError(
                f"{self.path}: call {key} is damaged; see `cfeval cache verify`, restore the cache from an export"
            ) from None

    def image(self, sha256: str | None) -> bytes | None:
        """An image by its hash."""
        with self._speaking():
            row = self._db.execute("SELECT content FROM images WHERE sha256 = ?", (sha256,)).fetchone()
        return None if row is None else bytes(row[0])

    def claim(self, key: str, longest: float) -> bool:
        """Take a call as one's own; False while another job that lives holds it, for `longest` seconds at most."""
        now = time.time()
        with self._speaking(), transaction(self._db):
            held = self._db.execute("SELECT holder, since FROM claims WHERE key = ?", (key,)).fetchone()
            if held is not None and held[0] != self._holder and held[1] > now - longest and _alive(held[0]):
                return False
            self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (key, self._holder, now))
            return True

    def renew(self) -> None:
        """Let nobody take over what this job has taken as its own, however long it lasts."""
        with self._speaking():
            self._db.execute("UPDATE claims SET since = ? WHERE holder = ?", (time.time(), self._holder))

    def release(self, key: str) -> None:
        """Give a call back that is not sent after all."""
        with suppress(sqlite3.Error):  # who comes next finds out, and says it better
            self._db.execute("DELETE FROM claims WHERE key = ? AND holder = ?", (key, self._holder))

    def keep(self, call: Request, reply: Response, settlement: UsageEntry | None = None) -> None:
        """Store a reply, settle its last attempt and let go of the call, all at once.

        A reply that stands is never replaced by one that does not.
        """
        stored = StoredCall.of(call, reply)
        with self._speaking(), transaction(self._db):
            self._write(stored, reply.image)
            if settlement is not None:
                self._record_usage(settlement)
            self.batches.leave(call.key)
            self._db.execute("DELETE FROM claims WHERE key = ? AND holder = ?", (call.key, self._holder))

    def send(self, call: Request, listed_usd: float, budget: Budget) -> Sent:
        """Note that a paid attempt is about to leave, or to wait for a batch, and set aside what it costs at most.

        That is `listed_usd`, or under a limit in USD what it comes to once the ledger knows better.

        Raises:
            BudgetError: it would go over the budget.
        """
        with self._speaking(), transaction(self._db):
            reserved = self._within(budget, call.model, listed_usd)
            cursor = self._db.execute(
                "INSERT INTO sends (key, model, sent_at, reserved_usd) VALUES (?, ?, ?, ?)",
                (call.key, call.model, time.time(), reserved),
            )
            sent = Sent(int(cursor.lastrowid or 0), reserved)
            if call.batched:
                self.batches.enter(call.key, sent.number)
            return sent

    def _within(self, budget: Budget, model: str, listed_usd: float) -> float:
        """What to set aside for a call, where the budget allows it.

        Never less than the dearest of the model's calls; under a limit in USD, where they have cost more than the
        price list says, as much more.
        """
        if budget.max_calls is not None and (calls := self._totals.sent()) >= budget.max_calls:
            raise BudgetError(_reached("max_calls", budget.max_calls, f"{calls} calls were sent"))
        spent = self._totals.spent(model)
        if budget.max_cost_usd is None:
            return max(listed_usd, spent.dearest)
        reserved = max(listed_usd * max(1.0, spent.dearer), spent.dearest)
        if spent.usd + reserved > budget.max_cost_usd:
            so_far = f"{spent.usd:.4f} USD are spent or set aside, the next call may cost {reserved:.4f}"
            raise BudgetError(_reached("max_cost_usd", budget.max_cost_usd, so_far))
        return reserved

    def knows_cost(self, model: str) -> bool:
        """Whether a call to a model has ended well, so that what it costs is told, or will not be."""
        with self._speaking():
            return self._totals.answered(model)

    def record_usage(self, settlement: UsageEntry) -> None:
        """Note how a paid attempt ended."""
        with self._speaking():
            self._record_usage(settlement)

    def _record_usage(self, usage: UsageEntry) -> None:
        used = usage.usage or Usage()
        self._db.execute(
            "UPDATE sends SET ended = ?, reported_usd = ?, listed_usd = ?, input_tokens = ?, output_tokens = ?,"
            " images = ?, reserved_usd = iif(?, reserved_usd, 0) WHERE id = ?",
            (
                *(usage.ended, used.cost_usd, usage.listed_usd, used.input_tokens, used.output_tokens, used.images),
                *(usage.charged, usage.send),
            ),
        )

    def stored_keys(self) -> list[str]:
        """The keys of all calls, in order."""
        with self._speaking():
            return [key for (key,) in self._db.execute("SELECT key FROM calls ORDER BY key")]

    def calls(self, keys: Iterable[str] | None = None) -> Iterator[StoredCall]:
        """The rows of these keys, or all, in the order of their keys; a key that is not there is left out."""
        wanted = None if keys is None else sorted(set(keys))
        select = f"SELECT {', '.join(COLUMNS)} FROM calls"
        with self._speaking():
            rows = (
                self._db.execute(f"{select} ORDER BY key")
                if wanted is None
                else (row for key in wanted for row in self._db.execute(f"{select} WHERE key = ?", (key,)))
            )
            for row in rows:
                yield StoredCall.of_columns(**{**dict(zip(COLUMNS, row, strict=True)), "final": bool(row[8])})

    def add(self, stored: StoredCall, image: bytes | None) -> bool:
        """Add a row of another cache; whether it was new here."""
        with self._speaking():
            stored_final = self._db.execute("SELECT final FROM calls WHERE key = ?", (stored.key,)).fetchone()
        if stored_final is None or (stored.final and not stored_final[0]):
            with self._speaking(), transaction(self._db):
                self._write(stored, image)
            return True
        return False

    def remove(self, keys: Iterable[str]) -> None:
        """Remove calls and the images that no other call has; the ledger keeps what they cost."""
        with self._speaking(), transaction(self._db):
            self._db.executemany("DELETE FROM calls WHERE key = ?", ((key,) for key in keys))
            self._db.execute("DELETE FROM images WHERE sha256 NOT IN (SELECT image FROM calls WHERE image IS NOT NULL)")

    def forget(self, calls: Iterable[tuple[str, str]]) -> int:
        """Remove calls by key and seal, so that one that was answered anew meanwhile stays; how many were removed."""
        with self._speaking(), transaction(self._db):
            before = self._db.total_changes
            self._db.executemany("DELETE FROM calls WHERE key = ? AND seal = ?", calls)
            removed = self._db.total_changes - before
            self._db.execute("DELETE FROM images WHERE sha256 NOT IN (SELECT image FROM calls WHERE image IS NOT NULL)")
        return removed

    def add_sends(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows of another cache's ledger."""
        with self._speaking(), transaction(self._db):
            self._db.executemany(f"INSERT INTO sends VALUES ({', '.join('?' * 11)})", rows)

    def last_cost(self, key: str) -> float | None:
        """What the last attempt at a call cost of which that was told, in USD; None where there is none."""
        query = f"SELECT {PAID} FROM sends WHERE key = ? AND {PAID} IS NOT NULL ORDER BY id DESC LIMIT 1"
        with self._speaking():
            row = self._db.execute(query, (key,)).fetchone()
        return None if row is None else float(row[0])

    def ledger(self) -> list[dict[str, object]]:
        """A line a model: sends and how they ended, tokens, what was paid and what may have been paid besides.

        What was paid is what the provider reported, else its tokens at list prices; both are in columns of their own.
        """
        with self._speaking():
            rows = self._db.execute(
                "SELECT model, count(*) AS sent, sum(ended IS NULL OR ended = ?) AS lost, sum(ended = 'ok') AS good,"
                " sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(images) AS images,"
                " sum(reported_usd) AS reported_usd, sum(listed_usd) AS listed_usd,"
                " sum(iif(reported_usd IS NOT NULL, listed_usd, NULL)) AS listed_where_reported_usd,"
                f" coalesce(sum({PAID}), 0.0) AS paid_usd, sum({_MAYBE}) AS maybe_paid_usd"
                " FROM sends GROUP BY model ORDER BY model",
                (BROKEN_OFF,),
            )
            names = [column[0] for column in rows.description]
            return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]

    def last_sent(self) -> int:
        """The number in the ledger of the last paid attempt; 0: there was none."""
        with self._speaking():
            return int(self._db.execute("SELECT coalesce(max(id), 0) FROM sends").fetchone()[0])

    def sent_since(self, number: int) -> Attempts:
        """The attempts after a number in the ledger."""
        again = "EXISTS (SELECT 1 FROM sends AS later WHERE later.key = sends.key AND later.id > sends.id)"
        query = (
            "SELECT count(*), total(ended IS NULL),"
            f" total(coalesce({PAID}, {SET_ASIDE})), total(ended = '{TIMEOUT}'), total(ended = '{TIMEOUT}' AND {again})"
            " FROM sends WHERE id > ?"
        )
        with self._speaking():
            sent, waiting, usd, timed_out, again = self._db.execute(query, (number,)).fetchone()
        return Attempts(int(sent), int(waiting), float(usd), int(timed_out), int(again))

    def paid(self, keys: Iterable[str]) -> tuple[int, float, float]:
        """How often some calls were sent, whenever it was, what that cost and what more it may have cost, in USD."""
        wanted = [(key,) for key in set(keys)]
        with self._speaking():
            query = f"SELECT count(*), total({PAID}), total({_MAYBE}) FROM sends WHERE key = ?"
            rows = [self._db.execute(query, key).fetchone() for key in wanted]
        return sum(row[0] for row in rows), sum(row[1] for row in rows), sum(row[2] for row in rows)

    def counts(self) -> dict[str, tuple[int, int]]:
        """For each model: stored answers that stand, and failures that another run would try again."""
        with self._speaking():
            rows = self._db.execute("SELECT model, sum(final), sum(NOT final) FROM calls GROUP BY model").fetchall()
        return {model: (final, failed) for model, final, failed in rows}

    def integrity_error(self) -> str:
        """What SQLite finds wrong with the file; empty where nothing is."""
        with self._speaking():
            report = str(self._db.execute("PRAGMA quick_check(1)").fetchone()[0])
        return "" if report == "ok" else " ".join(report.split())

    def _write(self, stored: StoredCall, image: bytes | None) -> None:
        if stored.image is not None and image is not None:
            self._db.execute("INSERT OR IGNORE INTO images VALUES (?, ?)", (stored.image, image))
        self._db.execute(
            f"INSERT INTO calls VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT (key) DO UPDATE SET"
            " item = excluded.item, reply = excluded.reply, final = excluded.final, image = excluded.image,"
            " seal = excluded.seal WHERE NOT calls.final",
            stored.row(),
        )

    def _speaking(self) -> AbstractContextManager[None]:
        return speaking(self.path)


def _reached(name: str, limit: float, spent: str) -> str:
    return (
        f"the budget calls.{name} = {limit:g} is reached: {spent}; all that was paid for is stored: raise it and run "
        "again to go on"
    )


def _alive(holder: str) -> bool:
    """Whether the process that holds a call lives; one of another machine may."""
    host, pid, began, _ = holder.rsplit(":", 3)
    if host != socket.gethostname():
        return True
    try:
        return f"{psutil.Process(int(pid)).create_time():.2f}" == began
    except psutil.Error:
        return False
