"""A study of hosted models, from the command line that runs it to the bundle that others check and sign."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.bundle.study import contents
from tests.study.service import init_options, photographs, service

RUN = [sys.executable, "-c", "from cfeval.cli import main; main()"]


@pytest.mark.slow
def test_a_finished_study_gets_a_bundle_that_holds_elsewhere_and_has_no_key(tmp_path: Path) -> None:
    def cfeval(*words: str, place: Path) -> str:
        done = subprocess.run(
            [*RUN, *words], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        return done.stdout

    photographs(tmp_path / "photos", 3)
    mine, other = tmp_path / "mine", tmp_path / "other"
    other.mkdir()
    with service() as server:
        cfeval("init", "mine", *init_options(server, Path("photos"), ["vlm-a"]), place=tmp_path)
        cfeval("run", "mine", "--yes", place=tmp_path)
    for name in ("one", "two"):
        cfeval("audit", "build", "--out", f"../{name}.zip", "--date", "2026-11-23", place=mine)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    cfeval("audit", "build", "--out", "../redacted.zip", "--redact", place=mine)
    shutil.rmtree(mine)
    shutil.rmtree(tmp_path / "photos")
    whole = cfeval("verify", "../one.zip", place=other)
    assert "made again, all the same" in whole
    assert "calls 0" not in whole
    assert "made again, all the same" in cfeval("verify", "../redacted.zip", place=other)
    files = contents(tmp_path / "one.zip")
    assert b"vlm-a" in files["about.json"]
    assert not [name for name in files if Path(name).name == ".env" or os.environ.get("HOME", "/root") in name]
