"""What a benchmark finds: a table of its figures, ours and others' side by side, and the machine it ran on."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

FOUND = Path(__file__).parent / "found"
"""What each benchmark found last, a JSON file each; docs/project/benchmarks.md is made of them."""


@dataclass(frozen=True)
class Table:
    """One table: its heading, the columns, a text a cell, and what a reader must know to read it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """The table as Markdown, notes below."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        return f"### {self.title}\n\n{table}" + "".join(f"\n{note}\n" for note in self.notes)


@dataclass(frozen=True)
class Found:
    """The tables of one benchmark, where they were measured, and on which day."""

    machine: str
    tables: Sequence[Table]
    day: str

    def save(self, part: str) -> None:
        """Keep it for the page."""
        FOUND.mkdir(exist_ok=True)
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        (FOUND / f"{part}.json").write_text(text + "\n", encoding="utf-8")

    @staticmethod
    def read(part: str) -> "Found | None":
        """What a benchmark found last; None where it never ran."""
        file = FOUND / f"{part}.json"
        if not file.is_file():
            return None
        content = json.loads(file.read_text(encoding="utf-8"))
        return Found(content["machine"], [Table(**table) for table in content["tables"]], content["day"])


def today() -> str:
    """The day, as 2026-11-28."""
    return date.today().isoformat()


def machine() -> str:
    """Processor, cores, memory, system and Python of this machine, in one line."""
    cpu = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    named = cpu or platform.processor() or platform.machine()
    return f"{named}, {cores} cores, {memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}"


def _lines(file: str) -> list[str]:
    path = Path(file)
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
