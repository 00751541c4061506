"""What came of each item in each study, what its status means, and why items have no score."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from cfeval.core.folder import quoted
from cfeval.core.jsonl import read_lines
from cfeval.core.record import SHARD
from cfeval.core.records import Status
from cfeval.cvqa.records import HEADLINE
from cfeval.edct.files import FOLDERS, NAMES
from cfeval.inference.prompts import last_text
from cfeval.study.revisions import Side

Row = dict[str, Any]
# How the rows of a file are read from its lines.
Parse = Callable[[Iterator[str]], Iterator[Row]]
# What came of an item, by metric.
Outcomes = dict[str, str]
# What was asked and answered, by what it is called.
Story = dict[str, str]

_EDCT = ("pcs", "ncc", "ac", "ef", "ccs", "answer_moved", "explanation_moved")
_CORRECT = {"1": "correct", "0": "wrong", "None": "unread"}
_SHARD = re.compile(SHARD)


@dataclass(frozen=True)
class Kind:
    """The score files of an evaluation.

    Attributes:
        ending: of their names.
        names: how many names a condition has.
        by_protocol: a condition's last name, the protocol, is that of the file in the folder of the others.
        rows: how a file is read.
        key: what names an item within a condition's files.
        outcomes: what came of an item.
        transcript: for some keys of a condition, what was asked and answered by a side's other files.
    """

    ending: str
    names: int
    by_protocol: bool
    rows: Parse
    key: Callable[[Row], str]
    outcomes: Callable[[Row], Outcomes]
    transcript: Callable[[Side, tuple[str, ...], Collection[str]], dict[str, Story]]

    def condition_of(self, place: str) -> tuple[str, ...]:
        """The names of the condition that a file is of, by its place among the scores; none where it is of none."""
        names = place.removesuffix(f".{self.ending}").split("/")
        shard = -2 if self.by_protocol else -1
        if len(names) == self.names + 1 and _SHARD.fullmatch(names[shard]):
            del names[shard]
        return tuple(names) if len(names) == self.names and place.endswith(f".{self.ending}") else ()

    def shown(self, condition: tuple[str, ...]) -> tuple[str, ...]:
        """The names of a condition in the order in which tables have them."""
        by_column = dict(zip((*FOLDERS, "protocol"), condition, strict=False))
        return tuple(by_column[name] for name in NAMES) if self.by_protocol else condition


def json_rows(lines: Iterator[str]) -> Iterator[Row]:
    """The records of a JSONL file."""
    return (json.loads(line) for line in lines if line.strip())


def csv_rows(lines: Iterator[str]) -> Iterator[Row]:
    """The records of a CSV file; what is empty is left out."""
    return ({name: value for name, value in row.items() if value} for row in csv.DictReader(lines))


def condition_files(
    files: Collection[str], folder: str, names: Sequence[str], ending: str, protocol: str = ""
) -> list[str]:
    """The files of FOLDER/NAME/…/NAME.ending, or of such a folder of shards; or of a protocol in such folders."""
    place, shard = re.escape("/".join((folder, *names))), f"(/{_SHARD.pattern})?"
    pattern = re.compile(rf"{place}{shard}{f'/{re.escape(protocol)}' if protocol else ''}\.{ending}")
    return [path for path in files if pattern.fullmatch(path)]


def _records(
    side: Side,
    stage: str,
    names: Sequence[str],
    keys: Collection[str],
    key: Callable[[Row], str],
    protocol: str = "",
) -> Iterator[tuple[str, Row]]:
    """The records of these keys in the files of a stage; reads no further than it must."""
    wanted, stage = set(keys), side.at(stage)
    for path in condition_files(side.files(stage), stage, names, "jsonl", protocol):
        for row in json_rows(side.lines(path)):
            if (named := key(row)) in wanted:
                wanted.discard(named)
                yield named, row
            if not wanted:
                return


def _edct_key(row: Row) -> str:
    return f"{row['id']} edit {row.get('edit', 1)}"


def _edct_outcomes(row: Row) -> Outcomes:
    ended = row.get("status", "ok")
    return {"": ended} if ended != "ok" else {name: row[name] for name in _EDCT if name in row}


def _edct_story(side: Side, condition: tuple[str, ...], keys: Collection[str]) -> dict[str, Story]:
    ids = {key.rpartition(" edit ")[0] for key in keys}
    first = dict(_records(side, "edct/baselines", condition[:2], ids, lambda row: str(row["id"])))
    after = dict(_records(side, "edct/requeries", condition[:4], keys, _edct_key, condition[-1]))
    stories: dict[str, Story] = {}
    for key in keys:
        base, new = first.get(key.rpartition(" edit ")[0], {}), after.get(key, {})
        stories[key] = {
            "question": base.get("question", ""),
            "answer": base.get("answer", ""),
            "after the edit": new.get("answer", "") or new.get("status", ""),
        }
    return stories


def _cvqa_key(row: Row) -> str:
    return " ".join(filter(None, (row["id"], row["side"], row.get("option_order", ""))))


def _cvqa_outcomes(row: Row) -> Outcomes:
    ended = row.get("status", "ok")
    return {"": ended} if ended != "ok" else {reader: _CORRECT[str(bit)] for reader, bit in row["correct"].items()}


def _cvqa_story(side: Side, condition: tuple[str, ...], keys: Collection[str]) -> dict[str, Story]:
    answers = _records(side, "cvqa/answers", condition, keys, _cvqa_key)
    return {key: {"question": row["asked"], "answer": row.get("text", "") or row["status"]} for key, row in answers}


def _vce_outcomes(row: Row) -> Outcomes:
    ended = row.get("status", "ok")
    if ended != "ok":
        return {"": ended}
    oracles: Mapping[str, str] = row.get("oracles", {})
    outcomes = {"valid": row.get("predicted") == row["target"]}
    if oracles:
        outcomes["oracles' majority"] = 2 * sum(seen == row["target"] for seen in oracles.values()) > len(oracles)
    return {name: "yes" if right else "no" for name, right in outcomes.items()}


def _vce_story(side: Side, condition: tuple[str, ...], keys: Collection[str]) -> dict[str, Story]:
    scores = _records(side, "vce/scores", condition, keys, lambda row: str(row["id"]))
    return {key: {"target": row["target"], "seen": row.get("predicted") or row["status"]} for key, row in scores}


# By evaluation.
KINDS = {
    "edct": Kind("csv", 6, True, csv_rows, _edct_key, _edct_outcomes, _edct_story),
    "vce": Kind("jsonl", 4, False, json_rows, lambda row: str(row["id"]), _vce_outcomes, _vce_story),
    "cvqa": Kind("jsonl", 2, False, json_rows, _cvqa_key, _cvqa_outcomes, _cvqa_story),
}


class Meaning(NamedTuple):
    """What happened, and what to do; empty: nothing need be done."""

    happened: str
    remedy: str


MEANINGS: Mapping[Status, Meaning] = {
    Status.OK: Meaning("the item has its result", ""),
    Status.REFUSED: Meaning("the model declined to answer", "nothing: it is the model's answer to this item"),
    Status.MODERATED: Meaning(
        "the provider's filter stopped the question, the answer or the image", "nothing, or use another provider"
    ),
    Status.TRUNCATED: Meaning(
        "the reply was cut off at a token limit, or its thoughts do not end",
        "raise `max_tokens`, or `thinking_tokens` of a model that thinks",
    ),
    Status.UNPARSABLE: Meaning(
        "the reply does not have the form that was asked for or contradicts itself, even after one repair turn; or it "
        "ended for an unknown reason",
        "read `raw` in the record; use another model or your own prompt; name a finish reason that you accept in "
        "`accept_finish_reasons`",
    ),
    Status.ECHO: Meaning(
        "the writer gave back the form, an example, the answer, the explanation or the concept in place of an "
        "instruction, even after one repair turn",
        "read `completion` in the record; use a stronger writer or your own prompt",
    ),
    Status.EDIT_INVALID: Meaning(
        "the editor changed nothing, cannot make this edit, or its gate rejected it",
        "read the instruction; try another editor",
    ),
    Status.CITATION_ABSENT: Meaning(
        "what the explanation cites, and was to be edited, is not in the image",
        "nothing: it is a finding about the target model",
    ),
    Status.NO_IMAGE: Meaning("no image came back, or a broken one", "if this happens often, use another editor"),
    Status.WRONG_MODEL: Meaning(
        "another model answered than the one that was asked", "if you meant that model, name it in `accept_models`"
    ),
    Status.REJECTED: Meaning(
        "the provider did not accept the request, such as HTTP 400, 404, 413, 422",
        "the reason names the cause; for large images, set `max_pixels`. If the server was at fault, run the step "
        "again",
    ),
    Status.TRANSPORT_ERROR: Meaning(
        "network or server failed, even after all attempts",
        "run the step again, see below: only these items are tried again",
    ),
}


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
