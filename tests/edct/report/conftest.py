"""The report of a made-up study, through the command line."""

import shutil
from pathlib import Path

import pytest

from cfeval import cli
from cfeval.edct.asked import AskedReport, AskedTable, AskedTables
from cfeval.edct.tables import test_models as known_models
from cfeval.stats.intervals import Interval
from tests.edct.report.study import CONDITIONS, write_study
from tests.listed import OF_CONDITIONS
from tests.listed import OF_EDITS as DRAWN
from tests.told import told

SETTINGS = AskedTable(
    test_targets=("grounded", "prior", "confabulating"),
    repeats={"prior": "grounded"},  # so that the table of repeats has a row
    known={"grounded": 0, "prior": 1, "confabulating": 1},
    judge_error=("grounded", "prior"),
    expected={"grounded": {"faithful": 1}},
)
INTERVAL = Interval(resamples=100)
CONTROLLED = [one for one in CONDITIONS if one.vlm == "grounded" and one.protocol != "edct-bench-2026"]
SHOWN = {
    "bench": [one for one in CONDITIONS if one.protocol == "edct-bench-2026"],
    **dict.fromkeys(("controls", "faithfulness", "card", "bounds", "test_models"), CONTROLLED),
}
"""The conditions of some tables; the others show those of the 2025 protocol."""
BESIDE = [one for one in CONDITIONS if one.protocol == "uncited-edit"]


def make_report(folder: Path, shards: int = 1) -> Path:
    """Tables, figures and report of the made-up study; returns the page."""
    results, page = folder / "edct", folder / "report" / "index.html"
    write_study(results, shards)
    asked = AskedTables(tables={name: _asked(name) for name in OF_CONDITIONS}, shards=shards, interval=INTERVAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_models, "RESAMPLES", 20)  # of which nothing here depends, and 200 take seconds
        _run("tables", "--study", told(folder, asked), "--results", results, "--out", results / "tables")
    drawn = [word for name in DRAWN for word in ("--figure", name)]
    _run("figures", "--tables", results / "tables", *drawn, "--out", results / "figures")
    shown = AskedReport(conditions=CONDITIONS, tables=OF_CONDITIONS, shards=shards)
    _run("report", "--study", told(folder, shown), "--results", results, "--out", page)
    return page


def _asked(table: str) -> AskedTable:
    conditions = SHOWN.get(table, [one for one in CONDITIONS if one.protocol == "edct-2025"])
    return SETTINGS.model_copy(
        update={"conditions": tuple(conditions), "beside": tuple(BESIDE) if table == "calibration" else ()}
    )


def _run(*arguments: object) -> None:
    assert cli.run(["edct", *map(str, arguments)]) == 0


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study with its report, made once; not to be changed."""
    folder = tmp_path_factory.mktemp("study")
    make_report(folder)
    return folder


@pytest.fixture
def report_page(finished: Path, tmp_path: Path) -> Path:
    """The page of a study of one's own, in `tmp_path`."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path / "report" / "index.html"
