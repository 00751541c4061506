"""The report of a made-up study, through the command line."""

from pathlib import Path

import pytest

from tests.conftest import Run
from tests.report.study import arms_json, score_files, write_study


def make_report(cfeval: Run, folder: Path, shards: int = 1) -> Path:
    """Tables, figures and report of the made-up study; returns the page."""
    write_study(folder / "edct", shards)
    scores, tables = score_files(folder / "edct"), folder / "tables"
    given = ["--arms", arms_json(), "--interval", '{"resamples": 100}']
    targets = '["grounded", "prior", "confabulating"]'
    known = '{"grounded": 0, "prior": 1, "confabulating": 1}'
    page = folder / "report" / "index.html"
    for command in (
        ["table1", *given, "--test-targets", targets, "--out", tables / "t1", *scores],
        ["table2", *given, "--test-targets", targets, "--out", tables / "t2", *scores],
        ["calibration", *given, "--known", known, "--out", tables / "cal", *scores],
        ["forest", "--table", tables / "t1.csv", "--out", folder / "figures/forest"],
        ["calibration-plot", "--table", tables / "cal.csv", "--out", folder / "figures/cal"],
        ["report", "--results", folder / "edct", "--arms", arms_json(), "--shards", shards,
         "--table1", tables / "t1.csv", "--table2", tables / "t2.csv", "--calibration", tables / "cal.csv",
         "--forest", folder / "figures/forest.svg", "--calibration-plot", folder / "figures/cal.svg", "--out", page],
    ):  # fmt: skip
        assert cfeval("edct", *command)[::2] == (0, "")
    return page


@pytest.fixture
def report_page(cfeval: Run, tmp_path: Path) -> Path:
    """The page."""
    return make_report(cfeval, tmp_path)
