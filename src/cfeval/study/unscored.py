"""Items without a score: whether anything was scored at all, how many were not, why, and what to do."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from cfeval.core.folder import quoted
from cfeval.core.jsonl import read_lines
from cfeval.core.records import Status
from cfeval.core.statuses import MEANINGS
from cfeval.cvqa.records import HEADLINE
from cfeval.inference.prompts import last_text
from cfeval.study.outcomes import KINDS, Row, json_rows

# What given pairs are called, whose verdicts are their scores.
PAIRS = "edct, given pairs"
# Reasons of an evaluation without any score that a line names, and kinds of missing scores that a run reports.
_REASONS, _KINDS = 3, 4
# Characters of a reply or an error that are shown.
_LONGEST = 100
# A stage in plain words.
_PLACES = {
    "baselines": "in the answers about the original images",
    "instructions": "where edits are written",
    "counterfactuals": "where images are edited",
    "checks": "where edits are checked",
    "requeries": "in the answers about the edited images",
    "verdicts": "at the judge",
    "pair_baselines": "in the answers about the pairs",
    "pair_verdicts": "at the judge of the pairs",
    "answers": "in the solvers' answers",
    "readings": "where replies are read",
}
# The field of a score that names whose failure it is, by stage of edct.
_ROLES = {
    "baselines": "vlm",
    "requeries": "vlm",
    "instructions": "writer",
    "counterfactuals": "editor",
    "checks": "dataset",
    "verdicts": "judge",
}
# The fields of records that hold a reply as it came.
_REPLIES = ("completion", "text", "explanation", "answer")
# Failures that another run of the step may not have.
_TEMPORARY = (Status.TRANSPORT_ERROR, Status.REJECTED)


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
    files_of = score_files(jobs).items()
    return [line for study, files in files_of if files and (line := _no_score_line(study, files))]


def score_files(jobs: Iterable[Job]) -> dict[str, list[Path]]:
    """The score files of each evaluation, as far as they are here."""
    by_study: dict[str, list[Path]] = {}
    for job in jobs:
        study, step = job.words[:2]
        if step in ("scores", "pair-verdicts"):
            files = by_study.setdefault(study if step == "scores" else PAIRS, [])
            for output in map(Path, job.outputs):
                inside = sorted(output.rglob("*")) if output.is_dir() else [output]
                files += [file for file in inside if file.suffix in (".csv", ".jsonl") and file.is_file()]
    return by_study


def _no_score_line(study: str, files: Sequence[Path]) -> str:
    """Why nothing was scored; empty where something was."""
    reasons: Counter[str] = Counter()
    for row in score_rows(study, files):
        if row.get("status", "ok") == "ok" and not is_unread(row):
            return ""
        reasons[_reason(row)] += 1
    listed = "; ".join(f"{count} × {why}" for why, count in reasons.most_common(_REASONS))
    more = f"; and {len(reasons) - _REASONS} more reasons" if len(reasons) > _REASONS else ""
    counts = f"of {reasons.total()} items and edits none has a score: {listed}{more}" if reasons else "there is no item"
    return f"{study}: nothing was scored, so there is no result; {counts}; see {files[0]}, and run `cfeval doctor`"


def score_rows(study: str, files: Iterable[Path]) -> Iterator[Row]:
    """The rows of score files."""
    for file in files:
        yield from (json_rows if study == PAIRS else KINDS[study].rows)(read_lines(file))


def is_unread(row: Row) -> bool:
    """Whether a reply of cvqa came that the robust reader cannot read, so that it has no score."""
    correct = row.get("correct")
    return isinstance(correct, dict) and correct.get(HEADLINE, 0) is None


def _reason(row: Row) -> str:
    if is_unread(row):
        return "a reply that cannot be read"
    reason = f" ({' '.join(str(row['reason']).split())})" if row.get("reason") else ""
    return f"{row['status']} at {row.get('stage', 'scores')}{reason}"


def missing(jobs: Iterable[Job], root: str, folder: Path = Path()) -> list[str]:
    """Lines that say how many results have no score and why; none where all have one.

    Args:
        jobs: of the study.
        root: the folder of its results.
        folder: the study's folder, as it is seen from where the command was typed.
    """
    files_of = score_files(jobs).items()
    return [line for study, files in files_of for line in _missing_lines(study, files, Path(root), folder)]


def _missing_lines(study: str, files: Iterable[Path], root: Path, folder: Path) -> Iterator[str]:
    total, unread, ended, first = 0, 0, Counter[tuple[str, str]](), dict[tuple[str, str], Row]()
    for file in files:
        for row in score_rows(study, [file]):
            total += 1
            unread += is_unread(row)
            if (status := row.get("status", "ok")) != "ok":
                kind = status, row.get("stage", "scores")
                ended[kind] += 1
                parts = file.with_suffix("").relative_to(root).parts[2:] if file.is_relative_to(root) else ()
                first.setdefault(
                    kind, row | (dict(zip(("set", "solver"), parts, strict=False)) if study == "cvqa" else {})
                )
    if not ended and not unread:
        return
    yield f"{study}: {ended.total() + unread} of {total} results have no score, all conditions counted:"
    if unread:
        yield (
            f"  {unread} replies came and cannot be read (unread): see them on the page, or name `cvqa.reply_readers`, "
            "language models that read them"
        )
    if not ended:
        return
    shown = ended.most_common(_KINDS)
    for (status, stage), count in shown:
        yield f"  {count} {_PLACES.get(stage, f'at {stage}')} ({status}): {MEANINGS[Status(status)].happened}"
    if len(ended) > _KINDS:
        yield f"  and {ended.total() - sum(count for _, count in shown)} for other reasons"
    [most_frequent, _] = shown[0]
    yield from _example(study, *most_frequent, first[most_frequent], root, folder)


def _example(study: str, status: str, stage: str, row: Row, root: Path, folder: Path) -> Iterator[str]:
    """An item of the most frequent kind, the reply of its model or the error, and the remedy."""
    record, file = _record(root / study.partition(",")[0] / stage, row)
    text = last_text(next((str(record[name]) for name in _REPLIES if record.get(name)), ""))
    reason = " ".join(str(row.get("reason", "")).split())
    who = row.get(_ROLES.get(stage, ""), row.get("solver", ""))
    reply = f"said {_quoted(text)}" if text else _quoted(reason) if reason else "gave no reason"
    yield f"  For example {row.get('id', 'an item')}{f', {who}' if who else ''}: {reply}"
    if remedy := MEANINGS[Status(status)].remedy:
        yield f"  What to do: {remedy}"
    if Status(status) in _TEMPORARY and file is not None:
        yield f"  To try these again: rm {quoted(folder / file)}, and run again; stored replies are not asked for anew"


def _record(folder: Path, row: Row) -> tuple[Mapping[str, Any], Path | None]:
    """The record of an item at the stage where it ended, and its file; of the same condition, where a row names it."""
    names = {str(row[name]) for name in ("dataset", "vlm", "writer", "editor", "judge", "solver") if name in row}
    files = sorted(folder.rglob("*.jsonl"), key=lambda file: -len(names & {*file.parts, file.stem}))
    for file in files:
        for line in read_lines(file):
            record = json.loads(line) if line.strip() else {}
            if record.get("id") == row.get("id") and record.get("status") == row["status"]:
                return record, file
    return {}, None


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"}"'
