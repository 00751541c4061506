"""Why results differ: parameters by name, and of each rule what its files were made from."""

from pathlib import Path

import pytest

from cfeval.comparison.causes import Change, Made, changes, made
from cfeval.comparison.sides import WorkingFolder
from tests.comparison.studies import entry, seal

JUDGE = "results/edct/verdicts/d/m/w/edct-2025/e/j.jsonl"


def causes(tmp_path: Path, old: dict[str, object], new: dict[str, object]) -> list[Made]:
    for side, entries in (("old", old), ("new", new)):
        seal(tmp_path / side, "verdicts", entries)
    return made(WorkingFolder(tmp_path / "old"), WorkingFolder(tmp_path / "new"), "edct", pytest.fail)


def test_changed_values_are_named_by_their_place() -> None:
    old = {"shards": 1, "edct": {"judges": {"j": {"threshold": 0.5}}, "tables": [{"vlm": ["a"]}]}}
    new = {
        "shards": 1,
        "edct": {"judges": {"j": {"threshold": 0.8}}, "tables": [{"vlm": ["a", "b"]}], "x": 1},
    }
    assert changes(old, new) == [
        Change("edct.judges.j.threshold", 0.5, 0.8),
        Change("edct.tables[0].vlm", ["a"], ["a", "b"]),
        Change("edct.x", None, 1),
    ]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            entry("run_judge", "1", ['{"t": 0.5}', 7]),
            entry("run_judge", "2", ['{"t": 0.8}', 7]),
            "t 0.5 → 0.8",
        ),
        (entry("run_judge", "1", ["code:a"]), entry("run_judge", "2", ["code:b"]), "code"),
        (entry("run_judge", "1", ["a"]), entry("run_judge", "1", ["b"]), "parameters"),
        (
            entry("run_judge", "1", [], data__models__vlm="a"),
            entry("run_judge", "1", [], data__models__vlm="b"),
            "data/models/vlm changed",
        ),
        (
            entry("run_judge", "1", []),
            entry("run_judge", "2", []),
            "came out differently from the same inputs, parameters and code",
        ),
    ],
    ids=["a parameter", "code", "parameters that are no object", "a model", "another answer"],
)
def test_a_rule_tells_why_its_file_was_made_otherwise(
    tmp_path: Path, old: dict[str, object], new: dict[str, object], why: str
) -> None:
    assert causes(tmp_path, {JUDGE: old}, {JUDGE: new}) == [Made("judge", 1, {why: 1})]


def test_what_merely_follows_from_another_result_is_no_cause(tmp_path: Path) -> None:
    old, new = (entry("run_judge", hash_, [], results__edct__requery=hash_) for hash_ in "ab")
    assert causes(tmp_path, {JUDGE: old}, {JUDGE: new}) == []


def test_files_of_one_side_alone_are_new_or_gone(tmp_path: Path) -> None:
    one = entry("run_judge", "1", [])
    assert causes(tmp_path, {"a": one, "b": one}, {"b": one, "c": one}) == [Made("judge", 3, {"new": 1, "gone": 1})]
