"""Results that a storage provider keeps (`--default-storage-provider`): what their sidecars say, and whether it holds.

Nothing but sidecars is fetched. A job is what would be made now if its sidecar has the present plan and names as inputs
what the sidecars of those jobs name as outputs, and if no output is younger than its sidecar, which is stored last: an
output that was replaced, or the first half of an upload that was broken off, does not pass.
"""

import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from cfeval.core.provenance.frozen import VARIABLE
from cfeval.core.provenance.hashes import read_json
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.plans import MEMORY

PLACE = f"{MEMORY}/stored/"
"""The folder of the sidecars that were fetched, and of what else is fetched before any job runs."""


class Stored:
    """What a storage provider keeps, by the names that files have in the working folder.

    Args:
        provider: the provider, a `StorageProviderBase` of snakemake_interface_storage_plugins.
        prefix: what comes before the names there.
        wait: runs what a provider does to its end (`workflow.async_run`).
    """

    def __init__(self, provider: Any, prefix: str | None, wait: Callable[[Awaitable[Any]], Any]) -> None:
        self._provider, self._wait = provider, wait
        self._prefix = f"{prefix.rstrip('/')}/" if prefix else ""
        self._hashes: dict[str, str] = {}
        _heed_constraints(provider)

    def fetch(self, name: str) -> Path | None:
        """Bring a file here; where it is then, or None where the provider has none."""
        local, thing = Path(PLACE, name), self._object(name)
        local.unlink(missing_ok=True)
        if not self._wait(thing.managed_exists()):
            return None
        thing.set_local_path(local)
        self._wait(thing.managed_retrieve())
        return local

    def tell(self, frozen: Path, stale: Path) -> None:
        """Put there what the jobs of this run are told, and the input of stale ones: they may start on other machines.

        A file flagged `local` would do for neither: Snakemake runs all jobs that have one on this machine.
        """
        os.environ[VARIABLE] = os.path.relpath(frozen)
        for file in (os.environ[VARIABLE], str(stale)):
            self._store(file)

    def hear(self) -> None:
        """In a job: bring here what it is told, unless this is the machine that the run was started on."""
        name = os.environ.get(VARIABLE, "")
        if name and not Path(name).is_file():
            os.environ[VARIABLE] = str(self.fetch(name) or name)

    def fetch_sidecars(self, jobs: Iterable[Job]) -> None:
        """Bring the sidecars of all jobs here, and note what they say of the outputs that are there and no younger."""
        for job in jobs:
            sidecar = self.fetch(job.sidecar)
            if sidecar is not None:
                latest = self._time(job.sidecar)
                outputs = read_json(sidecar).get("outputs") or {}
                self._hashes |= {
                    path: sha for path, sha in outputs.items() if (self._time(path) or latest + 1) <= latest
                }

    def path(self, path: str) -> str | None:
        """The hash of a file, as the sidecar of the job says that made it; None where there is no such file."""
        return self._hashes.get(path)

    def _store(self, name: str) -> None:
        thing = self._object(name)
        thing.set_local_path(Path(name))
        self._wait(thing.managed_store())

    def _time(self, name: str) -> float:
        thing = self._object(name)
        return self._wait(thing.managed_mtime()) if self._wait(thing.managed_exists()) else 0

    def _object(self, name: str) -> Any:
        return self._provider.object(f"{self._prefix}{name.rstrip('/')}")


def _heed_constraints(provider: Any) -> None:
    """Let rules match by the constraints of their wildcards in S3 too.

    Snakemake puts them into the query of an output when all rules are read, and takes the local path from there anew;
    the plugin (0.3.6) has worked that out before.
    """
    kind: Any = provider.get_storage_object_cls()
    if hasattr(kind, "_local_suffix_from_key"):
        kind.local_suffix = lambda thing: thing.query.partition("://")[2]
