"""`make bench-puzzles`: synthetic puzzles per second, pictures encoded and all files written, on one and two processes.

The time that processes take to start counts. Well under a minute.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import platform
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import PIL

from cfeval.world.puzzles.release import release

COUNT, SEED, AIM = 1200, 1, 100.0
"""The aim is 3,000 puzzles in 30 s on two cores."""


def main() -> None:
    """Write two releases and print the table."""
    print(f"{_processor()}, {os.cpu_count()} cores; Python {platform.python_version()}, ", end="")
    print(f"Pillow {PIL.__version__}, NumPy {np.__version__}; {COUNT} puzzles of 336 × 336 pixels, all six types\n")
    print("| processes | puzzles per second | CPU ms per puzzle | aim, puzzles per second |\n|---|---|---|---|")
    for jobs in (1, 2):
        seconds, cpu = _timed(jobs)
        aim = f"{AIM:.0f}" if jobs == 2 else ""
        print(f"| {jobs} | {COUNT / seconds:.0f} | {1000 * cpu / COUNT:.1f} | {aim} |")


def _timed(jobs: int) -> tuple[float, float]:
    """Seconds on the clock and of processors, children's included."""
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), _cpu()
        release(Path(folder), COUNT, SEED, jobs=jobs)
        return time.perf_counter() - began, _cpu() - used


def _cpu() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def _processor() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    named = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return named[0].split(":", 1)[1].strip() if named else platform.processor() or "unknown processor"


if __name__ == "__main__":
    main()
