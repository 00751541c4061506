"""The job's side: what it refuses, what it keeps, and what it writes beside its output."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.core.provenance import frozen, loading, reading
from cfeval.core.provenance.frozen import Frozen, Planned
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.making import COUNTER, make
from cfeval.core.provenance.plans import Planner, plan_hash

JOB = Job(
    "s.two",
    ("s", "two"),
    ("results/s/a.jsonl",),
    ("results/s/b.jsonl", "results/s/b/"),
    {"stage": "cfeval.core.sampling"},
    files=("data/d.txt",),
    aside=("--batch", "3"),
)
Work = Callable[[], object]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with all that the job is given; what other tests opened is forgotten."""
    monkeypatch.chdir(tmp_path)
    for name in ("data/d.txt", "results/s/a.jsonl", "results/s/a/1.png"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(name)
    monkeypatch.setattr(reading, "_opened", set())
    monkeypatch.setattr(loading, "named", set())
    monkeypatch.setenv(COUNTER, str(tmp_path.parent / f"{tmp_path.name}.log"))
    reading._systems.cache_clear()
    yield tmp_path
    reading._systems.cache_clear()


def write() -> None:
    """What the job does when all goes well."""
    Path("results/s/b").mkdir(exist_ok=True)
    Path("results/s/b/1.png").write_bytes(Path("results/s/a/1.png").read_bytes())
    Path("results/s/b.jsonl").write_text(Path("results/s/a.jsonl").read_text() + Path("data/d.txt").read_text())


def planned(job: Job = JOB) -> Planned:
    """The job with its plan of now."""
    return Planned(job, plan_hash(Planner(memory=None).plan(job)))


def made(*work: Work, told: Planned | None = None) -> int:
    """Run the job, whose command does this."""

    def run(words: list[str]) -> int:
        assert words == ["s", "two", "--batch", "3"]
        for one in work or (write,):
            one()
        return 0

    return make(told or planned(), run)


def noted(folder: Path) -> list[str]:
    """What the job noted."""
    return (folder.parent / f"{folder.name}.log").read_text().splitlines()


@pytest.mark.slow
def test_a_job_says_what_it_was_made_from_and_no_time_and_no_absolute_path(folder: Path) -> None:
    assert made() == 0
    text = Path(JOB.sidecar).read_text()
    said = json.loads(text)
    assert said["inputs"].keys() == {"results/s/a.jsonl"}
    assert said["outputs"].keys() == set(JOB.outputs)
    assert said["plan"]["files"].keys() == {"data/d.txt"}
    assert said["plan"]["command"] == ["s", "two"], "what stands aside is no part"
    assert str(folder) not in text
    Path(JOB.sidecar).unlink()
    made()
    assert Path(JOB.sidecar).read_text() == text
    assert noted(folder) == ["made s.two results/s/b.jsonl"] * 2


def test_a_job_whose_output_fits_is_kept(folder: Path) -> None:
    made()
    os.utime("results/s/b.jsonl", (1, 1))
    assert made(lambda: pytest.fail("it ran")) == 0
    assert Path("results/s/b.jsonl").stat().st_mtime > 1e9, "Snakemake wants to see that something happened"
    assert noted(folder)[-1] == "kept s.two results/s/b.jsonl"


def test_another_plan_than_the_one_it_was_sent_with_is_refused() -> None:
    told = planned()
    Path("data/d.txt").write_text("other")
    with pytest.raises(InputError, match="code, files or packages changed after this run was planned; start it again"):
        made(lambda: pytest.fail("it ran"), told=told)
    assert not Path(JOB.sidecar).exists()


def in_place(name: str) -> None:
    """Change a byte of a file, its size and time restored."""
    path = Path(name)
    stat = path.stat()
    with path.open("r+b") as file:
        file.write(b"X")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("name", ["results/s/a.jsonl", "data/d.txt"])
@pytest.mark.parametrize("when", ["before it is read", "after it was read"])
def test_what_changes_while_a_job_works_ends_it(name: str, when: str) -> None:
    work = [lambda: in_place(name), write]
    with pytest.raises(InputError, match="changed after this run was planned"):
        made(*(work if when == "before it is read" else work[::-1]))
    assert not Path(JOB.sidecar).exists()


def test_a_former_sidecar_does_not_speak_for_a_job_that_was_ended() -> None:
    made()
    Path("data/d.txt").write_text("other")
    with pytest.raises(InputError, match="changed after"):
        made(write, lambda: in_place("data/d.txt"))
    old = json.loads(Path(JOB.sidecar).read_text())
    assert old["plan"]["files"] != Planner(memory=None).plan(JOB)["files"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "look",
    [
        lambda: Path("own.txt").read_text(),
        lambda: open("own.txt").close(),  # noqa: PTH123
        lambda: open(b"own.txt").close(),  # noqa: PTH123
        lambda: os.close(os.open("own.txt", os.O_RDONLY)),
        lambda: os.close(os.open(Path("own.txt"), os.O_RDONLY)),
        lambda: Path("data/../own.txt").read_bytes(),
    ],
    ids=["a path", "open", "a name in bytes", "the system's open", "the system's open of a path", "roundabout"],
)
def test_a_file_that_no_plan_names_is_refused(look: Work) -> None:
    Path("own.txt").write_text("own")
    with pytest.raises(
        InputError, match=r"read own\.txt, which its plan does not name; let the plugin's `dependencies` name it"
    ):
        made(write, look)
    assert not Path(JOB.sidecar).exists()


def test_many_unnamed_files_are_one_line() -> None:
    for number in range(5):
        Path(f"own{number}.txt").write_text("own")

    def look() -> None:
        for path in Path().glob("own*"):
            path.read_text()

    with pytest.raises(InputError, match=r"read own0\.txt, own1\.txt, own2\.txt …, which") as refused:
        made(write, look)
    assert "\n" not in str(refused.value)


def test_what_a_job_writes_and_images_of_its_inputs_may_be_read() -> None:
    def look() -> None:
        Path("results/s/b.jsonl").read_text()
        Path("results/s/b/1.png").read_bytes()
        Path("results/s/a/1.png").read_bytes()
        Path("results/s/.c.part").write_text("half")
        Path("results/s/.c.part").read_text()

    assert made(write, look) == 0


def test_a_plug_in_that_the_list_of_jobs_does_not_name_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"ran cfeval\.edct\.plugins\.judges\.noisy, which neither its stage nor its plugins"
    ):
        made(write, lambda: loading.named.add("cfeval.edct.plugins.judges.noisy"))


