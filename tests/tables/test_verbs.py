"""The verbs that make tables."""

import json
from pathlib import Path

import pytest

from cfeval.io.records import write_csv
from cfeval.records.edct import Score
from tests.conftest import Run
from tests.tables.study import GROUNDED, arm, scores

PRIOR = arm(vlm="prior")
ARMS = json.dumps([GROUNDED.model_dump(), PRIOR.model_dump()])
FAST = '{"resamples": 100}'


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """The same scores in one file and in three."""
    rows = [*scores(GROUNDED, 9, 1), *scores(PRIOR, 0, 10)]
    write_csv(tmp_path / "all.csv", Score, rows)
    for number in range(3):
        write_csv(tmp_path / f"{number}.csv", Score, rows[number::3])
    return [tmp_path / f"{name}.csv" for name in ("all", 2, 0, 1)]


@pytest.mark.parametrize("verb", ["table1", "table2"])
def test_a_table_is_the_same_whatever_the_sharding(cfeval: Run, shards: list[Path], tmp_path: Path, verb: str) -> None:
    for name, files in (("one", shards[:1]), ("three", shards[1:])):
        assert cfeval("edct", verb, "--arms", ARMS, "--interval", FAST, "--out", tmp_path / name, *files)[0] == 0
    for ending in ("csv", "md", "tex"):
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"three.{ending}").read_bytes()


def test_calibration_and_metrics_follow_from_the_files(cfeval: Run, shards: list[Path], tmp_path: Path) -> None:
    known = '{"grounded": 0, "prior": 1}'
    for verb in (["table1"], ["table2"], ["calibration", "--known", known]):
        out = ["--out", tmp_path / verb[0], "--interval", FAST]
        assert cfeval("edct", *verb, "--arms", ARMS, *out, shards[0])[0] == 0
    inputs = [part for verb in ("table1", "table2", "calibration") for part in (f"--{verb}", tmp_path / f"{verb}.csv")]
    assert cfeval("edct", "metrics", *inputs, "--out", tmp_path / "metrics.json")[0] == 0
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert sorted(found) == ["calibration", "table1", "table2"]


def test_tables_that_params_yaml_names_no_arm_for_are_empty_and_everything_after_them_is_made(
    cfeval: Run, shards: list[Path], tmp_path: Path
) -> None:
    assert cfeval("edct", "table1", "--arms", ARMS, "--interval", FAST, "--out", tmp_path / "table1", shards[0])[0] == 0
    for verb in (["table2"], ["calibration", "--known", "{}"]):
        assert cfeval("edct", *verb, "--arms", "[]", "--out", tmp_path / verb[0]) == (0, "", "")
        assert (tmp_path / f"{verb[0]}.csv").read_text().count("\n") == 1
        assert all("Empty: " in (tmp_path / f"{verb[0]}.{ending}").read_text() for ending in ("md", "tex"))
    inputs = [part for name in ("table1", "table2", "calibration") for part in (f"--{name}", tmp_path / f"{name}.csv")]
    assert cfeval("edct", "metrics", *inputs, "--out", tmp_path / "metrics.json")[0] == 0
    assert json.loads((tmp_path / "metrics.json").read_text())["table2"] == {}
    plots = [("forest", "table2", "Empty: params.yaml"), ("calibration-plot", "calibration", "Empty: no target")]
    for verb, table, said in plots:
        assert cfeval("edct", verb, "--table", tmp_path / f"{table}.csv", "--out", tmp_path / verb)[0] == 0
        assert said in (tmp_path / f"{verb}.svg").read_text()
        assert (tmp_path / f"{verb}.png").stat().st_size


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--arms", "[{]"], "--arms: Invalid JSON"),
        (["--arms", "[]"], "--arms: the list is empty"),
        (["--arms", '[{"vlm": "x"}]'], "--arms: 0.dataset: Field required"),
        (["--arms", ARMS, "--interval", '{"method": "magic"}'], "--interval: method: Input should be 'bootstrap'"),
        (["--arms", ARMS, "--reference", "nowhere.csv"], "nowhere.csv: no such file"),
    ],
)
def test_a_bad_option_is_one_line_and_nothing_is_written(
    cfeval: Run, shards: list[Path], tmp_path: Path, options: list[str], said: str
) -> None:
    status, _, err = cfeval("edct", "table1", *options, "--out", tmp_path / "t", shards[0])
    assert (status, err.count("\n")) == (2, 1)
    assert said in err
    assert not list(tmp_path.glob("t.*"))


def test_a_broken_score_file_names_file_and_line(cfeval: Run, shards: list[Path], tmp_path: Path) -> None:
    lines = shards[0].read_text().splitlines()
    lines[3] = lines[3].replace("ok", "okay")
    shards[0].write_text("\n".join(lines))
    status, _, err = cfeval("edct", "table1", "--arms", ARMS, "--out", tmp_path / "t", shards[0])
    assert status == 2
    assert "all.csv, line 4: status:" in err
