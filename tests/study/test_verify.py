"""`cfeval verify [DIR]` and `cfeval status`: whether results are what would be made now, by the records of steps."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval import cli
from cfeval.core.hashes import Hashes
from cfeval.core.record import Records
from cfeval.study.verification import Results
from cfeval.study.whole import Job, outdated, whole
from tests.conftest import Run
from tests.images import image

CONDITION = {"dataset": ["d"], "vlm": ["m", "n"], "writer": ["w"], "editor": ["e"], "judge": ["j"]}
PARAMS: dict[str, Any] = {
    "edct": {
        "items": 3,
        "seed": 1,
        "edits": 1,
        "datasets": {"d": {"plugin": "world"}},
        "vlms": {"m": {"plugin": "mock"}, "n": {"plugin": "mock", "replies": ["said {image}"]}},
        "instruction_writers": {"w": {"plugin": "mock"}},
        "editors": {"e": {"plugin": "mock"}},
        "judges": {"j": {"plugin": "mock"}},
        "verifiers": {},
        "interval": {"method": "wilson", "level": 0.95, "resamples": 100, "seed": 0},
        "tables": {"table1": [CONDITION], "bench": [CONDITION | {"vlm": ["m"]}]},
    },
}
FOLDER = Path("results/edct")
VERDICTS = FOLDER / "verdicts/d/m/w/e/j"
SCORES = FOLDER / "scores/d/m"


def make() -> list[Job]:
    """Run the jobs of the study in the working folder that are out of date, in this process; all its jobs."""
    jobs = whole().jobs(["edct"])
    to_do = outdated(jobs)
    for job in jobs:
        if job.name in to_do:
            assert cli.run(job.words) == 0
    return jobs


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that was run, and its jobs in a file beside it."""
    place = tmp_path_factory.mktemp("made") / "study"
    place.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        write(PARAMS)
        make()
    return place