def test_another_verb_than_the_one_that_the_plan_names_is_refused() -> None:
    said = r"ran cfeval\.edct\.stages\.verdicts, which neither its stage nor its plugins"
    with pytest.raises(InputError, match=said):
        made(write, lambda: loading.named.add("cfeval.edct.stages.verdicts"))


def test_what_is_outside_of_every_plan_may_run() -> None:
    outside = {"cfeval.cli", "cfeval.inference.remote.http"}
    assert made(write, lambda: loading.named.update(outside)) == 0


def test_a_job_that_makes_not_all_that_it_should_is_refused() -> None:
    with pytest.raises(InputError, match=r"ended well without having made results/s/b\.jsonl"):
        made(lambda: None)


def test_a_command_that_fails_leaves_no_sidecar() -> None:
    assert make(planned(), lambda _: 3) == 3
    assert not Path(JOB.sidecar).exists()


def test_an_own_file_among_images_is_not_lost() -> None:
    made()
    Path("results/s/b/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"results/s/b/notes\.txt: no image of this job's"):
        made()
    assert Path("results/s/b/notes.txt").read_text() == "mine"


def test_what_an_earlier_number_of_shards_left_among_images_is_removed() -> None:
    """Of three shards `X/000.jsonl` and `X/000/` lie in the folder that a single shard has for its images."""
    Path("results/s/b/000").mkdir(parents=True)
    for name in ("000.jsonl", "000/1.png", "000/2.png"):
        Path("results/s/b", name).write_text(name)
    hashes = Planner(memory=None).hashes
    outputs = {path: hashes.path(path) for path in ("results/s/b/000.jsonl", "results/s/b/000/")}
    Path("results/s/b/000.jsonl.made.json").write_text(json.dumps({"outputs": outputs}))
    assert made() == 0
    assert sorted(path.name for path in Path("results/s/b").iterdir()) == ["1.png"]


def test_a_record_of_an_earlier_number_of_shards_that_somebody_changed_is_kept() -> None:
    Path("results/s/b").mkdir()
    Path("results/s/b/000.jsonl").write_text("mine")
    Path("results/s/b/000.jsonl.made.json").write_text('{"outputs": {"results/s/b/000.jsonl": "0"}}')
    with pytest.raises(InputError, match="no image of this job's"):
        made()
    assert Path("results/s/b/000.jsonl").read_text() == "mine"


def test_a_job_is_told_by_the_run_it_belongs_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(frozen.VARIABLE, "")
    file = frozen.freeze({"edct": {"items": 3}}, [planned()])
    assert file == frozen.freeze({"edct": {"items": 3}}, [planned()]), "the same told twice is one file"
    frozen.thaw.cache_clear()
    told = frozen.thaw()
    assert told.planned("results/s/b.jsonl") == planned()
    assert isinstance(told, Frozen)
    with pytest.raises(InputError, match=r"x\.csv: no job of this run makes it; jobs are started by snakemake"):
        told.planned("x.csv")
    frozen.thaw.cache_clear()


@pytest.mark.parametrize("named", ["", "nowhere.json", "data/d.txt"])
def test_a_job_that_no_run_started_is_refused(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv(frozen.VARIABLE, named)
    frozen.thaw.cache_clear()
    with pytest.raises(InputError, match="jobs are started by snakemake, which sets it"):
        frozen.thaw()
    frozen.thaw.cache_clear()
