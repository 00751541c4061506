"""`cfeval audit export`: what it refuses, in one line and before anything is written."""

import shutil
import sys
from pathlib import Path

import pytest
import yaml

from cfeval_audit.interchange import transcripts
from cfeval_audit.interchange.study import Finished
from tests.audit.interchange.study import PARAMS
from tests.conftest import Run


@pytest.fixture
def here(done: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the study, whose results have no provenance."""
    shutil.copytree(done.results, tmp_path / "results" / "edct")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["parquet"], "unknown format 'parquet'"),
        (["croissant"], "needs --license"),
        (["every-eval-ever"], "needs --organization"),
        (["hugging-face"], "needs --dataset"),
        (["inspect", "--license", "MIT"], "--license has no effect on the format inspect"),
        (["inspect", "--date", "tomorrow"], "is not a date; write YYYY-MM-DD"),
        (["inspect", "--model", "m"], "is not of the form NAME=DEVELOPER/MODEL"),
        (["every-eval-ever", "--organization", "x", "--relationship", "friend"], "--relationship: 'friend'"),
        (["every-eval-ever", "--organization", "x"], "run the study first"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(cfeval: Run, here: Path, words: list[str], said: str) -> None:
    status, _, err = cfeval("audit", "export", *words, "--out", "out")
    assert (status, said in err, err.count("\n"), (here / "out").exists()) == (2, True, 1, False), err


def test_a_table_that_is_not_made_and_a_folder_in_use_are_named(cfeval: Run, here: Path) -> None:
    (here / "results" / "edct" / "tables" / "edct_card.csv").unlink()
    assert (
        "edct_card.csv: not made yet" in cfeval("audit", "export", "croissant", "--license", "MIT", "--out", "out")[2]
    )
    assert "already exists; remove it" in cfeval("audit", "export", "croissant", "--license", "MIT", "--out", ".")[2]


def test_logs_need_the_package_that_writes_them(cfeval: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    transcripts.inspect_package.cache_clear()
    status, _, err = cfeval("audit", "export", "inspect", "--out", "out")
    assert (status, "pip install inspect-ai" in err, (here / "out").exists()) == (2, True, False)
