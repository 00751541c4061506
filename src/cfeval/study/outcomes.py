"""What an item's outcome is in each study, and what to show of an item whose outcome is another now."""

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.core.record import SHARD
from cfeval.edct.files import FOLDERS, NAMES
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
