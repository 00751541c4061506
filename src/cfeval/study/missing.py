"""Why items have no score, for the last lines of a run: counts over all conditions, an example, and what to do."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cfeval.core.folder import quoted
from cfeval.core.jsonl import read_lines
from cfeval.core.records import Status
from cfeval.core.statuses import MEANINGS
from cfeval.inference.prompts import last_text
from cfeval.study.outcomes import Row
from cfeval.study.unscored import Job, is_unread, score_files, score_rows

_SHOWN = 4
_WORDS = 100
"""Characters of a reply or an error that are shown."""
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
"""What a stage is, in plain words."""
_ROLES = {
    "baselines": "vlm",
    "requeries": "vlm",
    "instructions": "writer",
    "counterfactuals": "editor",
    "checks": "dataset",
    "verdicts": "judge",
}
"""The field of a score that names whose failure it is, by stage of edct."""
_TEXTS = ("completion", "text", "explanation", "answer")
"""The fields of records that hold a reply as it came."""
_AGAIN = (Status.TRANSPORT_ERROR, Status.REJECTED)
"""What another run of the step may mend."""


def missing(jobs: Iterable[Job], root: str, folder: Path = Path()) -> list[str]:
    """Lines that say how many results have no score and why; none where all have one.

    Args:
        jobs: of the study.
        root: the folder of its results.
        folder: the study's folder, as it is seen from where the command was typed.
    """
    return [line for study, files in score_files(jobs).items() for line in _lines(study, files, Path(root), folder)]


def _lines(study: str, files: Iterable[Path], root: Path, folder: Path) -> Iterator[str]:
    total, unread, ended, first = 0, 0, Counter[tuple[str, str]](), dict[tuple[str, str], Row]()
    for file in files:
        for row in score_rows(study, [file]):
            total += 1
            if (status := row.get("status", "ok")) != "ok":
                kind = status, row.get("stage", "scores")
                ended[kind] += 1
                first.setdefault(kind, row | _names(study, file, root))
            unread += is_unread(row)
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
    for (status, stage), count in ended.most_common(_SHOWN):
        yield f"  {count} {_PLACES.get(stage, f'at {stage}')} ({status}): {MEANINGS[Status(status)].happened}"
    if len(ended) > _SHOWN:
        yield f"  and {sum(ended.values()) - sum(n for _, n in ended.most_common(_SHOWN))} for other reasons"
    kind = ended.most_common(1)[0][0]
    yield from _example(study, *kind, first[kind], root, folder)


def _example(study: str, status: str, stage: str, row: Row, root: Path, folder: Path) -> Iterator[str]:
    """An item of the most frequent kind, what its model said or which error came, and the remedy."""
    record, file = _record(root / study.partition(",")[0] / stage, row)
    words = last_text(next((str(record[name]) for name in _TEXTS if record.get(name)), ""))
    reason = " ".join(str(row.get("reason", "")).split())
    who = f", {row[_ROLES[stage]]}" if stage in _ROLES and _ROLES[stage] in row else ""
    who = who or (f", {row['solver']}" if "solver" in row else "")
    reply = f"said {_short(words)}" if words else _short(reason) if reason else "gave no reason"
    yield f"  For example {row.get('id', 'an item')}{who}: {reply}"
    if remedy := MEANINGS[Status(status)].remedy:
        yield f"  What to do: {remedy}"
    if Status(status) in _AGAIN and file is not None:
        yield f"  To try these again: rm {quoted(folder / file)}, and run again; stored replies are not asked for anew"


def _record(folder: Path, row: Row) -> tuple[Mapping[str, Any], Path | None]:
    """The record of an item at the stage where it ended, and its file; of the same condition, where that is told."""
    names = {str(row[name]) for name in ("dataset", "vlm", "writer", "editor", "judge", "solver") if name in row}
    files = sorted(folder.rglob("*.jsonl"), key=lambda file: -len(names & {*file.parts, file.stem}))
    for file in files:
        for line in read_lines(file):
            record = json.loads(line) if line.strip() else {}
            if record.get("id") == row.get("id") and record.get("status") == row["status"]:
                return record, file
    return {}, None


def _names(study: str, file: Path, root: Path) -> dict[str, str]:
    """Who a score file of cvqa is of: SET/SOLVER."""
    parts = file.with_suffix("").relative_to(root).parts[2:] if file.is_relative_to(root) else ()
    return dict(zip(("set", "solver"), parts, strict=False)) if study == "cvqa" else {}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= _WORDS else f"{line[: _WORDS - 1]}…"}"'
