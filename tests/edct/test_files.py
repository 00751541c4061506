"""Where a condition's files lie, and which conditions some results hold."""

from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.edct.files import conditions_in, stage_files
from cfeval.edct.records import Condition

CONDITION = Condition(dataset="d", vlm="gpt-5.2", writer="w.v1", protocol="edct-2025", editor="e.x", judge="000")


@pytest.mark.parametrize(
    ("stage", "shards", "files"),
    [
        ("items", 1, ["items/d.jsonl"]),
        ("baselines", 2, ["baselines/d/gpt-5.2/000.jsonl", "baselines/d/gpt-5.2/001.jsonl"]),
        ("instructions", 1, ["instructions/d/gpt-5.2/w.v1/edct-2025.jsonl"]),
        ("requeries", 1, ["requeries/d/gpt-5.2/w.v1/e.x/edct-2025.jsonl"]),
        ("verdicts", 1, ["verdicts/d/gpt-5.2/w.v1/e.x/000/edct-2025.jsonl"]),
        ("scores", 2, [f"scores/d/gpt-5.2/w.v1/e.x/000/{shard}/edct-2025.csv" for shard in ("000", "001")]),
    ],
)
def test_the_protocol_is_the_name_of_the_file(tmp_path: Path, stage: str, shards: int, files: list[str]) -> None:
    assert stage_files(tmp_path, stage, CONDITION, shards) == [tmp_path / file for file in files]


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


@pytest.mark.parametrize("shards", [1, 3])
def test_the_conditions_of_some_results_are_found_by_their_files(tmp_path: Path, shards: int) -> None:
    other = CONDITION.model_copy(update={"judge": "j"})
    for condition in (other, CONDITION):
        for stage in ("verdicts", "scores"):
            for file in stage_files(tmp_path, stage, condition, shards):
                touch(file)
    assert list(conditions_in(tmp_path).items()) == [(CONDITION, shards), (other, shards)]


def test_a_condition_that_lost_its_scores_is_still_one(tmp_path: Path) -> None:
    for file in stage_files(tmp_path, "verdicts", CONDITION, 2):
        touch(file)
    touch(stage_files(tmp_path, "scores", CONDITION, 2)[0])
    assert conditions_in(tmp_path) == {CONDITION: 2}


def test_whole_files_beside_shards_and_no_files_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no verdicts and no scores"):
        conditions_in(tmp_path)
    for shards in (1, 2):
        touch(stage_files(tmp_path, "scores", CONDITION, shards)[0])
    with pytest.raises(InputError, match=r"d/gpt-5\.2/w\.v1/edct-2025/e\.x/000: both whole files and shards"):
        conditions_in(tmp_path)
