"""The steps that make tables, figures and metrics of a whole study."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.errors import InputError
from cfeval.edct.asked import AskedTable
from cfeval.edct.cli import run_figures
from cfeval.edct.files import stage_files
from cfeval.edct.records import Condition
from tests.conftest import Run
from tests.edct.tables.study import GROUNDED, condition, scores, write_scores, write_tables
from tests.edct.tables.whole import CONDITIONS, CONDITIONS_OF, KNOWN, OF_SCORES, SCORES
from tests.listed import OF_CONDITIONS
from tests.listed import OF_EDITS as DRAWN
from tests.slow import first_fast

PRIOR = condition(vlm="prior")
BOTH = AskedTable(conditions=(GROUNDED, PRIOR))


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
def test_a_table_is_the_same_whatever_the_sharding(sharded: Path, tmp_path: Path, name: str) -> None:
    uncited = [one for one in CONDITIONS if one.protocol == "uncited-edit" and one not in CONDITIONS_OF[name]]
    known = {"known": KNOWN, "judge_error": ("grounded", "shortcut"), "repeats": {"again": "mixed"}}
    asked = {name: AskedTable(conditions=tuple(CONDITIONS_OF[name]), beside=tuple(uncited), **known)}
    for shards in (1, 7):
        write_tables(tmp_path / f"in-{shards}", sharded / f"{shards}", asked, shards=shards)
    for ending in ("csv", "md", "tex"):
        one, seven = (tmp_path / f"in-{shards}" / f"edct_{name}.{ending}" for shards in (1, 7))
        assert one.read_bytes() == seven.read_bytes()


def test_of_a_folder_no_more_is_read_than_the_conditions_asked_for(results: Path, tmp_path: Path) -> None:
    asked, made = {"table1": AskedTable(conditions=(GROUNDED,))}, tmp_path / "t" / "edct_table1.csv"
    write_tables(made.parent, results, asked)
    before = made.read_bytes()
    [left] = stage_files(results, "scores", PRIOR, 1)
    left.write_text("what a former study left behind")
    write_scores(results, scores(GROUNDED, 0, 3), shards=2)
    write_tables(made.parent, results, asked)
    assert made.read_bytes() == before


def test_the_completeness_of_a_calibration_rests_on_conditions_that_stand_beside(tmp_path: Path) -> None:
    uncited = condition(protocol="uncited-edit")
    write_scores(tmp_path, [*scores(GROUNDED, 9, 1), *scores(uncited, 0, 10)])
    for beside, found in ((), ""), ((uncited,), "1.0000"):
        asked = AskedTable(conditions=(GROUNDED,), beside=beside, known={"grounded": 0})
        write_tables(tmp_path / "t", tmp_path, {"calibration": asked})
        [row] = csv.DictReader((tmp_path / "t" / "edct_calibration.csv").read_text().splitlines())
        assert row["completeness"] == found


def test_a_score_in_the_files_of_another_condition_is_one_line(results: Path, tmp_path: Path) -> None:
    [mine], [theirs] = (stage_files(results, "scores", one, 1) for one in (GROUNDED, PRIOR))
    mine.write_bytes(theirs.read_bytes())
    with pytest.raises(InputError, match="a score of world/prior/grammar/edct-2025/scene/grammar stands in the files"):
        write_tables(tmp_path / "t", results, {"table1": BOTH})


def test_metrics_follow_from_tables_under_their_own_names(results: Path, tmp_path: Path) -> None:
    known = BOTH.model_copy(update={"known": {"grounded": 0, "prior": 1}})
    asked = {"table1": BOTH, "calibration": known, "agreement": BOTH}
    write_tables(tmp_path, results, asked, metrics=("table1", "calibration"))
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert found["table1"]["grounded"]["ccs"] == 0.9
    assert sorted(found) == ["calibration", "table1"]


@pytest.mark.slow
def test_tables_without_a_condition_are_empty_and_everything_after_them_is_made(tmp_path: Path) -> None:
    headlines = ("table1", "table2", "bench", "faithfulness", "calibration")
    write_tables(tmp_path, tmp_path, {name: AskedTable() for name in OF_CONDITIONS}, metrics=headlines)
    for name in OF_CONDITIONS:
        assert (tmp_path / f"edct_{name}.csv").read_text().count("\n") == 1
        assert all("Empty: " in (tmp_path / f"edct_{name}.{ending}").read_text() for ending in ("md", "tex"))
    none = {name: {} for name in ("table1", "table2", "bench", "faithfulness")}
    assert json.loads((tmp_path / "metrics.json").read_text()) == none | {"calibration": {"settings": 0}}
    run_figures(tmp_path, list(DRAWN), tmp_path / "figures")
    for figure in DRAWN:
        shown = tmp_path / "figures" / f"edct_{figure}.svg"
        assert "Empty: params.yaml names no condition" in shown.read_text()
        assert shown.with_suffix(".png").stat().st_size


def test_an_unknown_figure_is_one_line(cfeval: Run, tmp_path: Path) -> None:
    status, _, err = cfeval("edct", "figures", "--tables", tmp_path, "--figure", "tree", "--out", tmp_path / "t")
    assert (status, err.count("\n")) == (2, 1)
    assert "unknown figure 'tree'" in err
    assert not (tmp_path / "t").exists()


def of(table: str, conditions: Iterable[Condition] = (GROUNDED, PRIOR), **more: Any) -> dict[str, Any]:
    """What a study file asks for: one table, and settings of all."""
    return {"tables": {table: {"conditions": [one.model_dump() for one in conditions]}}, **more}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (of("bench"), "the table bench is of edct-bench-2026; the condition world/grounded/grammar/edct-2025/"),
        (of("controls"), "no scores of the condition world/grounded/grammar/null-edit/"),
        (of("table1", shards=2), "scene/grammar/000/edct-2025.csv: no such file"),
        ("[{]", "study.json: : Invalid JSON"),
        (of("table1") | {"tables": {"table1": {"conditions": [{"vlm": "x"}]}}}, "conditions.0.dataset: Field required"),
        (of("table1", interval={"method": "magic"}), "study.json: interval.method: Input should be 'bootstrap'"),
        ({"tables": {"faithfulness": {"exams": {"grammar": "nowhere.csv"}}}}, "nowhere.csv: no such file"),
        ({"tables": {"table1": {"known": {"prior": "much"}}}}, "known.prior: Input should be a valid number"),
        (of("table1", tabels={}), "study.json: tabels: Extra inputs are not permitted"),
        ({"tables": {"tabel1": {}}}, "study.json: unknown table 'tabel1'; did you mean 'table1'?"),
    ],
)
def test_what_cannot_be_made_is_one_line(cfeval: Run, results: Path, tmp_path: Path, asked: Any, said: str) -> None:
    study = tmp_path / "study.json"
    study.write_text(asked if isinstance(asked, str) else json.dumps(asked))
    status, _, err = cfeval("edct", "tables", "--study", study, "--results", results, "--out", tmp_path / "t")
    assert (status, err.count("\n")) == (2, 1)
    assert said in err
    assert not (tmp_path / "t.made.json").exists()


def test_a_broken_score_file_names_file_and_line(results: Path, tmp_path: Path) -> None:
    [file] = stage_files(results, "scores", PRIOR, 1)
    lines = file.read_text().splitlines()
    lines[3] = lines[3].replace("ok", "okay")
    file.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"prior/grammar/scene/grammar/edct-2025\.csv, line 4: status:"):
        write_tables(tmp_path / "t", results, {"table1": BOTH})
