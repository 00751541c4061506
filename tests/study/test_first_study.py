"""A first study with the code of this checkout: from an empty folder to the report, and to the bundle others check."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.bundle.study import contents
from tests.study.folder import first_study

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def tracked() -> str:
    status = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    return status.stdout


def environment() -> dict[str, str]:
    """Without keys, and with the code of this checkout."""
    own = {name: value for name, value in os.environ.items() if not name.endswith("_KEY")}
    return {**own, "PYTHONPATH": str(ROOT / "src")}


def test_a_first_study_runs_in_a_folder_of_its_own_and_its_bundle_holds_elsewhere(
    tmp_path: Path,
) -> None:
    before = tracked()
    took = first_study([sys.executable, "-m", "cfeval.cli"], tmp_path, environment())
    print(f"6 photographs, 2 models: {took:.0f} s")
    assert tracked() == before

    def cfeval(*words: str, place: str) -> str:
        command = [sys.executable, "-m", "cfeval.cli", *words]
        silent = subprocess.DEVNULL
        done = subprocess.run(
            command, cwd=tmp_path / place, env=environment(), stdin=silent, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        return done.stdout

    for name in ("one", "two"):
        cfeval("audit", "build", "--out", f"../{name}.zip", "--date", "2026-11-23", place="mine")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    cfeval("audit", "build", "--out", "../redacted.zip", "--redact", place="mine")
    shutil.rmtree(tmp_path / "mine")
    shutil.rmtree(tmp_path / "photos")
    (tmp_path / "other").mkdir()
    whole = cfeval("verify", "../one.zip", place="other")
    assert "made again, all the same" in whole
    assert "calls 0" not in whole
    assert "made again, all the same" in cfeval("verify", "../redacted.zip", place="other")
    files = contents(tmp_path / "one.zip")
    assert b"vlm-a" in files["about.json"]
    assert not [name for name in files if Path(name).name == ".env" or os.environ.get("HOME", "/root") in name]


def test_the_example_of_the_module_runs_as_it_stands(tmp_path: Path) -> None:
    for file in (ROOT / "examples/module").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    words = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "all"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "conclusion.csv").read_text() == "vlm,n,n_scored\nscripted,1,1\n"
    assert (tmp_path / "results/module/edct/scores").is_dir()
