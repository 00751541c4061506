"""Progress of a job: a small file for the run that started it; on stderr a live bar, or a plain line now and then."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
# The environment variable that names the folder in which jobs report how far they are; empty or not set: nowhere.
FOLDER = "CFEVAL_PROGRESS"
# Where the jobs of the latest run report.
REPORTS = Path(".cfeval/progress")
# A file there with the jobs that failed: written by workflow/items.py, read by `cfeval.study.run`.
FAILURES = "failures.jsonl"
_EVERY_SECONDS = 5.0
_REPORT_SECONDS = 0.5
# The rule and the name of the job that this process runs.
_job: list[str] = []
# The things of the job's former steps, and of the step that runs.
_counts = {"former": 0, "total": 0}


def begin_job(rule: str, name: str) -> None:
    """From here on this process runs a job, or a further step of it; the run that started it wants to know how far."""
    _counts["former"] = _counts["former"] + _counts["total"] if _job == [rule, name] else 0
    _counts["total"] = 0
    _job[:] = rule, name


def track(things: Iterable[T], total: int, label: str) -> Iterator[T]:
    """Pass `things` through and tell how far they are."""
    if sys.stderr.isatty():
        from rich.console import Console  # slow to load, and jobs have no terminal
        from rich.progress import track as rich_track

        yield from rich_track(things, description=label, total=total, console=Console(stderr=True), transient=True)
        return
    start = printed = reported = time.monotonic()
    _report(0, total)
    for done, thing in enumerate(things):
        yield thing
        now = time.monotonic()
        if now - reported >= _REPORT_SECONDS:
            reported = now
            _report(done + 1, total)
        if now - printed >= _EVERY_SECONDS:
            printed = now
            print(f"{label}: {done + 1} of {total}, {(done + 1) / (now - start):.1f} a second", file=sys.stderr)
    _report(total, total)
    print(f"{label}: {total} of {total} done in {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)


def _report(done: int, total: int) -> None:
    """Write how far the job is; a report that cannot be written is none, and the job goes on."""
    folder = os.environ.get(FOLDER)
    if not folder or not _job:
        return
    rule, name = _job
    _counts["total"] = total
    file = Path(folder, f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json")
    part = file.with_suffix(".part")
    try:
        so_far = {"done": _counts["former"] + done, "total": _counts["former"] + total}
        part.write_text(json.dumps({"stage": rule, "job": name, **so_far}), encoding="utf-8")
        part.replace(file)
    except OSError:
        return
