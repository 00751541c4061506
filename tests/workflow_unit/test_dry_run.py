"""The workflow on a study that `cfeval init` would write: what a dry run leaves behind, and the targets it offers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EDCT = {name: {"x": {"plugin": "mock"}} for name in ("vlms", "instruction_writers", "editors", "judges")}
PHOTOS = {"plugin": "files", "path": "photos.csv"}
MORE = ((), ("--config", "name=other"), ("--workflow-profile", str(ROOT / "profiles/default")))
STUDY = {"name": "mine", "edct": {**EDCT, "items": 1, "datasets": {"own": PHOTOS}}}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(STUDY))
    (tmp_path / "photos.csv").write_text("image,question\n")
    return tmp_path


def snakemake(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "1", *words]
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "TMPDIR": str(folder.parent)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def files(folder: Path) -> dict[str, bytes]:
    """All that lies in a folder, but for Snakemake's own."""
    found = (path for path in sorted(folder.rglob("*")) if ".snakemake" not in path.parts)
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in found}


@pytest.mark.slow
@pytest.mark.parametrize("more", MORE)
def test_a_dry_run_leaves_nothing_behind(study: Path, more: tuple[str, ...]) -> None:
    before = files(study)
    beside = sorted(path.name for path in study.parent.iterdir())
    done = snakemake(study, "--dry-run", *more, "--", "all")
    assert done.returncode == 0, done.stderr
    assert "edct_verdicts" in done.stdout + done.stderr or "verdicts" in done.stderr
    assert files(study) == before
    assert sorted(path.name for path in study.parent.iterdir()) == beside


@pytest.mark.slow
def test_every_target_that_the_snakefile_names_exists() -> None:
    docstring = (ROOT / "Snakefile").read_text().split('"""')[1]
    named = set(re.findall(r"`(\w+)`", docstring)) - {"params"}
    listed = snakemake(ROOT, "--list-rules")
    assert listed.returncode == 0, listed.stderr
    rules = set(re.findall(r"^(\w+)\b", listed.stdout, re.MULTILINE))
    assert {"all", "edct", "vce", "cvqa", "edct_items_all"} <= named
    assert named <= rules, named - rules
    phases = {rule for rule in rules if rule.endswith("_all")}
    assert phases <= named, "and it names all that there are"
