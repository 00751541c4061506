"""A study of any size whose models answer at once, in a folder of its own: what is left is the machinery."""

import os
import shutil
import subprocess
import time
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import psutil
from tests.workflow.study import PARAMS, Study, lay_out

PLACE = Path(__file__).parent.parent / ".bench"
"""Where such studies lie; ignored by git."""
TICK = 0.1
"""Seconds between two looks at the processes."""
CONDITION = {"dataset": ["world"], "vlm": ["ma"], "writer": ["w"], "editor": ["ea"], "judge": ["j"]}


@dataclass
class Job:
    """A process that a command started: what it was told to do, its CPU seconds, its largest resident set in MB."""

    words: list[str]
    cpu: float = 0.0
    memory: float = 0.0

    def look(self, process: psutil.Process) -> None:
        """Note what it has taken by now."""
        with suppress(psutil.Error), process.oneshot():
            times = process.cpu_times()
            self.cpu, self.memory = times.user + times.system, max(self.memory, process.memory_info().rss / 1e6)

    @property
    def verb(self) -> str:
        """What `cfeval edct` was to do; empty for another process."""
        place = next((n for n, word in enumerate(self.words) if word == "edct"), None)
        return "" if place is None or place + 1 == len(self.words) else self.words[place + 1]


@dataclass(frozen=True)
class Watched:
    """What a command and its children took.

    `cpu` are the seconds of the command's own process, `cpu_jobs` those of its children; `idle` are the seconds of
    `wall` in which it had no child. Memory is the largest resident set, in MB: of the command itself, and of a child.
    """

    wall: float
    cpu: float
    cpu_jobs: float
    idle: float
    memory: float
    jobs: list[Job]

    @property
    def memory_jobs(self) -> float:
        """Of the largest child."""
        return max((job.memory for job in self.jobs), default=0.0)


def study(items: int, shards: int) -> Study:
    """Lay out a study of one condition: drawn scenes, scripted models."""
    root = PLACE / f"{items}-items-{shards}-shards" / "study"
    shutil.rmtree(root.parent, ignore_errors=True)
    params = deepcopy(PARAMS) | {"shards": shards}
    edct = params["edct"] | {"items": items, "datasets": {"world": {"plugin": "world"}}, "known": {}}
    params["edct"] = edct | {"tables": {"table1": [CONDITION]}}
    laid_out = lay_out(root, params)
    laid_out.run("dvc", "config", "--quiet", "core.analytics", "false")
    laid_out.commit("A study")
    return laid_out


def watched(of: Study, *command: str) -> Watched:
    """Run a command to its end and watch it and its children.

    Raises:
        SystemExit: it failed.
    """
    before, start = os.times(), time.monotonic()
    own_only = ("PYTHONPATH", "CFEVAL_STEPS_LOG")
    environment = {name: value for name, value in of.environment.items() if name not in own_only}
    log = of.root.parent / "log"
    with log.open("ab") as stream:
        running = psutil.Popen(command, cwd=of.root, env=environment, stdout=stream, stderr=stream)
    own, idle, jobs = Job([]), 0.0, dict[int, Job]()
    while running.poll() is None:
        own.look(running)
        children = _children(running)
        idle += 0 if children else TICK
        for child in children:
            job = jobs.setdefault(child.pid, Job([]))
            job.words = job.words if job.verb else _words(child)  # before its `exec` it still has its parent's
            job.look(child)
        time.sleep(TICK)
    wall, after = time.monotonic() - start, os.times()
    if running.wait():
        raise SystemExit(f"bench: {' '.join(command)} failed; see {log}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Watched(wall, own.cpu, spent - own.cpu, idle, own.memory, list(jobs.values()))


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def bytes_of(folder: Path) -> int:
    """Bytes of all files beneath a folder."""
    said = subprocess.run(["du", "-s", "--bytes", str(folder)], capture_output=True, text=True, check=True).stdout
    return int(said.split()[0])
