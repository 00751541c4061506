"""A study of any size whose models answer at once, in a folder of its own: what is left is the machinery."""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import psutil
from tests.workflow.study import PARAMS, Study, lay_out

PLACE = Path(__file__).parent.parent / ".bench"
"""Where such studies lie; ignored by git."""
TICK = 0.1
"""Seconds between two looks at the processes."""
ARM = {"dataset": ["world"], "vlm": ["ma"], "writer": ["w"], "editor": ["ea"], "judge": ["j"]}


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
    memory_jobs: float


def study(items: int, shards: int) -> Study:
    """Lay out a study of one arm: drawn scenes, scripted models."""
    root = PLACE / f"{items}-items-{shards}-shards" / "study"
    shutil.rmtree(root.parent, ignore_errors=True)
    params = deepcopy(PARAMS) | {"shards": shards}
    edct = params["edct"] | {"items": items, "datasets": {"world": {"backend": "world"}}, "known": {}}
    params["edct"] = edct | {"tables": {"table1": [ARM]}}
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
    environment = {name: value for name, value in of.environment.items() if name not in ("PYTHONPATH", "CFEVAL_LEDGER")}
    log = of.root.parent / "log"
    with log.open("ab") as stream:
        running = psutil.Popen(command, cwd=of.root, env=environment, stdout=stream, stderr=stream)
    own, idle, memory, memory_jobs = 0.0, 0.0, 0.0, 0.0
    while running.poll() is None:
        try:
            times, children = running.cpu_times(), running.children(recursive=True)
            own, memory = times.user + times.system, max(memory, running.memory_info().rss)
        except psutil.Error:
            break
        idle += 0 if children else TICK
        memory_jobs = max(memory_jobs, *(_memory(child) for child in children), 0.0)
        time.sleep(TICK)
    wall, after = time.monotonic() - start, os.times()
    if running.wait():
        raise SystemExit(f"bench: {' '.join(command)} failed; see {log}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Watched(wall, own, spent - own, idle, memory / 1e6, memory_jobs / 1e6)


def _memory(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss)
    except psutil.Error:
        return 0.0


def jobs_of(of: Study) -> Sequence[tuple[str, float, float]]:
    """Stage, CPU seconds and peak memory in MB of every job, as Snakemake measured them (benchmarks/)."""
    found = []
    for file in sorted((of.root / "benchmarks").rglob("*.tsv")):
        names, values = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[:2])
        row = dict(zip(names, values, strict=True))
        stage = file.relative_to(of.root / "benchmarks/edct").with_suffix("").parts[0]
        found.append((stage, _figure(row["cpu_time"]), _figure(row["max_rss"])))
    return found


def _figure(text: str) -> float:
    """A figure of Snakemake's; it has none of a job that ended before it looked."""
    return 0.0 if text in ("-", "NA") else float(text)


def bytes_of(folder: Path) -> int:
    """Bytes of all files beneath a folder."""
    said = subprocess.run(["du", "-s", "--bytes", str(folder)], capture_output=True, text=True, check=True).stdout
    return int(said.split()[0])
