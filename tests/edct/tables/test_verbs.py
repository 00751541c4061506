"""The verbs that make tables, figures and metrics."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cfeval.edct.files import stage_files
from cfeval.edct.records import Condition
from cfeval.edct.tables import OF_CONDITIONS
from tests.conftest import Run
from tests.edct.tables.study import GROUNDED, condition, scores, write_scores
from tests.edct.tables.whole import CONDITIONS, CONDITIONS_OF, KNOWN, OF_SCORES, SCORES
from tests.listed import OF_EDITS as DRAWN
from tests.slow import first_fast

PRIOR = condition(vlm="prior")


def as_json(conditions: Iterable[Condition]) -> str:
    """Conditions as the command line takes them."""
    return json.dumps([one.model_dump() for one in conditions])


CONDITIONS_JSON = as_json([GROUNDED, PRIOR])
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
def results(tmp_path: Path) -> Path:
    """The folder of a study of two conditions."""
    write_scores(tmp_path / "edct", [*scores(GROUNDED, 9, 1), *scores(PRIOR, 0, 10)])
    return tmp_path / "edct"


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the study in one piece, and one with it in seven and its rows in another order."""
    folder: Path = tmp_path_factory.mktemp("study")
    write_scores(folder / "1", SCORES)
    write_scores(folder / "7", reversed(SCORES), shards=7)
    return folder


@pytest.mark.parametrize("name", first_fast(OF_SCORES))
def test_a_table_is_the_same_whatever_the_sharding(cfeval: Run, sharded: Path, tmp_path: Path, name: str) -> None:
    shown = as_json(CONDITIONS_OF[name])
    beside = as_json([one for one in CONDITIONS if one.protocol == "uncited-edit" and one not in CONDITIONS_OF[name]])
    for shards in (1, 7):
        given = [*FAST, *KNOWN_TOO, "--conditions", shown, "--beside", beside, "--out", tmp_path / f"in-{shards}"]
        assert (
            cfeval("stage", "edct", "table", name, "--results", sharded / f"{shards}", "--shards", shards, *given)[0]
            == 0
        )
    for ending in ("csv", "md", "tex"):
        assert (tmp_path / f"in-1.{ending}").read_bytes() == (tmp_path / f"in-7.{ending}").read_bytes()


def test_of_a_folder_no_more_is_read_than_the_conditions_asked_for(cfeval: Run, results: Path, tmp_path: Path) -> None:
    given = ["--results", results, "--conditions", as_json([GROUNDED]), *FAST, "--out", tmp_path / "t"]
    assert cfeval("stage", "edct", "table", "table1", *given) == (0, "", "")
    before = (tmp_path / "t.csv").read_bytes()
    [left] = stage_files(results, "scores", PRIOR, 1)
    left.write_text("what a former study left behind")
    write_scores(results, scores(GROUNDED, 0, 3), shards=2)
    assert cfeval("stage", "edct", "table", "table1", *given) == (0, "", "")
    assert (tmp_path / "t.csv").read_bytes() == before


def test_the_completeness_of_a_calibration_rests_on_conditions_that_stand_beside(cfeval: Run, tmp_path: Path) -> None:
    uncited = condition(protocol="uncited-edit")
    write_scores(tmp_path, [*scores(GROUNDED, 9, 1), *scores(uncited, 0, 10)])
    given = ["--results", tmp_path, "--conditions", as_json([GROUNDED]), "--known", '{"grounded": 0}', *FAST]
    for beside, found in (([], ""), ([uncited], "1.0000")):
        out = tmp_path / "t"
        assert (
            cfeval("stage", "edct", "table", "calibration", *given, "--beside", as_json(beside), "--out", out)[0] == 0
        )
        [row] = csv.DictReader((tmp_path / "t.csv").read_text().splitlines())
        assert row["completeness"] == found


def test_a_score_in_the_files_of_another_condition_is_one_line(cfeval: Run, results: Path, tmp_path: Path) -> None:
    [mine], [theirs] = (stage_files(results, "scores", one, 1) for one in (GROUNDED, PRIOR))
    mine.write_bytes(theirs.read_bytes())
    status, _, err = cfeval(
        "stage",
        "edct",
        "table",
        "table1",
        "--results",
        results,
        "--conditions",
        CONDITIONS_JSON,
        "--out",
        tmp_path / "t",
    )
    assert (status, err.count("\n")) == (2, 1)
    assert "a score of world/prior/grammar/edct-2025/scene/grammar stands in the files of world/grounded/" in err


