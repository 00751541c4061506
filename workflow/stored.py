"""Results that a storage provider keeps (`--default-storage-provider`): what their records say, and whether that holds.

Nothing but records is fetched. A job is what would be made now if its record holds: options, code and packages; if the
records of what it was made from name the same hashes; and if no output is younger than its record, which is stored
last: an output that was replaced, or the first half of an upload that was broken off, does not pass.
"""

import asyncio
import functools
import os
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from cfeval.core.hashes import MEMORY
from cfeval.core.record import ENDING, PLACE, Args, Records, Step, read, record_of

FETCHED = f"{MEMORY}/stored/"
"""The folder of the records that were fetched, and of what else is fetched before any job runs."""
PLACE_VARIABLE = PLACE
T = TypeVar("T")


class Stored:
    """What a storage provider keeps, by the names that files have in the working folder.

    Args:
        provider: the provider, a `StorageProviderBase` of snakemake_interface_storage_plugins.
        prefix: what comes before the names there.
    """

    def __init__(self, provider: Any, prefix: str | None) -> None:
        self._provider = provider
        self._prefix = f"{prefix.rstrip('/')}/" if prefix else ""
        _heed_constraints(provider)
        self.place = str(self._object("x").local_path()).removesuffix("x")
        """The folder of the copies that jobs work on."""

    def fetch(self, name: str) -> Path | None:
        """Bring a file here; where it is then, or None where the provider has none."""
        local, thing = Path(FETCHED, name), self._object(name)
        local.unlink(missing_ok=True)
        if not self._wait(thing.managed_exists()):
            return None
        thing.set_local_path(local)
        self._wait(thing.managed_retrieve())
        return local

    def put(self, name: str) -> None:
        """Keep a file of the working folder there: jobs may start on other machines.

        A file flagged `local` would not do: Snakemake runs all jobs that have one on this machine.
        """
        thing = self._object(name)
        thing.set_local_path(Path(name))
        self._wait(thing.managed_store())

    def bring(self, name: str) -> None:
        """In a job: bring a file here, unless this is the machine that the run was started on."""
        if not Path(name).is_file() and (found := self.fetch(name)):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            found.replace(name)

    def time(self, name: str) -> float:
        """When a file was stored; 0 where there is none."""
        thing = self._object(name)
        return self._wait(thing.managed_mtime()) if self._wait(thing.managed_exists()) else 0

    @staticmethod
    def _wait(work: Coroutine[Any, Any, T]) -> T:
        """Run what a provider does to its end: in a thread, for Snakemake asks rules while a loop of its own runs."""
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(asyncio.run, work).result()

    def _object(self, name: str) -> Any:
        return self._provider.object(f"{self._prefix}{name.rstrip('/')}")


class StoredRecords(Records):
    """What the records there say, against each other.

    Args:
        stored: what the provider keeps.
    """

    def __init__(self, stored: Stored) -> None:
        super().__init__()
        self._stored = stored
        self._read = functools.cache(self._fetched)

    def read(self, record: str) -> list[Step]:
        """The steps that a record speaks of, which is fetched once."""
        return self._read(record)

    def reason(self, args: Args) -> str | None:
        """Why a command would have to run; None where its output is what it would make."""
        if fault := super().reason(args):
            return fault
        record = record_of(args)
        latest = self._stored.time(record)
        outputs = [path for step in self.read(record) for path in step["outputs"] if not path.endswith("/")]
        wrong = (path for path in outputs if not 0 < self._stored.time(path) <= latest)
        return next((f"{path} is not what the step stored" for path in wrong), None)

    def path(self, name: str, was: str | None = None) -> str | None:
        """The hash of a file, as the record of what made it says; else that of the file here."""
        for record in _records_of(name):
            for step in self.read(record):
                if name in step["outputs"]:
                    return str(step["outputs"][name])
        return super().path(name, was)

    def _fetched(self, record: str) -> list[Step]:
        file = self._stored.fetch(record)
        return read(file) if file else []


def _records_of(name: str) -> Iterator[str]:
    """Where the record may lie that names a file: beside it, beside its record file or a folder that it is in."""
    place = name.rstrip("/")
    while "/" in place:
        yield f"{place}{ENDING}"
        yield f"{os.path.splitext(place)[0]}.jsonl{ENDING}"
        place = os.path.dirname(place)


def _heed_constraints(provider: Any) -> None:
    """Let rules match by the constraints of their wildcards in S3 too.

    Snakemake puts them into the query of an output when all rules are read, and takes the local path from there anew;
    the plugin (0.3.6) has worked that out before.
    """
    kind: Any = provider.get_storage_object_cls()
    if hasattr(kind, "_local_suffix_from_key"):
        kind.local_suffix = lambda thing: thing.query.partition("://")[2]
