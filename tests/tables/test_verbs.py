"""The verbs that make tables, figures and metrics."""

import json
from pathlib import Path
from typing import Any

import pytest

from cfeval.io.records import write_csv
from cfeval.records.edct import Score
from cfeval.report.figures import TABLE_OF
from cfeval.tables import NAMES
from tests.conftest import Run
from tests.tables.study import GROUNDED, arm, scores
from tests.tables.whole import ARMS_OF, KNOWN, SCORES

PRIOR = arm(vlm="prior")
ARMS = json.dumps([GROUNDED.model_dump(), PRIOR.model_dump()])
FAST = ["--interval", '{"resamples": 100}']
KNOWN_TOO = [
    "--known",
    json.dumps(KNOWN),
    "--judge-error",
    '["grounded", "shortcut"]',
    "--repeats",
    '{"again": "mixed"}',
]


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """The same scores in one file and in three."""
    rows = [*scores(GROUNDED, 9, 1), *scores(PRIOR, 0, 10)]
    write_csv(tmp_path / "all.csv", Score, rows)
    for number in range(3):
        write_csv(tmp_path / f"{number}.csv", Score, rows[number::3])
    return [tmp_path / f"{name}.csv" for name in ("all", 2, 0, 1)]


@pytest.mark.parametrize("name", NAMES["edct"])
def test_a_table_is_the_same_whatever_the_sharding(cfeval: Run, tmp_path: Path, name: str) -> None:
    arms = json.dumps([one.model_dump() for one in ARMS_OF[name]])
    write_csv(tmp_path / "all.csv", Score, SCORES)
    for number in range(3):
        write_csv(tmp_path / f"{number}.csv", Score, SCORES[number::3])
    for out, files in (("one", ["all"]), ("three", ["2", "0", "1"])):
        given = [*FAST, *KNOWN_TOO, "--arms", arms, "--out", tmp_path / out, *(tmp_path / f"{f}.csv" for f in files)]
        assert cfeval("edct", "table", name, *given) == (0, "", "")
    for ending in ("csv", "md", "tex"):
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"three.{ending}").read_bytes()


def test_metrics_follow_from_tables_under_their_own_names(cfeval: Run, shards: list[Path], tmp_path: Path) -> None:
    made = [tmp_path / f"edct_{name}.csv" for name in ("table1", "calibration")]
    for path in made:
        out = ["--out", path.with_suffix(""), "--known", '{"grounded": 0, "prior": 1}', *FAST]
        assert cfeval("edct", "table", path.stem.removeprefix("edct_"), "--arms", ARMS, *out, shards[0])[0] == 0
    assert cfeval("edct", "metrics", *made, "--out", tmp_path / "metrics.json") == (0, "", "")
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert found["table1"]["world/grounded/grammar/edct-2025/scene/grammar"]["ccs"] == 0.9
    assert sorted(found) == ["calibration", "table1"]


def test_a_file_that_is_named_like_no_table_is_one_line(cfeval: Run, shards: list[Path], tmp_path: Path) -> None:
    status, _, err = cfeval("edct", "metrics", shards[0], "--out", tmp_path / "metrics.json")
    assert (status, err.count("\n")) == (2, 1)
    assert "all.csv: not the name of a table; allowed: edct_table1.csv, " in err


def test_tables_that_params_yaml_names_no_arm_for_are_empty_and_everything_after_them_is_made(
    cfeval: Run, tmp_path: Path
) -> None:
    made = [tmp_path / f"edct_{name}.csv" for name in NAMES["edct"]]
    for name in NAMES["edct"]:
        assert cfeval("edct", "table", name, "--arms", "[]", "--out", tmp_path / f"edct_{name}") == (0, "", "")
        assert (tmp_path / f"edct_{name}.csv").read_text().count("\n") == 1
        assert all("Empty: " in (tmp_path / f"edct_{name}.{ending}").read_text() for ending in ("md", "tex"))
    assert cfeval("edct", "metrics", *made, "--out", tmp_path / "metrics.json")[0] == 0
    assert json.loads((tmp_path / "metrics.json").read_text()) == {name: {} for name in NAMES["edct"]}
    for figure, name in TABLE_OF["edct"].items():
        given = ["--table", tmp_path / f"edct_{name}.csv", "--out", tmp_path / figure]
        assert cfeval("edct", "figure", figure, *given) == (0, "", "")
        assert "Empty: params.yaml names no arm" in (tmp_path / f"{figure}.svg").read_text()
        assert (tmp_path / f"{figure}.png").stat().st_size


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        (["table", "tabel1"], "unknown table 'tabel1'"),
        (["figure", "tree", "--table", "t.csv"], "unknown figure 'tree'"),
        (["table", "bench"], "the table bench is of edct-bench-2026; the arm world/grounded/grammar/edct-2025/"),
        (["table", "controls"], "no scores of the arm world/grounded/grammar/null-edit/"),
    ],
)
def test_what_cannot_be_made_is_one_line(
    cfeval: Run, shards: list[Path], tmp_path: Path, verb: list[str], said: str
) -> None:
    rest: list[Any] = ["--arms", ARMS, shards[0]] if verb[0] == "table" else []
    status, _, err = cfeval("edct", *verb, *rest, "--out", tmp_path / "t")
    assert (status, err.count("\n")) == (2, 1)
    assert said in err
    assert not list(tmp_path.glob("t.*"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--arms", "[{]"], "--arms: Invalid JSON"),
        (["--arms", '[{"vlm": "x"}]'], "--arms: 0.dataset: Field required"),
        (["--arms", ARMS, "--interval", '{"method": "magic"}'], "--interval: method: Input should be 'bootstrap'"),
        (["--arms", ARMS, "--reference", "nowhere.csv"], "nowhere.csv: no such file"),
        (["--arms", ARMS, "--known", '{"prior": "much"}'], "--known: prior: Input should be a valid number"),
    ],
)
def test_a_bad_option_is_one_line_and_nothing_is_written(
    cfeval: Run, shards: list[Path], tmp_path: Path, options: list[str], said: str
) -> None:
    status, _, err = cfeval("edct", "table", "table1", *options, "--out", tmp_path / "t", shards[0])
    assert (status, err.count("\n")) == (2, 1)
    assert said in err
    assert not list(tmp_path.glob("t.*"))


def test_a_broken_score_file_names_file_and_line(cfeval: Run, shards: list[Path], tmp_path: Path) -> None:
    lines = shards[0].read_text().splitlines()
    lines[3] = lines[3].replace("ok", "okay")
    shards[0].write_text("\n".join(lines))
    status, _, err = cfeval("edct", "table", "table1", "--arms", ARMS, "--out", tmp_path / "t", shards[0])
    assert status == 2
    assert "all.csv, line 4: status:" in err