def test_metrics_follow_from_tables_under_their_own_names(cfeval: Run, results: Path, tmp_path: Path) -> None:
    made = [tmp_path / f"edct_{name}.csv" for name in ("table1", "calibration")]
    for path in made:
        out = ["--out", path.with_suffix(""), "--known", '{"grounded": 0, "prior": 1}', *FAST]
        assert (
            cfeval(
                "stage",
                "edct",
                "table",
                path.stem.removeprefix("edct_"),
                "--results",
                results,
                "--conditions",
                CONDITIONS_JSON,
                *out,
            )[0]
            == 0
        )
    assert cfeval("stage", "edct", "metrics", *made, "--out", tmp_path / "metrics.json") == (0, "", "")
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert found["table1"]["grounded"]["ccs"] == 0.9
    assert sorted(found) == ["calibration", "table1"]


def test_a_file_that_is_named_like_no_table_is_one_line(cfeval: Run, results: Path, tmp_path: Path) -> None:
    status, _, err = cfeval("stage", "edct", "metrics", "all.csv", "--out", tmp_path / "metrics.json")
    assert (status, err.count("\n")) == (2, 1)
    assert "all.csv: not the name of a table; allowed: edct_table1.csv, " in err


@pytest.mark.slow
def test_tables_that_params_yaml_names_no_condition_for_are_empty_and_everything_after_them_is_made(
    cfeval: Run, tmp_path: Path
) -> None:
    made = [tmp_path / f"edct_{name}.csv" for name in OF_CONDITIONS]
    for name in OF_CONDITIONS:
        assert cfeval("stage", "edct", "table", name, "--conditions", "[]", "--out", tmp_path / f"edct_{name}") == (
            0,
            "",
            "",
        )
        assert (tmp_path / f"edct_{name}.csv").read_text().count("\n") == 1
        assert all("Empty: " in (tmp_path / f"edct_{name}.{ending}").read_text() for ending in ("md", "tex"))
    assert cfeval("stage", "edct", "metrics", *made, "--out", tmp_path / "metrics.json")[0] == 0
    none = {name: {} for name in ("table1", "table2", "bench", "faithfulness")}
    assert json.loads((tmp_path / "metrics.json").read_text()) == none | {"calibration": {"settings": 0}}
    for figure, (_, name) in DRAWN.items():
        given = ["--table", tmp_path / f"edct_{name}.csv", "--out", tmp_path / figure]
        assert cfeval("stage", "edct", "figure", figure, *given) == (0, "", "")
        assert "Empty: params.yaml names no condition" in (tmp_path / f"{figure}.svg").read_text()
        assert (tmp_path / f"{figure}.png").stat().st_size


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        (["table", "tabel1"], "unknown table 'tabel1'"),
        (["figure", "tree", "--table", "t.csv"], "unknown figure 'tree'"),
        (["table", "bench"], "the table bench is of edct-bench-2026; the condition world/grounded/grammar/edct-2025/"),
        (["table", "controls"], "no scores of the condition world/grounded/grammar/null-edit/"),
        (["table", "table1", "--shards", "2"], "grammar/000.csv: no such file"),
    ],
)
def test_what_cannot_be_made_is_one_line(
    cfeval: Run, results: Path, tmp_path: Path, verb: list[str], said: str
) -> None:
    rest: list[Any] = ["--results", results, "--conditions", CONDITIONS_JSON] if verb[0] == "table" else []
    status, _, err = cfeval("stage", "edct", *verb, *rest, "--out", tmp_path / "t")
    assert (status, err.count("\n")) == (2, 1)
    assert said in err
    assert not list(tmp_path.glob("t.*"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--conditions", "[{]"], "--conditions: Invalid JSON"),
        (["--conditions", '[{"vlm": "x"}]'], "--conditions: 0.dataset: Field required"),
        (
            ["--conditions", CONDITIONS_JSON, "--interval", '{"method": "magic"}'],
            "--interval: method: Input should be 'bootstrap'",
        ),
        (["--conditions", CONDITIONS_JSON, "--reference", "nowhere.csv"], "nowhere.csv: no such file"),
        (
            ["--conditions", CONDITIONS_JSON, "--known", '{"prior": "much"}'],
            "--known: prior: Input should be a valid number",
        ),
    ],
)
def test_a_bad_option_is_one_line_and_nothing_is_written(
    cfeval: Run, results: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    status, _, err = cfeval("stage", "edct", "table", "table1", *options, "--results", results, "--out", tmp_path / "t")
    assert (status, err.count("\n")) == (2, 1)
    assert said in err
    assert not list(tmp_path.glob("t.*"))


def test_a_broken_score_file_names_file_and_line(cfeval: Run, results: Path, tmp_path: Path) -> None:
    [file] = stage_files(results, "scores", PRIOR, 1)
    lines = file.read_text().splitlines()
    lines[3] = lines[3].replace("ok", "okay")
    file.write_text("\n".join(lines))
    given = ["--results", results, "--conditions", CONDITIONS_JSON, "--out", tmp_path / "t"]
    status, _, err = cfeval("stage", "edct", "table", "table1", *given)
    assert status == 2
    assert "prior/grammar/edct-2025/scene/grammar.csv, line 4: status:" in err
