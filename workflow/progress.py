"""A line a job on stderr, in place of Snakemake's blocks of ten: what it did, how far the run is, why it failed."""

import logging
import re
import sys
import time
from pathlib import Path
from typing import Any

from cfeval.core.provenance.reading import COPIES

_NOISE = {"JOB_INFO", "JOB_STARTED", "JOB_FINISHED", "JOB_ERROR", "PROGRESS", "RESOURCES_INFO", "WORKFLOW_STARTED"}
_CHATTER = (
    "Select jobs to execute",
    "Using shell:",
    "Singularity containers:",
    "Assuming unrestricted",
    "Building DAG",
    "Auto-selected partition",
    "Cleaning up SLURM log files",
    "No SLURM account given",
    "No account was given",
    "Unable to guess SLURM account",
    "Storing in storage:",
    "Finished upload.",
    "Retrieving from storage:",
    "Finished retrieval.",
    "Removing local copy of storage file:",
)


def follow(logger: logging.Logger, dry: bool) -> None:
    """Show a line a job, and keep Snakemake's own handlers from telling the same in more words."""
    for handler in logger.handlers:
        handler.addFilter(_matters)
    logger.addHandler(Progress(dry))


def _matters(record: logging.LogRecord) -> bool:
    said = str(record.msg)
    chatter = said.startswith(_CHATTER) or " has been submitted with SLURM" in said
    return _event(record) not in _NOISE and not chatter


def _event(record: logging.LogRecord) -> str:
    return str(getattr(getattr(record, "event", None), "name", ""))


class Progress(logging.Handler):
    """Follows Snakemake's events; `dry` tells what would run and why."""

    def __init__(self, dry: bool = False) -> None:
        super().__init__()
        self.dry = dry
        self.titles: dict[int, str] = {}
        self.started: dict[int, float] = {}
        self.finished: list[int] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Turn an event into a line, if it is one that matters."""
        follow = {
            "JOB_INFO": self._begun,
            "JOB_FINISHED": self._ended,
            "JOB_ERROR": self._failed,
            "PROGRESS": self._counted,
        }.get(_event(record))
        if follow is not None:
            follow(record.__dict__)

    def _begun(self, event: dict[str, Any]) -> None:
        job = event["jobid"]
        self.titles[job] = event["rule_msg"] or event["rule_name"]
        self.started[job] = time.monotonic()
        if self.dry:
            _say(f"would run: {self.titles[job]} ({_one_line(event['reason'])})")

    def _ended(self, event: dict[str, Any]) -> None:
        self.finished.append(event["job_id"])

    def _counted(self, event: dict[str, Any]) -> None:
        for job in self.finished:
            seconds = time.monotonic() - self.started[job]
            _say(f"[{event['done']} of {event['total']}] {self.titles[job]}, {seconds:.1f} s")
        self.finished.clear()

    def _failed(self, event: dict[str, Any]) -> None:
        logs = [str(path) for path in event["log"] or ()]
        why = _fate(event) or next((line for log in logs if (line := _last_line(_here(log)))), "no message")
        _say(f"failed: {self.titles.get(event['jobid'], event['rule_name'])}: {why} ({', '.join(logs)})")


def _fate(event: dict[str, Any]) -> str:
    """What became of a job on a cluster that did not end by itself: cancelled, out of time, lost with its node."""
    told = re.search(r"status is: '(\w+)'", str(event.get("rule_msg")))
    return f"Slurm says {told[1]}" if told and told[1] != "FAILED" else ""


def _here(log: str) -> Path:
    """Where a log lies, or the copy of one that a storage provider keeps, which Snakemake names by its place there."""
    name, stored, _ = log.partition(" (send to storage)")
    suffix = name.partition("://")[2] or name.lstrip("/")
    return next(Path(COPIES).glob(f"*/{suffix}"), Path(name)) if stored else Path(name)


def _last_line(path: Path) -> str:
    """The last line of a log, which is where a command says why it stopped."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _one_line(reason: object) -> str:
    text = " ".join(str(reason).split())
    return text if len(text) <= 160 else f"{text[:157]}…"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
