"""The vce study's verbs that make tables, figures and metrics."""

import json
from pathlib import Path

import pytest

from cfeval.core.jsonl import read_csv, write_jsonl
from cfeval.core.shards import shard_files, shard_of
from cfeval.vce.tables.hypotheses import HypothesisRow
from cfeval.vce.tables.summary import SummaryRow
from tests.conftest import Run
from tests.listed import FIGURES as DRAWN
from tests.listed import TABLES as LISTED
from tests.slow import first_fast
from tests.vce.tables.groups import (
    REFERENCE,
    ROLES,
    condition,
    condition_file,
    conditions_json,
    of_the_paper,
    write_groups,
)
from tests.vce.tables.test_hypotheses import MINE, fitting_groups, study

PAPERS = ["--roles", ROLES.model_dump_json(), "--reference", REFERENCE / "dbvce.csv"]


@pytest.fixture
def paper(tmp_path: Path) -> list[object]:
    """The authors' groups, as options."""
    conditions = write_groups(tmp_path / "groups", of_the_paper())
    return ["--groups", tmp_path / "groups", "--conditions", conditions_json(conditions), *PAPERS]


def study_options(folder: Path, shards: int) -> list[object]:
    """A study with scores of single counterfactuals that are cut into so many files, as options."""
    conditions = write_groups(folder / "groups", fitting_groups())
    for one, rows in study().items():
        for number, file in enumerate(shard_files(condition_file(folder / "scores", one), shards)):
            write_jsonl(file, [row for row in rows if shard_of(row.source_image, shards) == number])
    given = ["--groups", folder / "groups", "--scores", folder / "scores", "--shards", shards]
    return [*given, "--conditions", conditions_json(conditions), "--roles", MINE.model_dump_json()]


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[object]]:
    """The study in one piece and in seven, as options."""
    folder = tmp_path_factory.mktemp("study")
    return {shards: study_options(folder / f"{shards}", shards) for shards in (1, 7)}


@pytest.mark.parametrize("name", first_fast(LISTED["vce"]))
def test_a_table_is_the_same_whatever_the_sharding(
    cfeval: Run, sharded: dict[int, list[object]], tmp_path: Path, name: str
) -> None:
    for shards, given in sharded.items():
        assert cfeval("stage", "vce", "table", name, *given, "--out", tmp_path / f"in-{shards}") == (0, "", "")
    for ending in ("csv", "md", "tex"):
        assert (tmp_path / f"in-1.{ending}").read_bytes() == (tmp_path / f"in-7.{ending}").read_bytes()


@pytest.mark.slow
def test_metrics_and_figures_follow_from_tables_under_their_own_names(
    cfeval: Run, paper: list[object], tmp_path: Path
) -> None:
    made = [tmp_path / f"vce_{name}.csv" for name in LISTED["vce"]]
    for name, path in zip(LISTED["vce"], made, strict=True):
        cost = ["--cost", '{"base": {"denoiser_calls": 100}}']
        assert cfeval("stage", "vce", "table", name, *paper, *cost, "--out", path.with_suffix(""))[0] == 0
    assert cfeval("stage", "vce", "metrics", *made, "--out", tmp_path / "metrics.json") == (0, "", "")
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert sorted(found) == ["hypotheses", "table3"]
    assert found["table3"]["Madry"]["ta"] == 0.84
    assert found["hypotheses"]["H3: cone projection"] > 0
    for figure, (_, table) in DRAWN["vce"].items():
        given = ["--table", tmp_path / f"vce_{table}.csv", "--out", tmp_path / figure]
        assert cfeval("stage", "vce", "figure", figure, *given) == (0, "", "")
        text = (tmp_path / f"{figure}.svg").read_text()
        assert all(f">{name}<" in text for name in (ROLES.paper if figure == "validity" else ["base"]))
        assert (tmp_path / f"{figure}.png").stat().st_size


def test_hypotheses_are_tested_on_images_where_their_scores_are_given(cfeval: Run, tmp_path: Path) -> None:
    given = study_options(tmp_path, shards=3)
    assert cfeval("stage", "vce", "table", "hypotheses", *given, "--out", tmp_path / "t") == (0, "", "")
    found = {row.part: row for row in read_csv(tmp_path / "t.csv", HypothesisRow)}
    assert (found["cone projection"].unit, found["cone projection"].n_units) == ("source image", 60)
    assert found["cone projection"].verdict == "supported"


@pytest.mark.slow
def test_costs_stand_beside(cfeval: Run, paper: list[object], tmp_path: Path) -> None:
    cost = ["--cost", '{"base": {"denoiser_calls": 100}}']
    assert cfeval("stage", "vce", "table", "methods", *paper, *cost, "--out", tmp_path / "t") == (0, "", "")
    rows = [row for row in read_csv(tmp_path / "t.csv", SummaryRow) if row.metric == "denoiser_calls"]
    assert {(row.method, row.mean, row.sd) for row in rows} == {("base", 100, None)}


def test_without_scores_every_table_and_all_that_follows_is_empty(cfeval: Run, tmp_path: Path) -> None:
    made = [tmp_path / f"vce_{name}.csv" for name in LISTED["vce"]]
    for name, path in zip(LISTED["vce"], made, strict=True):
        assert cfeval("stage", "vce", "table", name, "--out", path.with_suffix("")) == (0, "", "")
        assert path.read_text().count("\n") == 1
    assert cfeval("stage", "vce", "metrics", *made, "--out", tmp_path / "metrics.json")[0] == 0
    given = ["--table", tmp_path / "vce_methods.csv", "--out", tmp_path / "validity"]
    assert cfeval("stage", "vce", "figure", "validity", *given) == (0, "", "")
    assert "Empty: no groups" in (tmp_path / "validity.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["table", "tabel3"], "unknown table 'tabel3'; did you mean 'table3'?"),
        (["figure", "tree", "--table", "t.csv"], "unknown figure 'tree'; allowed: cost, validity"),
        (["table", "table3", "--roles", '{"bse": "m"}'], "--roles: bse: Extra inputs are not permitted"),
        (["table", "table3", "--conditions", conditions_json([condition()])], "set/ddpm/cnn/base.jsonl: no such file"),
        (["table", "methods", "--cost", '{"m": {"calls": "many"}}'], "--cost: m.calls: Input should be a valid number"),
        (
            ["metrics", "edct_table1.csv"],
            "edct_table1.csv: not the name of a table; allowed: vce_checks.csv, ",
        ),
    ],
)
def test_what_cannot_be_made_is_one_line(cfeval: Run, tmp_path: Path, arguments: list[str], said: str) -> None:
    status, _, err = cfeval("stage", "vce", *arguments, "--out", tmp_path / "t")
    assert (status, err.count("\n")) == (2, 1)
    assert said in err


def test_a_condition_without_scores_of_images_is_named(cfeval: Run, paper: list[object], tmp_path: Path) -> None:
    given = [*paper, "--scores", tmp_path / "none", "--out", tmp_path / "t"]
    status, _, err = cfeval("stage", "vce", "table", "hypotheses", *given)
    assert status == 2
    assert "none/set/ddpm/Madry/base.jsonl: no such file" in err
