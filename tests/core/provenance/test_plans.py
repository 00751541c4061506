"""Plans and hashes: files, folders, and the packages that code imports."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from cfeval.core.provenance import plans
from cfeval.core.provenance.hashes import Hashes
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.plans import Planner, named, plan_hash, versions
from cfeval.core.provenance.sources import PACKAGE, ROOT
from cfeval.core.provenance.state import plan_of_all
from tests.slow import slow

JOB = Job("s.one", ("s", "one"), (), ("out.jsonl",), {"stage": "cfeval.core.sampling"}, files=("d.txt", "images/"))
Install = Callable[..., Path]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.txt").write_text("d")
    Path("images/deep").mkdir(parents=True)
    Path("images/1.png").write_text("1")
    Path("images/deep/2.png").write_text("2")
    return tmp_path


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package on the path, with or without a distribution that says its version.

    Beside it Python alone is installed: to look through all that is there takes a second.
    """
    lib = tmp_path / "lib"
    lib.mkdir()
    monkeypatch.setattr(sys, "path", [str(lib), *(path for path in sys.path if "site-packages" not in path)])

    def installed(version: str = "", text: str = "X = 1\n") -> Path:
        (lib / "fakepackage.py").write_text(text)
        for old in lib.glob("*.dist-info/*"):
            old.unlink()
        if version:
            about = lib / f"fakepackage-{version}.dist-info"
            about.mkdir()
            (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fakepackage\nVersion: {version}\n")
            (about / "top_level.txt").write_text("fakepackage\n")
        forget()
        return lib

    yield installed  # type: ignore[misc]
    forget()


def forget() -> None:
    """Look as a new process does."""
    plans.versions.cache_clear()
    plans._distributions.cache_clear()


@pytest.mark.parametrize(
    "change",
    [
        lambda: Path("d.txt").write_text("e"),
        lambda: Path("d.txt").unlink(),
        lambda: Path("images/deep/2.png").write_text("3"),
        lambda: Path("images/deep/2.png").rename("images/deep/3.png"),
        lambda: Path("images/3.png").write_text("1"),
        lambda: Path("images/1.png").unlink(),
    ],
    ids=["a file", "a file gone", "a file of a folder", "its name", "one more", "one less"],
)
def test_files_and_folders_count_by_what_is_in_them(change: Callable[[], object]) -> None:
    before = plan_hash(Planner(memory=None).plan(JOB))
    change()
    assert plan_hash(Planner(memory=None).plan(JOB)) != before


def test_where_and_when_a_file_was_written_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = plan_hash(Planner(memory=None).plan(JOB))
    (tmp_path / "elsewhere").mkdir()
    for name in ("d.txt", "images"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    os.utime(tmp_path / "elsewhere/d.txt", (1, 1))
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert plan_hash(Planner(memory=None).plan(JOB)) == before


@pytest.mark.parametrize(
    ("same", "changes"),
    [
        (True, {"aside": ("--batch", "9")}),
        (True, {"resources": {"gpu": 1}}),
        (False, {"command": ("s", "one", "--n", "2")}),
        (False, {"code": {"stage": "cfeval.core.streams"}}),
        (False, {"files": ("d.txt",)}),
        (False, {"stage": "s.other"}),
    ],
)
def test_what_of_a_job_counts(same: bool, changes: dict[str, object]) -> None:
    planner = Planner(memory=None)
    assert (planner.plan(replace(JOB, **changes)) == planner.plan(JOB)) is same  # type: ignore[arg-type]


def test_a_file_of_the_package_is_called_the_same_wherever_that_is_installed() -> None:
    inside = ROOT / PACKAGE / "edct/prompts/edct-2025/judge.md"
    assert named(str(inside)) == "cfeval:edct/prompts/edct-2025/judge.md"
    assert named("d.txt") == "d.txt"


def test_an_installed_version_counts(install: Install) -> None:
    install("1.0")
    assert versions(frozenset({"fakepackage", "json"})).get("fakepackage") == "1.0"
    install("2.0")
    assert versions(frozenset({"fakepackage"}))["fakepackage"] == "2.0"


def test_an_installed_version_counts_although_another_was_remembered(install: Install, tmp_path: Path) -> None:
    memory = tmp_path / "packages.json"
    for version in ("1.0", "2.0"):
        install(version)
        assert versions(frozenset({"fakepackage"}), memory)["fakepackage"] == version


def test_what_was_remembered_counts_for_a_copy_of_the_folder_and_no_longer(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, lib = tmp_path / "packages.json", install("1.0")
    assert versions(frozenset({"fakepackage"}), memory)["fakepackage"] == "1.0"
    remembered = memory.read_bytes()
    shutil.copytree(lib, tmp_path / "copy")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "copy"), *sys.path[1:]])
    forget()
    monkeypatch.setattr(metadata, "packages_distributions", lambda: pytest.fail("it looks once more"))
    assert versions(frozenset({"fakepackage"}), memory)["fakepackage"] == "1.0"
    assert memory.read_bytes() == remembered
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "copy"), *(p for p in sys.path if "site-packages" not in p)])
    forget()
    about = tmp_path / "copy/fakepackage-1.0.dist-info"
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fakepackage\nVersion: 2.0\n")
    about.rename(tmp_path / "copy/fakepackage-2.0.dist-info")
    assert versions(frozenset({"fakepackage"}), memory)["fakepackage"] == "2.0"


