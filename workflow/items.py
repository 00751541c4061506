"""How far a run is in items: what its jobs report, added up by stage, and what their calls to hosted models cost."""

import contextlib
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cfeval.core.errors import CfevalError
from cfeval.core.progress import FAILURES, REPORTS

_READ_SECONDS = 1.0


@dataclass
class Stage:
    """The items of a stage's jobs, as far as they have reported.

    Attributes:
        name: of the stage, as `edct_baselines`.
        jobs: how many jobs of it run in this run.
        done: items done, by job.
        total: items that there are, by job.
        began: when the first job reported, and how many items were done then.
        latest: when the number of items last grew.
    """

    name: str
    jobs: int = 1
    done: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)
    began: float = 0.0
    latest: float = 0.0

    @property
    def items(self) -> int:
        """Items done."""
        return sum(self.done.values())

    @property
    def all(self) -> int:
        """Items of all jobs; of those that have not begun, as many as the others have on average."""
        known = sum(self.total.values())
        return known + (self.jobs - len(self.total)) * known // max(len(self.total), 1)

    @property
    def guessed(self) -> bool:
        """Whether some jobs have not said yet how many items they have."""
        return len(self.total) < self.jobs

    @property
    def active(self) -> bool:
        """Whether some job has begun and not ended."""
        return any(self.done[job] < self.total[job] for job in self.total)

    def rate(self) -> float:
        """Items a second since the first job began."""
        return self.items / max(time.monotonic() - self.began, 0.1) if self.began else 0.0

    def told(self) -> str:
        """How many items are done of all, how fast, and the time left."""
        parts = [f"{self.items:,} of {'about ' * self.guessed}{self.all:,} items"]
        if rate := self.rate():
            parts += [f"{rate:.1f} a second", f"{_clock((self.all - self.items) / rate)} left"]
        return ", ".join(parts)


class Items:
    """Reads what jobs report, and the ledger of the response cache.

    Args:
        folder: where jobs report.
    """

    def __init__(self, folder: Path = REPORTS) -> None:
        self.folder, self.stages = folder, dict[str, Stage]()
        self.jobs: dict[str, int] = {}
        self._cache: Path | None = None
        self._ledger: Ledger | None = None
        self._read, self._seen = 0.0, dict[str, int]()

    def begin(self) -> None:
        """Make room for the reports of this run; what a former one has left is removed."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)

    def failed(self, title: str, why: str, logs: list[str]) -> None:
        """Write down that a job has failed, for whoever started the run."""
        with contextlib.suppress(OSError), (self.folder / FAILURES).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"title": title, "why": why, "logs": logs}, ensure_ascii=False) + "\n")

    def planned(self, rules: dict[str, int]) -> None:
        """Take in how many jobs of each rule the run has."""
        self.jobs |= rules

    def watch(self, cache: Path) -> None:
        """Count the calls that the ledger of a response cache notes from now on."""
        self._cache = cache
        if cache.is_file():
            self._ledger = _opened(cache, from_now_on=True)

    def look(self) -> list[Stage]:
        """The stages of which some job has begun and not ended, as they were not longer than a second ago."""
        if time.monotonic() - self._read >= _READ_SECONDS:
            self._read = time.monotonic()
            for stage, job, done, total in self._news():
                found = self.stages.setdefault(stage, Stage(stage, self.jobs.get(rule_of(stage), 1)))
                found.began = found.began or time.monotonic()
                found.done[job], found.total[job] = done, total
        return [stage for stage in self.stages.values() if stage.active]

    def calls(self) -> str:
        """What is known of calls to hosted models in this run; empty where there was none."""
        if self._ledger is None and self._cache is not None and self._cache.is_file():
            self._ledger = _opened(self._cache, from_now_on=False)
        with contextlib.suppress(CfevalError):
            return self._ledger.told() if self._ledger else ""
        return ""

    def _news(self) -> Iterator[tuple[str, str, int, int]]:
        """What is new since the last look."""
        for file in self.folder.glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                changed = file.stat().st_mtime_ns
                if self._seen.get(file.name) != changed:
                    self._seen[file.name] = changed
                    said = json.loads(file.read_text(encoding="utf-8"))
                    yield said["stage"], said["job"], int(said["done"]), int(said["total"])


class Ledger:
    """The calls that the ledger of a response cache notes.

    Args:
        file: the cache.
        from_now_on: whether calls that it notes already are left out.

    Raises:
        CfevalError: it cannot be read.
    """

    def __init__(self, file: Path, from_now_on: bool) -> None:
        from cfeval.inference.remote.cache import ResponseCache

        self._cache = ResponseCache(file)
        self._first = self._cache.last_sent() if from_now_on else 0

    def told(self) -> str:
        """Calls that wait for a reply, calls sent, those that timed out, USD spent or set aside."""
        all_ = self._cache.sent_since(self._first)
        late = f", {all_.sent_again:,} timed out, sent again" * bool(all_.sent_again)
        line = f"{all_.in_flight} calls waiting for a reply, {all_.sent:,} sent{late}, {all_.usd:.4f} USD so far"
        return line if all_.sent else ""


def _opened(file: Path, from_now_on: bool) -> Ledger | None:
    """The ledger; None where it cannot be read: the jobs that need it say why."""
    with contextlib.suppress(CfevalError):
        return Ledger(file, from_now_on)
    return None


def rule_of(stage: str) -> str:
    """The rule that makes the jobs of a stage."""
    return stage.replace("-", "_")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
