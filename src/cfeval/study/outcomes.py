"""What an item's outcome is in each study, and what to show of an item whose outcome is another now."""

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.core.record import SHARD
from cfeval.edct.files import FOLDERS, NAMES
from cfeval.study.revisions import Parse, Side

Row = dict[str, Any]
Outcomes = dict[str, str]
"""What came of an item, by metric."""
Story = dict[str, str]
"""What was asked and answered, by what it is called."""

_EDCT = ("pcs", "ncc", "ac", "ef", "ccs", "answer_moved", "explanation_moved")
_SAID = {"1": "correct", "0": "wrong", "None": "unread"}
_SHARD = re.compile(SHARD)


@dataclass(frozen=True)
class Kind:
    """The score files of a study.

    `names`: how many names a condition has. `by_protocol`: its last name, the protocol, is that of the file in the
    folder of the others. `key`: what names an item within a condition's files. `outcomes`: what came of it.
    `transcript`: for some keys of a condition, what a side's other files tell.
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
        known = dict(zip((*FOLDERS, "protocol"), condition, strict=False))
        return tuple(known[name] for name in NAMES) if self.by_protocol else condition


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
    one = re.compile(rf"{place}{shard}{f'/{re.escape(protocol)}' if protocol else ''}\.{ending}")
    return [path for path in files if one.fullmatch(path)]


def _found(
    side: Side,
    stage: str,
    names: Sequence[str],
    keys: Collection[str],
    key: Callable[[Row], str],
    protocol: str = "",
) -> Any:
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
    first = dict(_found(side, "edct/baselines", condition[:2], ids, lambda row: str(row["id"])))
    after = dict(_found(side, "edct/requeries", condition[:4], keys, _edct_key, condition[-1]))
    told: dict[str, Story] = {}
    for key in keys:
        base, new = first.get(key.rpartition(" edit ")[0], {}), after.get(key, {})
        told[key] = {"question": base.get("question", ""), "answer": base.get("answer", "")}
        told[key] |= {"after the edit": new.get("answer", "") or new.get("status", "")}
    return told


def _cvqa_key(row: Row) -> str:
    return " ".join(filter(None, (row["id"], row["side"], row.get("option_order", ""))))


def _cvqa_outcomes(row: Row) -> Outcomes:
    ended = row.get("status", "ok")
    return {"": ended} if ended != "ok" else {reader: _SAID[str(of)] for reader, of in row["correct"].items()}


def _cvqa_story(side: Side, condition: tuple[str, ...], keys: Collection[str]) -> dict[str, Story]:
    said = _found(side, "cvqa/answers", condition, keys, _cvqa_key)
    return {key: {"question": row["asked"], "answer": row.get("text", "") or row["status"]} for key, row in said}


def _vce_outcomes(row: Row) -> Outcomes:
    ended = row.get("status", "ok")
    if ended != "ok":
        return {"": ended}
    oracles: Mapping[str, str] = row.get("oracles", {})
    seen = 2 * sum(said == row["target"] for said in oracles.values()) > len(oracles)
    named = {"valid": row.get("predicted") == row["target"]} | ({"oracles' majority": seen} if oracles else {})
    return {name: "yes" if right else "no" for name, right in named.items()}


def _vce_story(side: Side, condition: tuple[str, ...], keys: Collection[str]) -> dict[str, Story]:
    scores = _found(side, "vce/scores", condition, keys, lambda row: str(row["id"]))
    return {key: {"target": row["target"], "seen": row.get("predicted") or row["status"]} for key, row in scores}


KINDS = {
    "edct": Kind("csv", 6, True, csv_rows, _edct_key, _edct_outcomes, _edct_story),
    "vce": Kind("jsonl", 4, False, json_rows, lambda row: str(row["id"]), _vce_outcomes, _vce_story),
    "cvqa": Kind("jsonl", 2, False, json_rows, _cvqa_key, _cvqa_outcomes, _cvqa_story),
}
"""By study."""
