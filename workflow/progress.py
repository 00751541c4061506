"""A line a job on stderr, in place of Snakemake's blocks of ten: what it did, how far the run is, why it failed.

On a terminal a few lines below these move: the items of the stages that run, the calls that wait, the USD. Elsewhere
they are written as plain lines now and then.
"""

import atexit
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import items
from cfeval.core.progress import FOLDER

COPIES = ".snakemake/storage"
"""Where Snakemake keeps copies of files that a storage provider has."""
_terminal: list[Any] = []
"""The console of the lines that move, where there are any."""
PLAIN_SECONDS = 30.0
"""Where there is no terminal: how often a run says how far its stages are."""
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
    "RuleException:\nCalledProcessError",  # the shell command of a job that failed, whose own line says why
    "WorkflowError:\nAt least one job did not complete successfully.",
    "Cannot restore ",
)


def follow(logger: logging.Logger, dry: bool, commands: bool = False) -> "Progress":
    """Show a line a job, and keep Snakemake's own handlers from telling the same in more words."""
    for handler in logger.handlers:
        if isinstance(handler, Progress):  # another workflow takes this one in twice
            return handler
    for handler in logger.handlers:
        handler.addFilter(_matters)
    progress = Progress(
        dry, commands, [handler for handler in logger.handlers if isinstance(handler, logging.StreamHandler)]
    )
    logger.addHandler(progress)
    return progress


def _matters(record: logging.LogRecord) -> bool:
    said = str(record.msg)
    chatter = said.startswith(_CHATTER) or " has been submitted with SLURM" in said
    return _event(record) not in _NOISE and not chatter


def _event(record: logging.LogRecord) -> str:
    return str(getattr(getattr(record, "event", None), "name", ""))


class Progress(logging.Handler):
    """Follows Snakemake's events; `dry` tells what would run and why, `commands` each job's command, for a shell.

    `beside` are handlers that write to the terminal too, and must not write into the lines that move.
    """

    def __init__(
        self, dry: bool = False, commands: bool = False, beside: Sequence["logging.StreamHandler[Any]"] = ()
    ) -> None:
        super().__init__()
        self.dry, self.commands, self.beside = dry, commands, beside
        self.items = items.Items()
        self._moving: Any = None
        os.environ[FOLDER] = str(self.items.folder)
        self.reasons: Callable[[str], str] = lambda _: ""
        """Why a job is out of date by itself, by its first output."""
        self.titles: dict[int, str] = {}
        self.started: dict[int, float] = {}
        self.finished: list[int] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Turn an event into a line, if it is one that matters."""
        follow = {
            "JOB_INFO": self._begun,
            "SHELLCMD": self._called,
            "JOB_FINISHED": self._ended,
            "JOB_ERROR": self._failed,
            "PROGRESS": self._counted,
            "RUN_INFO": self._planned,
        }.get(_event(record))
        if follow is not None:
            follow(record.__dict__)

    def _begun(self, event: dict[str, Any]) -> None:
        job = event["jobid"]
        self.titles[job] = event["rule_msg"] or event["rule_name"]
        self.started[job] = time.monotonic()
        if not self.dry and self._moving is None:
            self.items.begin()
            self._moving = _live(self) if _is_terminal() else _now_and_then(self)
        if self.dry:
            first = str(next(iter(event.get("output") or ()), "")).partition(" (")[0]  # without its flags
            why = self.reasons(first) or event["reason"]
            _say(f"would run: {self.titles[job]} ({_one_line(why)})")

    def _called(self, event: dict[str, Any]) -> None:
        if self.commands and event["shellcmd"]:
            _say(f"    {event['shellcmd'].partition(' 2> ')[0]}")

    def _planned(self, event: dict[str, Any]) -> None:
        self.items.planned({rule: count for rule, count in event["stats"].items() if rule != "total"})

    def lines(self) -> list[str]:
        """How far the run is: a line a stage that runs, the calls to hosted models."""
        stages = [f"{stage.name}: {stage.told()}" for stage in self.items.look()]
        return [line for line in (*stages, self.items.calls()) if line]

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
        self.items.failed(self.titles.get(event["jobid"], event["rule_name"]), why, logs)
        _say(f"failed: {self.titles.get(event['jobid'], event['rule_name'])}: {why} ({', '.join(logs)})")


def _is_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _live(progress: Progress) -> Any:
    """Lines at the bottom of the terminal that move until this process ends, and are gone then."""
    from rich.console import Console, Group
    from rich.file_proxy import FileProxy
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True, highlight=False)

    def shown() -> Group:
        return Group(*(Text(line, style="bold cyan", no_wrap=True, overflow="ellipsis") for line in progress.lines()))

    live = Live(get_renderable=shown, console=console, refresh_per_second=4, transient=True)
    for handler in progress.beside:
        if handler.stream is sys.stderr:
            handler.setStream(FileProxy(console, sys.stderr))
    _terminal.append(console)
    live.start()
    atexit.register(live.stop)
    return live


def _now_and_then(progress: Progress) -> threading.Thread:
    """Plain lines as long as this process lives."""

    def tell() -> None:
        while True:
            time.sleep(PLAIN_SECONDS)
            for line in progress.lines():
                _say(line)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    return thread


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
    if _terminal:  # above the lines that move, and not broken: names are there to be copied
        _terminal[0].print(line, soft_wrap=True, markup=False, emoji=False)
    else:
        print(line, file=sys.stderr, flush=True)