@pytest.fixture
def study(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the working folder."""
    monkeypatch.chdir(Path(shutil.copytree(made, tmp_path / "study")))
    return Path()


@pytest.fixture(scope="module")
def jobs(made: Path) -> Iterator[list[Job]]:
    """Its jobs, all of which are what would be made now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        yield whole().jobs(["edct"])


def write(params: Any) -> None:
    Path("params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))


def change(change_of: Callable[[Any], object]) -> None:
    """Change the section `edct` of params.yaml."""
    params = yaml.safe_load(Path("params.yaml").read_text())
    change_of(params["edct"])
    write(params)


def faults(jobs: list[Job]) -> list[str]:
    records = Records()
    found = list(Results(str(FOLDER), jobs, records).faults())
    records.remember()
    return found


def state() -> dict[str, tuple[bytes, int]]:
    """Every result, its content and its time."""
    files = (file for file in Path("results").rglob("*") if file.is_file())
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def test_all_is_fine_nothing_is_changed_and_a_run_that_is_at_work_does_not_matter(cfeval: Run, study: Path) -> None:
    before = state()
    Path(".cfeval/run.lock").touch()
    with Path(".cfeval/run.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        number = len(list(FOLDER.rglob("*.made.json")))
        assert cfeval("status") == (0, f"results: all {number} results are up to date\n", "")
        status, out, err = cfeval("verify")
    assert (status, err) == (0, "")
    assert out == f"{FOLDER}: all {number} results are up to date, and records account for every file\n"
    assert state() == before
    assert cfeval("verify", "edct", "--results", FOLDER)[0] == 2
    status, out, err = cfeval("verify", "--results", FOLDER)
    assert status == 0, err
    assert "tables 19" in out
    assert "\nfine; the chain's head is" in out


def flip(file: Path) -> None:
    """Change a bit of a file; size and time stay."""
    before, content = file.stat(), bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def forge(file: Path) -> None:
    """Change a file, and its hash in the record beside it."""
    record = Path(f"{file.parent}.made.json")
    old = Hashes().file(str(file))
    flip(file)
    record.write_text(record.read_text().replace(str(old), str(Hashes().file(str(file)))))


def edit_record(record: Path, part: str, value: dict[str, str]) -> None:
    content = json.loads(record.read_text())
    content["steps"][0][part] |= value
    record.write_text(json.dumps(content))


def an_image() -> Path:
    return next(Path(f"{FOLDER}/counterfactuals/d/m/w/e/edct-2025").rglob("*.png"))


CHANGES: dict[str, tuple[Callable[[], object], str]] = {
    "an output": (
        lambda: flip(VERDICTS / "edct-2025.jsonl"),
        f"{VERDICTS}/edct-2025.jsonl: {VERDICTS}/edct-2025.jsonl has changed",
    ),
    "an image": (lambda: flip(an_image()), "/edct-2025/ has changed"),
    "one more image": (lambda: an_image().with_name("x.png").write_bytes(image(1).png), "/edct-2025/ has changed"),
    "an output is gone": (lambda: Path(f"{FOLDER}/items/d.jsonl").unlink(), "items/d.jsonl is missing"),
    "a forged file with its own record": (
        lambda: forge(VERDICTS / "edct-2025.jsonl"),
        f"{SCORES}: {VERDICTS}/edct-2025.jsonl has changed",
    ),
    "code": (
        lambda: edit_record(Path(f"{SCORES}.made.json"), "code", {"cfeval.edct.metrics": "0"}),
        f"{SCORES}: code has changed: cfeval.edct.metrics",
    ),
    "a package": (
        lambda: edit_record(Path(f"{SCORES}.made.json"), "packages", {"numpy": "0.1"}),
        ", was 0.1",
    ),
    "an input that nobody made": (
        lambda: edit_record(Path(f"{SCORES}.made.json"), "inputs", {f"{FOLDER}/mine.csv": "00"}),
        f"{SCORES}: made from {FOLDER}/mine.csv, which no record names",
    ),
    "a stray file": (
        lambda: Path(f"{VERDICTS}/notes.txt").write_text("mine"),
        f"{VERDICTS}/notes.txt: no record names it; move it out of the results",
    ),
    "no record": (
        lambda: Path(f"{VERDICTS}.made.json").write_text("[]"),
        f"{VERDICTS}.made.json: is no record of a step",
    ),
    "a record elsewhere": (
        lambda: shutil.copy(f"{VERDICTS}.made.json", f"{SCORES}.made.json"),
        f"{SCORES}.made.json: tells of other files than those beside which it lies",
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_whatever_is_changed_is_named(study: Path, jobs: list[Job], kind: str) -> None:
    assert faults(jobs) == []
    Path(f"{VERDICTS}/.hidden.12.part").touch()
    Path(f"{VERDICTS}/.snakemake_timestamp").touch()
    assert faults(jobs) == []
    do, says = CHANGES[kind]
    do()
    assert [line for line in faults(jobs) if says in line]


def test_what_is_out_of_date_is_listed_parents_first_and_refused(cfeval: Run, study: Path) -> None:
    change(lambda edct: edct["judges"]["j"].update(threshold=0.9))
    shutil.rmtree(FOLDER / "figures")
    Path(f"{FOLDER}/figures.made.json").unlink()
    status, out, _ = cfeval("status", "--evaluation", "edct")
    lines = out.splitlines()
    assert status == 1
    assert lines[0] == f"{VERDICTS}: --judge: threshold changed"
    assert lines[1] == f"{SCORES}: made from {VERDICTS}, which is outdated"
    assert f"{FOLDER}/figures/edct_forest.png: not made yet" in lines
    assert "  and 1 more of edct_verdicts: --judge: threshold changed" in lines
    assert "  and 1 more of edct_scores: made from other outdated results" in lines
    assert lines[-1] == "results: 8 of 19 results are outdated or missing"
    more = cfeval("status", "--evaluation", "edct", "--all")[1].splitlines()
    assert len(more) == 9
    status, out, err = cfeval("verify", "--limit", 1)
    assert status == 2
    assert out.splitlines() == [f"FAIL {lines[0]}", "FAIL … and 4 more; see --limit"]
    assert err == f"cfeval: {FOLDER}: 8 of 19 results are outdated or missing; run the study again\n"
    for command, evaluation in (("status", "edtc"), ("verify", "edtc"), ("verify", "vce")):
        status, _, err = cfeval(command, "--evaluation", evaluation)
        assert (status, err.count("\n")) == (2, 1), command
    shutil.rmtree("results")
    assert cfeval("status")[1].endswith("\nresults: 19 of 19 results are outdated or missing\n")


def test_results_of_former_parameters_are_named_and_on_demand_removed(cfeval: Run, study: Path) -> None:
    former = [Path(f"{FOLDER}/baselines/d/n.jsonl"), Path(f"{FOLDER}/scores/d/n/w/e/j/edct-2025.csv")]
    change(lambda edct: edct["tables"].update(table1=[CONDITION | {"vlm": ["m"]}], bench=[]))
    make()
    beside = VERDICTS / "edct-bench-2026.jsonl"
    assert all(file.is_file() for file in [*former, beside])
    assert not Path(f"{FOLDER}/tables/edct_bench.csv").exists(), "the step removes what it no longer makes"
    status, out, _ = cfeval("verify")
    assert status == 0
    assert f"{beside}: made with earlier parameters\n" in out
    assert "--remove-former removes results of earlier parameters" in out

    former[0].write_text("mine\n")
    status, out, err = cfeval("verify", "--remove-former")
    assert (status, f"{former[0]}: made with earlier parameters and changed since" in out) == (2, True), err
    assert former[1].is_file()
    former[0].unlink()

    status, out, _ = cfeval("verify", "--evaluation", "edct", "--remove-former")
    assert (status, f"{former[1]}: made with earlier parameters, removed\n" in out) == (0, True)
    assert not any(file.exists() for file in [*former, beside])
    assert not Path(f"{FOLDER}/scores/d/n").exists()
    assert [
        step["options"]["--protocol"] for step in json.loads(Path(f"{VERDICTS}.made.json").read_text())["steps"]
    ] == ["edct-2025"]
    assert cfeval("verify")[1] == f"{FOLDER}: all 12 results are up to date, and records account for every file\n"


def test_a_study_in_which_nothing_was_scored_is_not_verified(cfeval: Run, study: Path) -> None:
    ids = [json.loads(line)["id"] for line in Path(f"{FOLDER}/items/d.jsonl").read_text().splitlines()]
    change(lambda edct: edct["tables"].update(table1=[CONDITION | {"vlm": ["m"]}], bench=[]))
    change(lambda edct: edct["judges"]["j"].update(statuses=dict.fromkeys(ids, "unparsable")))
    make()
    status, _, err = cfeval("verify")
    assert status == 2
    assert "cfeval: edct: nothing was scored, so there is no result; of 3 items and edits none has a score: 3 ×" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--evaluation", "edct", "--key", "k.pub"), "--key belongs to `cfeval verify BUNDLE.zip`"),
        (("--results", "results/edct", "--remove-former"), "--remove-former belongs to `cfeval verify [DIR]`"),
        (("params.yaml", "--calls", "c.zip"), "--calls belongs to `cfeval verify --results FOLDER`"),
        (("--name", "x", "--failed-edits", "0.1"), "--failed-edits belongs to `cfeval verify --results FOLDER`"),
        (("none.zip",), "none.zip: no such folder; `cfeval init none.zip` makes a study"),
        (("edct",), "edct: no such folder; to choose an evaluation, write --evaluation edct"),
    ],
)
def test_an_option_of_another_use_is_refused_in_one_line(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(PARAMS)
    status, out, err = cfeval("verify", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err
