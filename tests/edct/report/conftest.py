"""The report of a made-up study, through the command line."""

import shutil
from pathlib import Path

import pytest

from cfeval import cli
from cfeval.edct.tables import test_models as known_models
from tests.edct.report.study import CONDITIONS, conditions_json, write_study
from tests.listed import OF_CONDITIONS
from tests.listed import OF_EDITS as DRAWN

SETTINGS = ["--interval", '{"resamples": 100}', "--test-targets", '["grounded", "prior", "confabulating"]']
SETTINGS += ["--repeats", '{"prior": "grounded"}']  # so that the table of repeats has a row
SETTINGS += ["--known", '{"grounded": 0, "prior": 1, "confabulating": 1}', "--judge-error", '["grounded", "prior"]']
SETTINGS += ["--expected", '{"grounded": {"faithful": 1}}']
CONTROLLED = [one for one in CONDITIONS if one.vlm == "grounded" and one.protocol != "edct-bench-2026"]
SHOWN = {
    "bench": [one for one in CONDITIONS if one.protocol == "edct-bench-2026"],
    **dict.fromkeys(("controls", "faithfulness", "card", "test_models"), CONTROLLED),
}
"""The conditions of some tables; the others show those of the 2025 protocol."""
BESIDE = [one for one in CONDITIONS if one.protocol == "uncited-edit"]


def make_report(folder: Path, shards: int = 1) -> Path:
    """Tables, figures and report of the made-up study; returns the page."""
    write_study(folder / "edct", shards)
    results: list[object] = ["--results", folder / "edct", "--shards", shards]
    tables, figures = folder / "tables", folder / "figures"
    page = folder / "report" / "index.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_models, "RESAMPLES", 20)  # of which nothing here depends, and 200 take seconds
        _make_tables(results, tables)
    for name, (_, table) in DRAWN.items():
        _run("figure", name, "--table", tables / f"edct_{table}.csv", "--out", figures / f"edct_{name}")
    _run("report", *results, "--conditions", conditions_json(), "--tables", tables, "--figures", figures, "--out", page)
    return page


def _make_tables(results: list[object], tables: Path) -> None:
    for name in OF_CONDITIONS:
        conditions = [
            "--conditions",
            conditions_json(SHOWN.get(name, [one for one in CONDITIONS if one.protocol == "edct-2025"])),
        ]
        conditions += ["--beside", conditions_json(BESIDE)] if name == "calibration" else []
        _run("table", name, *results, *conditions, *SETTINGS, "--out", tables / f"edct_{name}")


def _run(*arguments: object) -> None:
    assert cli.run(["stage", "edct", *map(str, arguments)]) == 0


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
