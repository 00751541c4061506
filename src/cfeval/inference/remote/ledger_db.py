"""What the ledger comes to, model by model: a table in the file of the response cache that SQLite itself keeps right.

Triggers add each send and each settlement in its own transaction, whichever process writes it, so that a budget is
checked without reading the ledger. A cache of before is filled once, when it is opened. Sums are kept in whole
picodollars (1e-12 USD), so that they do not depend on the order.
"""

import sqlite3
from dataclasses import dataclass
from typing import Any

from cfeval.inference.remote.cache_db import transaction
from cfeval.inference.remote.faults import TIMEOUT

PAID = "coalesce(reported_usd, listed_usd)"
"""What a send cost: what the provider said, else its tokens at the list price; NULL where it told neither."""
UNKNOWN_FATE = f"(ended IS NULL OR ended IN ('broken off', '{TIMEOUT}', 'connection', 'bad_body'))"
"""Of a send: it left, and it is unknown whether the provider did the work."""
SET_ASIDE = (
    f"iif({UNKNOWN_FATE}, max(reserved_usd,"
    " coalesce((SELECT dearest_usd FROM totals WHERE totals.model = sends.model), 0)), reserved_usd)"
)
"""What is set aside for a send whose cost was not reported. Where it is unknown whether it was billed, at least as much
as the dearest call of its model, which matters for models without a list price."""
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
_SENT = ", ".join(
    ("NEW.model, 1", _paid("NEW."), *_parts("NEW.")),
)
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
        return bool(self._one("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'settled')")[0])

    def sent(self) -> int:
        """How many attempts were sent."""
        return int(self._one("SELECT coalesce(sum(sent), 0) FROM totals")[0])

    def answered(self, model: str) -> bool:
        """Whether a call to a model has ended well."""
        return bool(self._one("SELECT EXISTS (SELECT 1 FROM totals WHERE model = ? AND good > 0)", model)[0])

    def spent(self, model: str) -> Spent:
        """What all came to, and the calls to a model."""
        (spent,) = self._one("SELECT coalesce(sum(spent), 0) FROM totals")
        own = self._one("SELECT total(dearest_usd), total(reported), total(listed) FROM totals WHERE model = ?", model)
        dearest, reported, listed = own
        return Spent(spent / _PICO, dearest, reported / listed if reported and listed else 1.0)

    def _one(self, query: str, *values: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self._db.execute(query, values).fetchone()
        return row
