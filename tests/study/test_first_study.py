"""A first study with the code of this checkout: from an empty folder to the report, and nothing else changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_a_first_study_runs_in_a_folder_of_its_own(tmp_path: Path) -> None:
    before = tracked()
    took = first_study([sys.executable, "-m", "cfeval.cli"], tmp_path, environment())
    print(f"6 photographs, 2 models: {took:.0f} s")
    assert tracked() == before


def test_the_example_of_the_module_runs_as_it_stands(tmp_path: Path) -> None:
    for file in (ROOT / "examples/module").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    words = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "all"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "conclusion.csv").read_text() == "vlm,n,n_scored\nscripted,1,1\n"
    assert (tmp_path / "results/module/edct/scores").is_dir()
