"""Puzzles per second

Synthetic puzzles, images encoded and all files written, on one and two processes. The time that processes take to
start counts.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import PIL

from bench.table import Table
from cfeval.cvqa.synthetic.release import release

COUNT, SEED, AIM = 1200, 1, 100.0
"""The aim is 3,000 puzzles in 30 s on two cores."""


def tables() -> list[Table]:
    """The one table."""
    rows = []
    for jobs in (1, 2):
        seconds, cpu = _timed(jobs)
        aim = f"{AIM:.0f}" if jobs == 2 else ""
        rows.append([str(jobs), f"{COUNT / seconds:.0f}", f"{1000 * cpu / COUNT:.1f}", aim])
    columns = ("processes", "puzzles per second", "CPU ms per puzzle", "aim, puzzles per second")
    versions = f"Pillow {PIL.__version__}, NumPy {np.__version__}"
    return [Table(f"{COUNT} puzzles of 336 × 336 pixels, all six types", columns, rows, [f"{versions}."])]


def _timed(jobs: int) -> tuple[float, float]:
    """Seconds on the clock and of processors, children's included."""
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), _cpu()
        release(Path(folder), COUNT, SEED, jobs=jobs)
        return time.perf_counter() - began, _cpu() - used


def _cpu() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))
