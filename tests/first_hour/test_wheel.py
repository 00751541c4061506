"""The wheel in an environment of its own, with the core alone: a first study without this checkout, torch or a key.

The bundle of that study holds where nothing of it is left.

Packages come from the registries that pip is set up for. It prints what `pip install` and the study took.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.bundle.study import contents
from tests.first_hour.conftest import ROOT, ran
from tests.study.folder import first_study, listed


def test_the_core_has_no_torch_and_no_checkout(installed: Path, bare: dict[str, str], tmp_path: Path) -> None:
    code = "import sys, cfeval; print(cfeval.__file__); import importlib.util as u; print(u.find_spec('torch'))"
    place, torch = ran(installed / "bin/python", "-c", code, env=bare, cwd=tmp_path).splitlines()
    assert place.startswith(str(installed))
    assert torch == "None"


def test_a_first_study_of_the_wheel_alone_and_its_bundle_holds_elsewhere(
    installed: Path, audited: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    """The study needs the core alone; who makes its bundle, and who checks it, has the extra `audit`."""
    place = tmp_path / "work"
    place.mkdir()
    before = listed(installed)
    status = ran("git", "status", "--porcelain")
    took = first_study([str(installed / "bin/cfeval")], place, bare)
    print(f"6 photographs, 2 models: {took:.0f} s")
    assert listed(installed) == before
    assert ran("git", "status", "--porcelain") == status
    cfeval = audited / "bin/cfeval"
    for name in ("one", "two"):
        ran(cfeval, "audit", "build", "--out", f"../{name}.zip", "--date", "2026-11-23", env=bare, cwd=place / "mine")
    assert (place / "one.zip").read_bytes() == (place / "two.zip").read_bytes()
    ran(cfeval, "audit", "build", "--out", "../redacted.zip", "--redact", env=bare, cwd=place / "mine")
    shutil.rmtree(place / "mine")
    shutil.rmtree(place / "photos")
    other = tmp_path / "other"
    other.mkdir()
    whole = ran(cfeval, "verify", place / "one.zip", env=bare, cwd=other)
    assert "made again, all the same" in whole
    assert "calls 0" not in whole
    assert "made again, all the same" in ran(cfeval, "verify", place / "redacted.zip", env=bare, cwd=other)
    files = contents(place / "one.zip")
    assert b"vlm-a" in files["about.json"]
    assert not [name for name in files if Path(name).name == ".env" or bare["HOME"] in name]


@pytest.mark.parametrize(
    "command", ["audit", "audit --help", "audit build --out b.zip", "audit documents", "verify b.zip"]
)
def test_commands_of_an_extra_are_not_gone_without_it(
    installed: Path, bare: dict[str, str], tmp_path: Path, command: str
) -> None:
    (tmp_path / "b.zip").touch()
    words = [str(installed / "bin/cfeval"), *command.split()]
    done = subprocess.run(words, cwd=tmp_path, env=bare, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.rstrip().endswith("pip install 'cfeval[audit]'")
    assert "audit" in ran(installed / "bin/cfeval", "--help", env=bare, cwd=tmp_path)


def test_a_missing_extra_is_one_line(installed: Path, bare: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    shutil.copytree(ROOT / "examples/module", place / "m")
    params = (place / "m/config.yaml").read_text().partition("cfeval:\n")[2]
    lines = [line.removeprefix("  ") for line in params.splitlines()]
    (place / "m/params.yaml").write_text("\n".join(["calibrate: true", *lines, ""]))
    words = [str(installed / "bin/cfeval"), "run", "m", "--yes"]
    done = subprocess.run(words, cwd=place, env=bare, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.rstrip().endswith("pip install 'cfeval[world]'")


def test_the_example_of_the_module_runs_with_the_wheel(installed: Path, bare: dict[str, str], tmp_path: Path) -> None:
    """Its models answer as they are told: they are in the package of the test bed."""
    place, beside = tmp_path / "work", tmp_path / "packages"
    shutil.copytree(ROOT / "examples/module", place)
    install = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--target", beside)
    ran(*install, ROOT / "packages/cfeval_testbed")
    bare["PYTHONPATH"] = str(beside)
    ran(installed / "bin/snakemake", "--cores", "2", "--quiet", "all", env=bare, cwd=place)
    assert (place / "conclusion.csv").read_text() == "vlm,n,n_scored\nscripted,1,1\n"
