"""What a run was told when it began, in one file by its hash: parameters, jobs and their plans.

A job that starts later, on another machine too, reads this and never params.yaml, which may be another by then.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.provenance.hashes import digest
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.plans import MEMORY

VARIABLE = "CFEVAL_FROZEN"
"""The environment variable that names the file."""


@dataclass(frozen=True)
class Planned:
    """A job, and the hash of the plan under which it was sent."""

    job: Job
    plan: str


@dataclass(frozen=True)
class Frozen:
    """What was told."""

    params: Any
    jobs: Mapping[str, Mapping[str, Any]]

    def planned(self, output: str) -> Planned:
        """The job of a first output; InputError where the run knows none."""
        told = self.jobs.get(output)
        if told is None:
            raise InputError(f"{output}: no job of this run makes it; jobs are started by snakemake")
        return Planned(Job.from_json(told["job"]), told["plan"])

    def named(self, path: str) -> tuple[Planned, str]:
        """The job whose first output a path names, and the folder of its copies; empty where that is this one.

        A storage provider's copy of an output has the output's name at its end.

        Raises:
            InputError: the run knows no such job.
        """
        parts = path.split("/")
        names = ("/".join(parts[first:]) for first in range(len(parts)))
        name = next((name for name in names if name in self.jobs), path)
        return self.planned(name), path.removesuffix(name)


def freeze(params: Any, planned: Iterable[Planned]) -> Path:
    """Write the file and name it in this process's environment; returns it."""
    jobs = {one.job.name: {"job": one.job.as_json(), "plan": one.plan} for one in planned}
    text = json.dumps({"params": params, "jobs": jobs}, sort_keys=True)
    file = (MEMORY / "frozen" / f"{digest(text.encode())[:16]}.json").absolute()
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        building = file.with_suffix(f".{os.getpid()}")
        building.write_text(text, encoding="utf-8")
        building.replace(file)
    os.environ[VARIABLE] = str(file)
    return file


@cache
def thaw() -> Frozen:
    """What the run was told that this process belongs to; InputError where it belongs to none."""
    name = os.environ.get(VARIABLE, "")
    try:
        told = json.loads(Path(name).read_bytes())
    except (OSError, ValueError):
        raise InputError(
            f"{VARIABLE} names no file of a run ('{name}'); jobs are started by snakemake, which sets it, or "
            "by hand: cfeval stage OUTPUT --params params.yaml"
        ) from None
    return Frozen(told["params"], told["jobs"])
