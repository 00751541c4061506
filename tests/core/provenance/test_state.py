"""Which files are what would be made now: everything that can go wrong with a file, an input, a sidecar or a plan."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cfeval.core.provenance.hashes import Hashes
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.plans import Planner
from cfeval.core.provenance.state import State, remove

CODE = {"stage": "cfeval.core.sampling"}
FIRST = Job("s.one", ("s", "one"), (), ("results/s/a.jsonl", "results/s/a/"), CODE, files=("data/d.txt",))
SECOND = Job("s.two", ("s", "two", "--n", "1"), ("results/s/a.jsonl",), ("results/s/b.csv",), CODE)
Make = Callable[..., None]


def look() -> State:
    """The state as a new process finds it."""
    return State([FIRST, SECOND], Planner(memory=None))


@pytest.fixture(autouse=True)
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A folder with both jobs done; the function does them again."""
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/d.txt").write_text("data")
    Path("results/s/a").mkdir(parents=True)
    Path("results/s/a.jsonl").write_text("{}\n")
    Path("results/s/a/1.png").write_bytes(b"png")
    Path("results/s/b.csv").write_text("n\n1\n")

    def made() -> None:
        planner = Planner(memory=None)
        for job in (FIRST, SECOND):
            hashes = planner.hashes
            content = {
                "plan": planner.plan(job),
                "inputs": {path: hashes.path(path) for path in job.inputs},
                "outputs": {path: hashes.path(path) for path in job.outputs},
            }
            Path(job.sidecar).write_text(json.dumps(content))

    made()
    return made


def test_what_is_as_it_should_be_is_sealed() -> None:
    found = look().seal("results/s")
    assert (found.wrong, found.former, found.foreign) == ({}, (), ())


def flip(path: str) -> None:
    """Change a byte and restore size and time of change."""
    stat = Path(path).stat()
    content = bytearray(Path(path).read_bytes())
    content[0] ^= 1
    Path(path).write_bytes(bytes(content))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("path", ["results/s/a.jsonl", "results/s/a/1.png", "results/s/b.csv"])
def test_a_flipped_byte_is_seen_whatever_size_and_time_say(path: str) -> None:
    flip(path)
    assert look().seal("results/s").wrong


def test_a_flipped_byte_is_seen_by_hashes_that_are_remembered(tmp_path: Path) -> None:
    old = time.time_ns() - 10**10
    os.utime("data/d.txt", ns=(old, old))
    memory = tmp_path / "hashes.json"
    first = Hashes(memory)
    before = first.file("data/d.txt")
    first.remember()
    flip("data/d.txt")
    assert Hashes(memory).file("data/d.txt") != before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: Path("data/d.txt").write_text("other"), "changed: files data/d.txt"),
        (lambda: Path("data/d.txt").unlink(), "changed: files data/d.txt"),
        (lambda: Path("results/s/a.jsonl.made.json").unlink(), "no a.jsonl.made.json beside it"),
        (lambda: Path("results/s/a.jsonl.made.json").write_text("{}"), "no a.jsonl.made.json beside it"),
        (lambda: Path("results/s/a/2.png").write_bytes(b"x"), "results/s/a/: not what the job made"),
        (lambda: Path("results/s/a/1.png").unlink(), "results/s/a/: not what the job made"),
        (lambda: Path("results/s/a.jsonl").unlink(), "results/s/a.jsonl is missing"),
    ],
)
def test_it_is_told_why_a_file_is_stale(change: Callable[[], object], said: str) -> None:
    change()
    assert look().stale()["results/s/a.jsonl"] == said


def test_what_was_made_from_another_input_is_stale_and_says_so(make: Make) -> None:
    Path("results/s/a.jsonl").write_text('{"n": 2}\n')
    make()
    sidecar = json.loads(Path(SECOND.sidecar).read_text())
    sidecar["inputs"]["results/s/a.jsonl"] = "0" * 64
    Path(SECOND.sidecar).write_text(json.dumps(sidecar))
    assert look().stale() == {"results/s/b.csv": "made from other files: results/s/a.jsonl"}


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (replace(SECOND, command=("s", "two", "--n", "2")), "changed: parameters"),
        (replace(SECOND, code={"stage": "cfeval.core.streams"}), "changed: code stage, versions pydantic"),
        (replace(SECOND, inputs=()), "made from other files: results/s/a.jsonl"),
    ],
)
def test_another_plan_makes_a_file_stale(job: Job, said: str) -> None:
    assert State([FIRST, job], Planner(memory=None)).stale() == {"results/s/b.csv": said}


def test_another_version_of_a_package_makes_a_file_stale() -> None:
    sidecar = json.loads(Path(SECOND.sidecar).read_text())
    sidecar["plan"]["versions"]["python"] = "2.7"
    Path(SECOND.sidecar).write_text(json.dumps(sidecar))
    assert look().stale() == {"results/s/b.csv": "changed: versions python"}


def test_an_empty_folder_of_images_need_not_be_there(make: Make) -> None:
    Path("results/s/a/1.png").unlink()
    make()
    Path("results/s/a").rmdir()
    assert look().stale() == {}


def test_files_of_a_former_job_go_and_those_of_anybody_else_stay() -> None:
    Path("results/s/mine.txt").write_text("mine")
    found = State([FIRST], Planner(memory=None)).seal("results/s")
    assert set(found.former) == {"results/s/b.csv", "results/s/b.csv.made.json"}
    assert found.foreign == ("results/s/mine.txt",)
    remove(found.former)
    assert not Path("results/s/b.csv").exists()
    assert Path("results/s/mine.txt").read_text() == "mine"


def test_a_file_of_a_former_job_that_was_changed_since_stays() -> None:
    Path("results/s/b.csv").write_text("n\n2\n")
    found = State([FIRST], Planner(memory=None)).seal("results/s")
    assert found.former == ()
    assert "results/s/b.csv" in found.foreign


def test_a_sound_file_is_never_older_than_what_it_was_made_from_and_a_stale_one_is_left() -> None:
    past = time.time_ns() - 10**12
    for path in ("results/s/b.csv", "results/s/a.jsonl"):
        os.utime(path, ns=(past, past))
    now = time.time_ns() - 10**11
    os.utime("results/s/a.jsonl", ns=(now, now))
    state = look()
    state.restamp(state.stale())
    assert Path("results/s/b.csv").stat().st_mtime_ns == now
    os.utime("results/s/b.csv", ns=(past, past))
    state.restamp({"results/s/b.csv": "stale"})
    assert Path("results/s/b.csv").stat().st_mtime_ns == past


def test_a_young_file_is_hashed_again_and_an_old_one_is_remembered(tmp_path: Path) -> None:
    memory = tmp_path / "hashes.json"
    hashes = Hashes(memory)
    hashes.file("data/d.txt")
    hashes.remember()
    assert "data/d.txt" not in (json.loads(memory.read_text()) if memory.is_file() else {})
