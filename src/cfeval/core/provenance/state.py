"""Which files are what would be made now: Snakemake is told before it looks, and the seal lets nothing else through."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfeval.core.provenance.hashes import read_json
from cfeval.core.provenance.jobs import ENDING, Job
from cfeval.core.provenance.plans import Plan, Planner, plan_hash

HashOf = Callable[[str], str | None]
_LEAST_NS = 10**18
"""A time in 2001: what claims to be older has no time that is of use."""


@dataclass(frozen=True)
class Verdict:
    """What was found below a folder of results."""

    wrong: dict[str, str]
    """First outputs that are not what would be made now, and why."""
    former: tuple[str, ...]
    """Files of jobs that are no longer wanted, each as its job made it; sidecars and unfinished files among them."""
    foreign: tuple[str, ...]
    """Files that nobody here made, or that were changed since."""


class State:
    """Jobs, parents first, and the files that lie there now.

    Args:
        jobs: the jobs.
        planner: what they would be made from now.
        place: the folder that sidecars are in, where that is not the one that they are named in.
        hash_of: the hash of a file by its name; by default that of the file in `place`.
    """

    def __init__(self, jobs: Iterable[Job], planner: Planner, place: str = "", hash_of: HashOf | None = None) -> None:
        self.jobs = list(jobs)
        self.planner = planner
        self.place = place
        self.hashes = planner.hashes
        self.hash_of = hash_of or (lambda path: self.hashes.path(f"{place}{path}"))
        self._plans: dict[str, Plan] = {}

    def plan(self, job: Job) -> Plan:
        """What a job would be made from, as it was when this was asked first."""
        if job.name not in self._plans:
            self._plans[job.name] = self.planner.plan(job)
        return self._plans[job.name]

    def reason(self, job: Job) -> str | None:
        """Why the outputs are not what the job would make now; None where they are."""
        outputs = {path: self.hash_of(path) for path in job.outputs}
        missing = [path for path, sha in outputs.items() if sha is None]
        if missing:
            return f"{missing[0]} is missing"
        made = read_json(Path(f"{self.place}{job.sidecar}"))
        if not made:
            return f"no {os.path.basename(job.sidecar)} beside it"
        plan = self.plan(job)
        if differing := _differing(made.get("plan") or {}, plan):
            return f"changed: {', '.join(differing)}"
        if differing := _unlike(made.get("outputs") or {}, outputs):
            return f"{', '.join(differing)}: not what the job made"
        if differing := _unlike(made.get("inputs") or {}, {path: self.hash_of(path) for path in job.inputs}):
            return f"made from other files: {', '.join(differing[:3])}{' …' * (len(differing) > 3)}"
        return None

    def stale(self) -> dict[str, str]:
        """The first outputs that are not what would be made now, and why."""
        return {job.name: why for job in self.jobs if (why := self.reason(job)) is not None}

    def restamp(self, stale: Mapping[str, str]) -> None:
        """Make no sound file older than what it was made from: times mean nothing after a checkout.

        And no stale one newer than now, nor of a time that Snakemake takes for none: it would not be made again.
        """
        now = time.time_ns()
        for job in self.jobs:
            newest = max((_time(path) for path in job.inputs), default=0)
            for path in filter(os.path.exists, job.made_files):
                if job.name in stale and not _LEAST_NS < _time(path) < now:
                    os.utime(path, ns=(_LEAST_NS + 1, _LEAST_NS + 1))
                elif job.name not in stale and _time(path) < newest:
                    os.utime(path, ns=(newest, newest))

    def seal(self, folder: str) -> Verdict:
        """What must not be sealed and why, and what else lies in a folder of results."""
        wrong = self.stale()
        ours = {path for job in self.jobs for path in (*job.outputs, job.sidecar)}
        others = [path for path in _files(folder) if path not in ours and f"{os.path.dirname(path)}/" not in ours]
        former = self.former(set(others))
        return Verdict(wrong, tuple(sorted(former)), tuple(sorted(set(others) - former)))

    def former(self, paths: set[str]) -> set[str]:
        """Files that a sidecar proves to be of a former job and unchanged, with the sidecar, and unfinished ones."""
        found = {path for path in paths if os.path.basename(path).startswith(".") and path.endswith(".part")}
        for sidecar in [path for path in paths if path.endswith(ENDING)]:
            made = read_json(Path(sidecar)).get("outputs") or {}
            same = [path for path, sha in made.items() if self.hashes.path(path) == sha is not None]
            gone = {path for path in paths if any(_is_of(path, one) for one in same)}
            found |= gone
            if not any(os.path.exists(path) and path in paths - gone for path in made):
                found.add(sidecar)
        return found


def remove(paths: Iterable[str]) -> None:
    """Remove files, and folders left empty."""
    for path in paths:
        os.unlink(path)
        folder = os.path.dirname(path)
        while folder and not os.listdir(folder):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def plan_of_all(jobs: Iterable[Job], planner: Planner) -> dict[str, Any]:
    """What every stage of some jobs would be made from, in short: for DVC to see when something changed."""
    found: dict[str, list[Any]] = {}
    for job in jobs:
        found.setdefault(job.stage, []).append([job.outputs, job.inputs, plan_hash(planner.plan(job))])
    return {stage: plan_hash({"jobs": jobs}) for stage, jobs in sorted(found.items())}


def _is_of(path: str, output: str) -> bool:
    return path.startswith(output) if output.endswith("/") else path == output


def _files(folder: str) -> Iterator[str]:
    for at, _, names in os.walk(folder):
        yield from (os.path.join(at, name) for name in names)


def _time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _differing(made: Mapping[str, Any], plan: Mapping[str, Any]) -> list[str]:
    """What differs between two plans, in a reader's words."""
    found = []
    for key in plan:
        was, is_ = made.get(key), plan[key]
        if was == is_:
            continue
        if isinstance(was, dict) and isinstance(is_, dict):
            found += [f"{key} {name}" for name in sorted({*was, *is_}) if was.get(name) != is_.get(name)]
        else:
            found.append("parameters" if key == "command" else key)
    return found


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return sorted(key for key in {*one, *other} if one.get(key) != other.get(key))
