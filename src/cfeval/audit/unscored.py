"""Whether anything was scored at all: a run that has no score has no result, however well its jobs ended."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cfeval.audit.outcomes import KINDS, Row, json_rows
from cfeval.core.jsonl import read_lines
from cfeval.core.provenance.jobs import Job

PAIRS = "edct, given pairs"
"""How given pairs are called, whose verdicts are their scores."""
_SHOWN = 3


def unscored(jobs: Iterable[Job]) -> list[str]:
    """A line for each evaluation whose score files, as far as they are here, hold no score."""
    files: dict[str, list[Path]] = {}
    for job in jobs:
        study, _, stage = job.stage.partition(".")
        if stage in ("scores", "pair_verdicts") and Path(job.name).is_file():
            files.setdefault(study if stage == "scores" else PAIRS, []).append(Path(job.name))
    return [line for study, its in files.items() if (line := _line(study, its))]


def _line(study: str, files: Sequence[Path]) -> str:
    ended: Counter[str] = Counter()
    for row in _rows(study, files):
        if row.get("status", "ok") == "ok":
            return ""
        ended[_why(row)] += 1
    reasons = "; ".join(f"{count} × {why}" for why, count in ended.most_common(_SHOWN))
    more = f"; and {len(ended) - _SHOWN} more reasons" * (len(ended) > _SHOWN)
    told = f"of {ended.total()} items and edits none has a score: {reasons}{more}" if ended else "there is no item"
    return f"{study}: nothing was scored, so there is no result; {told}; see {files[0]}, and run `cfeval doctor`"


def _rows(study: str, files: Iterable[Path]) -> Iterator[Row]:
    for file in files:
        yield from (json_rows if study == PAIRS else KINDS[study].rows)(read_lines(file))


def _why(row: Row) -> str:
    reason = f" ({' '.join(str(row['reason']).split())})" if row.get("reason") else ""
    return f"{row['status']} at {row.get('stage', 'scores')}{reason}"
