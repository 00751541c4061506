"""The report of a made-up study, through the command line."""

import shutil
from pathlib import Path

import pytest

from cfeval.cli import main
from cfeval.report.figures import TABLE_OF
from cfeval.tables import NAMES
from tests.report.study import ARMS, arms_json, score_files, write_study

SETTINGS = ["--interval", '{"resamples": 100}', "--test-targets", '["grounded", "prior", "confabulating"]']
SETTINGS += ["--repeats", '{"prior": "grounded"}']  # so that the table of repeats has a row
SETTINGS += ["--known", '{"grounded": 0, "prior": 1, "confabulating": 1}', "--judge-error", '["grounded", "prior"]']
SHOWN = {
    "bench": [one for one in ARMS if one.protocol == "edct-bench-2026"],
    "controls": [one for one in ARMS if one.vlm == "grounded" and one.protocol != "edct-bench-2026"],
}
"""The arms of some tables; the others show those of the 2025 protocol."""


def make_report(folder: Path, shards: int = 1) -> Path:
    """Tables, figures and report of the made-up study; returns the page."""
    write_study(folder / "edct", shards)
    scores, tables, figures = score_files(folder / "edct"), folder / "tables", folder / "figures"
    page = folder / "report" / "index.html"
    for name in NAMES["edct"]:
        arms = arms_json(SHOWN.get(name, [one for one in ARMS if one.protocol == "edct-2025"]))
        _run("table", name, "--arms", arms, *SETTINGS, "--out", tables / f"edct_{name}", *scores)
    for name, table in TABLE_OF["edct"].items():
        _run("figure", name, "--table", tables / f"edct_{table}.csv", "--out", figures / f"edct_{name}")
    made = ["--results", folder / "edct", "--arms", arms_json(), "--shards", shards]
    _run("report", *made, "--tables", tables, "--figures", figures, "--out", page)
    return page


def _run(*arguments: object) -> None:
    assert main.run(["edct", *map(str, arguments)]) == 0


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
