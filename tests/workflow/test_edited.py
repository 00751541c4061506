"""Whatever a result rests on is edited: before a run, while a job works or waits in a queue, and after."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workflow.conftest import Copy
from tests.workflow.study import Study, by_folder, wait
from tests.workflow.watched import (
    AFTER,
    HELPER,
    JUDGED,
    OTHERS,
    PLUG_IN,
    PROMPT,
    VERDICT,
    VERDICTS,
    hold,
    install,
    let_go,
    waiting,
)

SCRIPTED = "src/cfeval/testbed/mocks/judges.py"


def weights_of(study: Study) -> Path:
    return study.home / "weights.bin"


def with_weights(study: Study) -> None:
    """Let the judge read weights that lie elsewhere."""
    weights_of(study).write_bytes(b"1" * 100)
    study.change(lambda edct: edct["judges"]["j"].update(weights=str(weights_of(study))))


@dataclass(frozen=True)
class Edit:
    """An edit of something that results rest on."""

    make: Callable[[Study], object]
    stale: dict[str, int]
    """What is stale at once, by folder of results."""
    why: str


EDITS = {
    "a prompt": Edit(lambda s: s.replace(PROMPT, "what changed", "strictly"), {"verdicts": 2}, f"files {PROMPT}"),
    "a plugin": Edit(lambda s: s.replace(PLUG_IN, "digest[:2]", "digest[2:4]"), {"verdicts": 2}, "code judges:watched"),
    "a helper module": Edit(lambda s: s.replace(HELPER, "/ 256", "/ 100"), {"verdicts": 2}, "code judges:watched"),
    "a package": Edit(lambda s: install(s, "2.0"), {"verdicts": 2}, "versions fakelib"),
    "a data file": Edit(lambda s: s.replace("data/mine.jsonl", "What is 3?", "What is 4?"), {"items": 1}, "files data"),
    "an image": Edit(lambda s: _repaint(s.root / "data/mine"), {"items": 1}, "files data/mine/"),
}
"""What is edited and what `cfeval status` says."""


def _repaint(folder: Path) -> None:
    one, other = sorted(folder.glob("*.png"))[:2]
    one.write_bytes(other.read_bytes())


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_what_was_edited_after_a_run_is_not_sealed(study: Study, edit: Edit) -> None:
    edit.make(study)
    stale = study.stale()
    assert by_folder(stale) == edit.stale
    assert all(edit.why in why for why in stale.values())
    refused = study.try_("cfeval", "seal", "edct")
    assert (refused.returncode, "jobs are not what would be made now" in refused.stderr) == (2, True)
    assert f"stale: {next(iter(stale))}: {next(iter(stale.values()))}" in refused.stdout


def test_weights_elsewhere_are_not_sealed_once_they_are_others(study: Study) -> None:
    with_weights(study)
    assert study.jobs("snakemake", "--", *VERDICTS) == {"verdicts": 2}
    assert not set(VERDICTS) & set(study.stale())
    weights_of(study).write_bytes(b"2" * 100)
    assert study.stale()[VERDICT] == f"changed: files {weights_of(study)}"


def test_what_was_edited_before_a_run_counts_in_it(study: Study, finished: Study) -> None:
    for name in ("a prompt", "a plugin", "a helper module", "a package"):
        EDITS[name].make(study)
    assert study.jobs("snakemake") == JUDGED | AFTER
    made = json.loads((study.root / f"{VERDICT}.made.json").read_text())
    assert made["plan"]["versions"]["fakelib"] == "2.0"
    assert study.table() != finished.table()
    assert study.stale() == {}
    assert "edct: sealed, " in study.run("cfeval", "seal", "edct")


WHILE = {name: EDITS[name] for name in ("a prompt", "a plugin", "a helper module")}


@pytest.mark.parametrize("edit", WHILE.values(), ids=WHILE)
def test_case_a_what_is_edited_while_a_job_works_ends_the_job(study: Study, finished: Study, edit: Edit) -> None:
    """The job has read the old prompt or run the old code: no record may speak of the new one, nor of both."""
    (study.root / VERDICT).unlink()
    before = (study.root / f"{VERDICT}.made.json").read_bytes()
    hold(study)
    run = study.start("snakemake", "--", VERDICT)
    wait(lambda: waiting(study), run)
    edit.make(study)
    let_go(study)
    ended, sidecar = run.wait(), study.root / f"{VERDICT}.made.json"
    if ended:
        assert "changed after this run was planned; start it again" in study.said
    assert not sidecar.exists() or sidecar.read_bytes() == before, "it may say that the old was used, which is so"
    assert set(study.stale()) >= set(VERDICTS)
    assert study.jobs("snakemake", "--", VERDICT) == {"verdicts": 1}
    assert VERDICT not in study.stale()
    assert (study.root / VERDICT).read_bytes() != (finished.root / VERDICT).read_bytes()


@pytest.mark.parametrize("what", ["weights", "a package"])
def test_case_a_weights_and_packages_too(study: Study, what: str) -> None:
    with_weights(study)
    hold(study)
    run = study.start("snakemake", "--", VERDICT)
    wait(lambda: waiting(study), run)
    weights_of(study).write_bytes(b"2" * 100) if what == "weights" else install(study, "2.0")
    let_go(study)
    ended = run.wait()
    assert ended == 1 or what == "a package", "which version of a package runs is fixed once it is imported"
    assert VERDICT in study.stale()
    assert study.jobs("snakemake", "--", VERDICT) == {"verdicts": 1}
    assert VERDICT not in study.stale()


def test_case_b_code_edited_while_an_earlier_job_works_and_reverted(study: Study, finished: Study) -> None:
    for path in (VERDICT, OTHERS):
        (study.root / path).unlink()
    hold(study)
    run = study.start("snakemake", "--cores", "1", "--prioritize", VERDICT, "--", VERDICT, OTHERS)
    wait(lambda: waiting(study), run)
    study.replace(SCRIPTED, "byte < 256 *", "byte > 256 *")
    let_go(study)
    if run.wait():
        assert f"{OTHERS}: code, files or packages changed after this run was planned" in study.said
        assert not (study.root / OTHERS).exists()
    study.replace(SCRIPTED, "byte > 256 *", "byte < 256 *")
    study.run("snakemake")
    assert study.stale() == {}
    assert study.results() == finished.results()


def queued(study: Study, *targets: str) -> "tuple[object, Callable[[], int]]":
    """Send jobs to a queue; returns the run, and what lets the jobs go and waits for its end."""
    where = f"{study.environment['PYTHONPATH']}:{Path(__file__).parent / 'queue'}"
    options = ("--executor", "queue", "--jobs", "4", "--seconds-between-status-checks", "0", "--latency-wait", "10")
    run = study.start("snakemake", *options, "--", *targets, PYTHONPATH=where)
    wait((study.home / "submitted").exists, run)

    def go() -> int:
        (study.home / "go").touch()
        return run.wait()

    return run, go


@pytest.mark.usefixtures("plain_programs")
def test_case_c_a_job_in_a_queue_does_not_read_the_parameters_again(study: Study, truth: Study) -> None:
    study.set_threshold(0.8)
    _, go = queued(study, *VERDICTS)
    study.set_threshold(0.1)
    assert go() == 0, study.said
    made = json.loads((study.root / f"{VERDICT}.made.json").read_text())
    assert '"threshold": 0.8' in " ".join(made["plan"]["command"])
    assert (study.root / VERDICT).read_bytes() == (truth.root / VERDICT).read_bytes()
    assert study.stale()[VERDICT] == "changed: parameters"
    study.set_threshold(0.8)
    assert not set(VERDICTS) & set(study.stale())


@pytest.mark.usefixtures("plain_programs")
def test_case_c_code_edited_while_a_job_waits_in_a_queue_is_refused(study: Study) -> None:
    study.set_threshold(0.8)
    _, go = queued(study, VERDICT)
    study.replace(PLUG_IN, "digest[:2]", "digest[2:4]")
    assert go() != 0
    assert "changed after this run was planned" in study.said + (study.home / "queue.log").read_text()
    assert set(study.stale()) >= set(VERDICTS)


WORDS = {
    "a comment": lambda s: s.edit(SCRIPTED, "# a remark"),
    "a docstring": lambda s: s.replace(PLUG_IN, '"""Draws scores by hash."""', '"""Draws."""'),
    "a help text": lambda s: s.replace("src/cfeval/edct/stages/verdicts.py", 'help="', 'help="In other words: '),
    "an annotation": lambda s: s.replace(SCRIPTED, "def build(self) -> Judge:", "def build(self):"),
    "progress": lambda s: s.replace("src/cfeval/core/progress.py", "def ", "UNUSED = 1\n\n\ndef "),
    "the wording of an error": lambda s: s.replace(
        "src/cfeval/testbed/mocks/judges.py", "mock crash on item", "a crash on item"
    ),
    "the workflow": lambda s: s.edit("workflow/rules/edct.smk", "# a remark"),
}


def test_words_cost_nothing(study: Study, finished: Study) -> None:
    """No job runs, and neither DVC nor git has anything new but what was edited."""
    for edit in WORDS.values():
        edit(study)
    assert study.stale() == {}
    assert study.jobs("dvc", "repro", "--quiet") == {}
    edited = {line.split()[-1] for line in study.run("git", "status", "--short").splitlines()}
    assert "dvc.lock" not in edited
    assert not {name for name in edited if not name.startswith(("src/", "workflow/"))}
    assert study.results() == finished.results()


def test_a_helper_edited_without_another_result_stops_what_follows(study: Study, finished: Study) -> None:
    """Early cut-off: the verdicts are made again, and what rests on them fits as it is."""
    study.replace(HELPER, "/ 256", "/ 256.0")
    assert study.jobs("snakemake") == {"verdicts": 2}
    assert study.stale() == {}
    assert study.results("results/edct/tables") == finished.results("results/edct/tables")


@pytest.mark.parametrize("kind", ["a CSV", "a folder"])
def test_case_f_own_images_and_questions_count_where_they_lie(fresh: Study, copy: Copy, kind: str) -> None:
    study = copy(fresh)
    folder = study.home / "completion"  # outside the study
    path = folder / "samples.csv" if kind == "a CSV" else folder
    own = {"plugin": "files", "path": str(path), "question": "What?"}
    study.change(lambda edct: edct["datasets"].update(mine=own))
    samples = "results/edct/items/mine/000.jsonl"
    assert study.jobs("snakemake", "--", samples) == {"items": 1}
    assert samples not in study.stale()
    (folder / "3.png").write_bytes((folder / "4.png").read_bytes())
    assert study.stale()[samples].startswith("changed: files ")
    assert study.jobs("snakemake", "--", samples) == {"items": 1}
    if kind == "a CSV":
        path.write_text(path.read_text().replace("What is 3?", "What is it?"))
        assert study.stale()[samples] == f"changed: files {path}"
