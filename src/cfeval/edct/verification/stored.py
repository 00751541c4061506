"""The stored calls of a study by their keys, kept on disk while it is checked: there may be a million of them."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cfeval.core.records import Status
from cfeval.edct.verification.calls import Asked, asked
from cfeval.inference.remote.cache_db import StoredCall


class StoredCalls(Mapping[str, Asked]):
    """Calls that were found sound."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("CREATE TABLE calls (key TEXT PRIMARY KEY, request TEXT, text TEXT, status TEXT) WITHOUT ROWID")

    def add(self, call: StoredCall) -> None:
        """Keep a call; one of the same key is replaced."""
        found = asked(call)
        row = (call.key, found.request, found.text, found.status.value)
        self._db.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?)", row)

    def __getitem__(self, key: str) -> Asked:
        """The call of a key; KeyError where it is not there."""
        row = self._db.execute("SELECT request, text, status FROM calls WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return Asked(row[0], row[1], Status(row[2]))

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
            found = StoredCalls(db)
            for call in calls:
                found.add(call)
            yield found
        finally:
            db.close()
