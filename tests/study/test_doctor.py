import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Run


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A folder in which both tools were killed."""
    (tmp_path / ".snakemake/locks").mkdir(parents=True)
    (tmp_path / ".snakemake/locks/0.input.lock").write_text("x\n")
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    (tmp_path / ".dvc/tmp/rwlock").write_text("")
    return tmp_path


def test_stale_locks_are_removed(cfeval: Run, killed: Path) -> None:
    status, said, _ = cfeval("doctor", killed)
    assert status == 0
    assert said.count("; removed\n") == 2
    assert not (killed / ".snakemake/locks").exists()
    assert not (killed / ".dvc/tmp/rwlock").exists()
    assert "has no params.yaml; `cfeval init" in cfeval("doctor", killed)[2]


def test_a_dry_run_only_tells(cfeval: Run, killed: Path) -> None:
    said = cfeval("doctor", killed, "--dry-run")[1]
    assert "rwlock" in said
    assert "removed" not in said
    assert (killed / ".dvc/tmp/rwlock").exists()


def test_a_living_run_is_left_alone(cfeval: Run, killed: Path) -> None:
    program = killed / "snakemake"
    program.write_text("import time; print('up', flush=True); time.sleep(60)")
    with subprocess.Popen([sys.executable, str(program)], cwd=killed, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        said = cfeval("doctor", killed)[1]
        running.terminate()
    assert said.count(f"process {running.pid} is at work") == 2
    assert (killed / ".snakemake/locks").exists()


def test_a_run_on_another_machine_keeps_its_lock(cfeval: Run, killed: Path) -> None:
    (killed / ".cfeval").mkdir()
    (killed / ".cfeval/run.lock").write_text("node-7 12\n")
    said = cfeval("doctor", killed)[1]
    assert "began on node-7; where none is alive there, run `snakemake --unlock`" in said
    assert (killed / ".snakemake/locks").exists()
    assert not (killed / ".dvc/tmp/rwlock").exists(), "DVC reads its lock file whoever wrote it"


def test_a_good_lock_file_of_dvc_stays(cfeval: Run, tmp_path: Path) -> None:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    (tmp_path / ".dvc/tmp/rwlock").write_text("{}")
    assert cfeval("doctor", tmp_path)[:2] == (2, "")
