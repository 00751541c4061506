"""The job's side: it runs only what was planned, hashes what it reads, and writes what it saw beside its output.

The sidecar, `X.made.json`, comes last: `plan` (see `plans`), `inputs` and `outputs` by SHA-256. No time, no absolute
path: equal jobs write equal sidecars.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.provenance import loading, outside, reading
from cfeval.core.provenance.frozen import Planned
from cfeval.core.provenance.hashes import state_of
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.plans import Plan, Planner, plan_hash
from cfeval.core.provenance.sources import is_own, path_of
from cfeval.core.provenance.state import State, remove

_SETTLED_SECONDS = 2
_IMAGES = (".png", ".npy")
"""Endings of the files that a stage writes into a folder of images."""
COUNTER = "CFEVAL_JOBS_LOG"
"""The environment variable that names a file to which every job adds a line: made or kept, stage, first output."""


def make(planned: Planned, run: Callable[[list[str]], int], place: str = "") -> int:
    """Run a job's command, unless its outputs are what it would make; returns the exit status.

    Args:
        planned: the job.
        run: runs a command of this project.
        place: see `Job.at`. No name in the sidecar has it.

    Raises:
        InputError: what would run is not what was planned, or what ran is not.
    """
    plan, job = _planned(planned, "code, files or packages"), planned.job.at(place)
    if State([planned.job], Planner(loaded=loading.loaded), place).reason(planned.job) is None:
        for path in job.made_files:
            os.utime(path)
        _count("kept", planned.job)
        return 0
    _clear(job)
    given = _Given([*job.inputs, *job.files])
    loading.named.clear()
    reading.watch()
    if status := run([*job.command, *job.aside]):
        return status
    _planned(planned, "code")
    given.check(job)
    _check_what_ran(job)
    _write(job, plan, given, place)
    _count("made", planned.job)
    return 0


class _Given:
    """What a job is given, hashed before it reads and looked at again after."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.hashes = Planner(memory=None).hashes
        self.before = {path: (_state(path), self.hashes.path(path), time.time()) for path in paths}

    def sha256(self, path: str) -> str | None:
        """The hash of a file or folder."""
        return self.before[path][1]

    def check(self, job: Job) -> None:
        """Refuse what changed while the job ran: nobody knows which of both it read."""
        now = Planner(memory=None).hashes
        for path, (state, sha, at) in self.before.items():
            young = os.path.exists(path) and os.stat(path).st_ctime > at - _SETTLED_SECONDS
            if state != _state(path) or (young and now.path(path) != sha):
                raise InputError(_changed(job, path))


def _clear(job: Job) -> None:
    """Take away the images of a run that was broken off: a folder of images whose record file is not there.

    And what a sidecar proves to be of a former job, as of another number of shards, which lies in such a folder.

    Raises:
        InputError: a folder of images holds something else, which would be lost with them.
    """
    for folder in (path for path in job.outputs if path.endswith("/") and os.path.isdir(path)):
        remove(State([], Planner(memory=None)).former(set(_files(folder))))
        names = _files(folder)
        if own := [name for name in names if not name.endswith((*job.made_files, *_IMAGES))]:
            raise InputError(f"{own[0]}: no image of this job's, and its folder is made anew; move it away")
        if not any(os.path.splitext(path)[0] == folder.rstrip("/") and os.path.exists(path) for path in job.outputs):
            for name in [name for name in names if name.endswith(_IMAGES)]:
                os.unlink(name)
            for at, _, _ in os.walk(folder, topdown=False):
                with contextlib.suppress(OSError):  # shards of the same dataset lie in it
                    os.rmdir(at)


def _files(folder: str) -> list[str]:
    return [os.path.join(at, name) for at, _, found in os.walk(folder) for name in found]


def _planned(planned: Planned, what: str) -> Plan:
    """The plan with the code that this process has loaded; refused where it is not the one the job was sent with."""
    plan = Planner(loaded=loading.loaded).plan(planned.job)
    if plan_hash(plan) != planned.plan:
        raise InputError(_changed(planned.job, what))
    return plan


def _check_what_ran(job: Job) -> None:
    modules = Planner(loaded=loading.loaded).modules(job)
    unknown = {n for n in loading.named - modules if _is_ours(n)}
    if unknown:
        raise InputError(
            f"{job.name}: ran {', '.join(sorted(unknown))}, which neither its stage nor its plugins name; "
            "name it in the list of jobs (cfeval.jobs)"
        )
    allowed = {*job.inputs, *job.files, *job.outputs, job.sidecar}
    allowed |= {f"{os.path.splitext(path)[0]}/" for path in job.inputs}
    if read := reading.unnamed(allowed):
        raise InputError(
            f"{job.name}: read {', '.join(read[:3])}{' …' * (len(read) > 3)}, which its plan does not name; let the "
            "plugin's `dependencies` name it"
        )


def _is_ours(module: str) -> bool:
    """Whether a module is one that a plan names: of the project, or of a plugin's package."""
    return bool(path_of(module)) and not outside.is_outside(module) if is_own(module) else True


def _write(job: Job, plan: Plan, given: _Given, place: str) -> None:
    hashes = Planner(memory=None).hashes
    outputs = {path: hashes.path(path) for path in job.outputs}
    lacking = [path for path, sha in outputs.items() if sha is None]
    if lacking:
        raise InputError(f"{job.name}: the job ended well without having made {', '.join(lacking)}")
    named = {"inputs": {path: given.sha256(path) for path in job.inputs}, "outputs": outputs}
    made: dict[str, Any] = {
        kind: {path.removeprefix(place): sha for path, sha in of.items()} for kind, of in named.items()
    }
    made["plan"] = plan
    text = json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    building = Path(job.sidecar).with_name(f".{Path(job.sidecar).name[:200]}.{os.getpid()}.part")
    building.write_text(text, encoding="utf-8")
    building.replace(job.sidecar)


def _state(path: str) -> str:
    """What of a file, or of the files of a folder, changes with the content."""
    try:
        files = sorted(Path(path).rglob("*")) if path.endswith("/") else [Path(path)]
        return " ".join(state_of(file.stat()) for file in files)
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _changed(job: Job, what: str) -> str:
    return f"{job.name}: {what} changed after this run was planned; start it again"


def _count(how: str, job: Job) -> None:
    if file := os.environ.get(COUNTER):
        handle = os.open(file, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(handle, f"{how} {job.stage} {job.name}\n".encode())
        os.close(handle)
