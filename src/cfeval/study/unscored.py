"""Whether anything was scored at all: a run that has no score has no result, however well its jobs ended."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from cfeval.core.jsonl import read_lines
from cfeval.cvqa.records import HEADLINE
from cfeval.study.outcomes import KINDS, Row, json_rows

PAIRS = "edct, given pairs"
"""How given pairs are called, whose verdicts are their scores."""
_SHOWN = 3


class Job(Protocol):
    """A job of a run."""

    @property
    def words(self) -> list[str]:
        """The command that it calls, after `cfeval`."""

    @property
    def outputs(self) -> list[str]:
        """What it makes."""


def unscored(jobs: Iterable[Job]) -> list[str]:
    """A line for each evaluation whose score files, as far as they are here, hold no score."""
    return [line for study, its in score_files(jobs).items() if its and (line := _line(study, its))]


def score_files(jobs: Iterable[Job]) -> dict[str, list[Path]]:
    """The score files of each evaluation, as far as they are here."""
    files: dict[str, list[Path]] = {}
    for job in jobs:
        study, step = job.words[:2]
        if step in ("scores", "pair-verdicts"):
            its = files.setdefault(study if step == "scores" else PAIRS, [])
            its += [file for output in job.outputs for file in _files_in(Path(output))]
    return files


def _files_in(output: Path) -> Iterator[Path]:
    """The record files at an output, or in a folder."""
    files = sorted(output.rglob("*")) if output.is_dir() else [output]
    yield from (file for file in files if file.suffix in (".csv", ".jsonl") and file.is_file())


def _line(study: str, files: Sequence[Path]) -> str:
    ended: Counter[str] = Counter()
    for row in score_rows(study, files):
        if row.get("status", "ok") == "ok" and not is_unread(row):
            return ""
        ended[_why(row)] += 1
    reasons = "; ".join(f"{count} × {why}" for why, count in ended.most_common(_SHOWN))
    more = f"; and {len(ended) - _SHOWN} more reasons" * (len(ended) > _SHOWN)
    told = f"of {ended.total()} items and edits none has a score: {reasons}{more}" if ended else "there is no item"
    return f"{study}: nothing was scored, so there is no result; {told}; see {files[0]}, and run `cfeval doctor`"


def score_rows(study: str, files: Iterable[Path]) -> Iterator[Row]:
    """The rows of score files."""
    for file in files:
        yield from (json_rows if study == PAIRS else KINDS[study].rows)(read_lines(file))


def is_unread(row: Row) -> bool:
    """Whether a reply of cvqa came that the robust reader cannot read, so that it has no score."""
    correct = row.get("correct")
    return isinstance(correct, dict) and correct.get(HEADLINE, 0) is None


def _why(row: Row) -> str:
    if is_unread(row):
        return "a reply that cannot be read"
    reason = f" ({' '.join(str(row['reason']).split())})" if row.get("reason") else ""
    return f"{row['status']} at {row.get('stage', 'scores')}{reason}"
