"""The steps that make the tables, headline figures and figures of a vce study."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from cfeval.core.jsonl import read_csv, write_jsonl
from cfeval.core.shards import shard_files, shard_of
from cfeval.vce.asked import AskedTables
from cfeval.vce.config import Roles
from cfeval.vce.records import GroupScore, VceCondition, VceScore
from cfeval.vce.tables import FIGURES, TABLES
from cfeval.vce.tables.hypotheses import HypothesisRow
from cfeval.vce.tables.paper import SummaryRow
from tests.conftest import Run
from tests.vce.tables.groups import ROLES, condition, condition_file, of_the_paper, write_groups
from tests.vce.tables.test_hypotheses import MINE, fitting_groups, study

COST = {"base": {"denoiser_calls": 100.0}}
ENDINGS = ("csv", "md", "tex")


def told(folder: Path, asked: AskedTables) -> list[object]:
    """What the step is told, as options."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.json").write_text(asked.as_json())
    return ["--study", folder / "study.json", "--results", folder, "--out", folder / "tables"]


def study_in(
    folder: Path, groups: Iterable[GroupScore], scores: dict[VceCondition, list[VceScore]], roles: Roles, shards: int
) -> list[object]:
    """A study with scores that are cut into so many files, as options."""
    conditions = write_groups(folder / "groups", groups)
    for one in conditions:
        for number, file in enumerate(shard_files(condition_file(folder / "scores", one), shards)):
            rows = scores.get(one, [])
            write_jsonl(file, [row for row in rows if shard_of(row.source_image, shards) == number])
    return told(folder, AskedTables(conditions=tuple(conditions), shards=shards, roles=roles, cost=COST))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The folders of the tables of a study in one piece and in seven."""
    from cfeval import cli

    root = tmp_path_factory.mktemp("study")
    for shards in (1, 7):
        words = study_in(root / f"{shards}", fitting_groups(), study(), MINE, shards)
        assert cli.run(["vce", "tables", *map(str, words)]) == 0
    return {shards: root / f"{shards}/tables" for shards in (1, 7)}


def test_tables_and_metrics_are_the_same_whatever_the_sharding(finished: dict[int, Path]) -> None:
    names = [f"vce_{name}.{ending}" for name in TABLES for ending in ENDINGS]
    assert sorted(path.name for path in finished[1].iterdir()) == sorted([*names, "vce_metrics.json"])
    for file in finished[1].iterdir():
        assert file.read_bytes() == (finished[7] / file.name).read_bytes()


def test_hypotheses_are_tested_on_images(finished: dict[int, Path]) -> None:
    found = {row.part: row for row in read_csv(finished[7] / "vce_hypotheses.csv", HypothesisRow)}
    assert (found["cone projection"].unit, found["cone projection"].n_units) == ("source image", 60)
    assert found["cone projection"].verdict == "supported"


@pytest.mark.slow
def test_metrics_figures_and_costs_follow_from_the_groups_under_their_own_names(cfeval: Run, tmp_path: Path) -> None:
    words = study_in(tmp_path, of_the_paper(), {}, ROLES, 1)
    assert cfeval("vce", "tables", *words)[0] == 0
    found = json.loads((tmp_path / "tables/vce_metrics.json").read_text())
    assert sorted(found) == ["hypotheses", "table3"]
    assert found["table3"]["Madry"]["ta"] == 0.84
    rows = [row for row in read_csv(tmp_path / "tables/vce_methods.csv", SummaryRow) if row.metric == "denoiser_calls"]
    assert {(row.method, row.mean, row.sd) for row in rows} == {("base", 100, None)}
    figures = [word for figure in FIGURES for word in ("--figure", figure)]
    out = tmp_path / "figures"
    assert cfeval("vce", "figures", "--tables", tmp_path / "tables", *figures, "--out", out) == (0, "", "")
    for figure in FIGURES:
        text = (out / f"vce_{figure}.svg").read_text()
        assert all(f">{name}<" in text for name in (ROLES.paper if figure == "validity" else ["base"]))
        assert (out / f"vce_{figure}.png").stat().st_size


def test_without_conditions_every_table_and_all_that_follows_is_empty(cfeval: Run, tmp_path: Path) -> None:
    assert cfeval("vce", "tables", *told(tmp_path, AskedTables())) == (0, "", "")
    for name in TABLES:
        assert (tmp_path / f"tables/vce_{name}.csv").read_text().count("\n") == 1
    words = ["--tables", tmp_path / "tables", "--figure", "validity", "--out", tmp_path / "figures"]
    assert cfeval("vce", "figures", *words) == (0, "", "")
    assert "Empty: no groups" in (tmp_path / "figures/vce_validity.svg").read_text()


def test_published_figures_are_named_by_the_record(cfeval: Run, tmp_path: Path) -> None:
    from cfeval.core.record import ENDING, read

    assert cfeval("vce", "tables", *told(tmp_path, AskedTables())) == (0, "", "")
    [step] = read(tmp_path / f"tables{ENDING}")
    for name in ("dbvce.csv", "vce-published.csv"):
        assert any(path.endswith(f"data/reference/{name}") for path in step["inputs"])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ('{"roles": {"bse": "m"}}', "study.json: roles.bse: Extra inputs are not permitted"),
        ('{"cost": {"m": {"calls": "many"}}}', "study.json: cost.m.calls: Input should be a valid number"),
        (AskedTables(conditions=(condition(),)).as_json(), "set/ddpm/cnn/base.jsonl: no such file"),
    ],
)
def test_what_cannot_be_made_is_one_line(cfeval: Run, tmp_path: Path, asked: str, said: str) -> None:
    words = told(tmp_path, AskedTables())
    (tmp_path / "study.json").write_text(asked)
    status, _, err = cfeval("vce", "tables", *words)
    assert (status, err.count("\n")) == (2, 1)
    assert said in err


def test_an_unknown_figure_is_one_line(cfeval: Run, tmp_path: Path) -> None:
    status, _, err = cfeval("vce", "figures", "--tables", tmp_path, "--figure", "tree", "--out", tmp_path / "f")
    assert (status, err) == (2, "cfeval: unknown figure 'tree'; allowed: cost, validity\n")


def test_a_condition_without_scores_of_images_is_named(cfeval: Run, tmp_path: Path) -> None:
    conditions = write_groups(tmp_path / "groups", fitting_groups())
    status, _, err = cfeval("vce", "tables", *told(tmp_path, AskedTables(conditions=tuple(conditions))))
    assert status == 2
    assert "scores/set/ddpm/adv/base.jsonl: no such file" in err