@pytest.mark.parametrize("whole", [False, slow(True)], ids=["a module", "a package"])
def test_a_module_that_no_distribution_has_counts_by_its_bytes(install: Install, whole: bool) -> None:
    def said(text: str) -> str:
        lib = install(text=text)
        if whole:
            (lib / "fakepackage.py").unlink()
            (lib / "fakepackage").mkdir(exist_ok=True)
            (lib / "fakepackage/__init__.py").touch()
            (lib / "fakepackage/part.py").write_text(text)
            (lib / "fakepackage/__pycache__").mkdir(exist_ok=True)
            (lib / "fakepackage/__pycache__/part.pyc").write_bytes(os.urandom(4))
        return versions(frozenset({"fakepackage"}))["fakepackage"]

    one = said("X = 1\n")
    assert said("X = 2\n") != one
    assert said("X = 1\n") == one


@pytest.mark.slow
def test_python_counts_by_its_first_two_numbers() -> None:
    assert versions(frozenset())["python"].count(".") == 1


def test_a_package_that_is_not_there_has_no_version() -> None:
    assert versions(frozenset({"nowhere_to_be_found", "json", "os"})).keys() == {"python"}


def test_a_young_file_is_hashed_each_time(tmp_path: Path) -> None:
    memory = tmp_path / "hashes.json"
    hashes = Hashes(memory)
    hashes.file("d.txt")
    hashes.remember()
    assert not memory.exists() or "d.txt" not in memory.read_text()


def test_what_changes_in_place_is_seen_once_its_time_of_change_is_another(tmp_path: Path) -> None:
    """Size, inode and the time that a user can set are restored."""
    memory = tmp_path / "hashes.json"
    time.sleep(2.1)
    first = Hashes(memory)
    before = first.file("d.txt"), first.folder("images/")
    first.remember()
    assert "d.txt" in memory.read_text()
    for name in ("d.txt", "images/1.png"):
        stat = Path(name).stat()
        with Path(name).open("r+") as file:
            file.write("X")
        os.utime(name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    later = Hashes(memory)
    assert later.file("d.txt") != before[0]
    assert later.folder("images/") != before[1]


@pytest.mark.parametrize("damage", ["", "[", "[]", "\x00"])
def test_a_damaged_memory_changes_nothing(tmp_path: Path, damage: str) -> None:
    memory = tmp_path / "hashes.json"
    memory.write_text(damage)
    assert Hashes(memory).file("d.txt") == Hashes().file("d.txt")


def test_what_dvc_sees_changes_with_the_stage_alone_that_is_made_otherwise() -> None:
    other = replace(JOB, stage="s.two", outputs=("two.jsonl",), inputs=("out.jsonl",))
    before = plan_of_all([JOB, other], Planner(memory=None))
    after = plan_of_all([JOB, replace(other, command=("s", "two", "--n", "2"))], Planner(memory=None))
    assert {stage for stage in before if before[stage] != after[stage]} == {"s.two"}
