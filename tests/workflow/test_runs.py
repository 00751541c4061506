"""Runs in which something happens meanwhile: edits, kills, failures, a second run, jobs that wait in a queue."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow.conftest import Copy
from tests.workflow.study import CONDITION, Study, offer, wait
from tests.workflow.watched import (
    EVERYTHING,
    FILE,
    HELPER,
    OTHERS,
    PROMPT,
    VERDICT,
    VERDICTS,
    hold,
    let_go,
    waiting,
)

SCRIPTED = "packages/cfeval_testbed/cfeval_testbed/mocks/judges.py"
FATAL = '''"""The scripted editor, which kills its process after some images where `die` lies beside the study."""

import os
import signal

from cfeval_testbed.mocks import editors


class Plugin(editors.Plugin):
    def build(self):
        return Fatal(super().build())


class Fatal:
    def __init__(self, editor):
        self.editor, self.count = editor, 0

    def __getattr__(self, name):
        return getattr(self.editor, name)

    async def edit(self, request):
        self.count += 1
        if self.count > 3 and os.path.exists("../die"):
            os.kill(os.getpid(), signal.SIGKILL)
        return await self.editor.edit(request)
'''


def held(study: Study, *targets: str) -> "subprocess.Popen[bytes]":
    """Start a run, and wait until a job of the watched judge has read what it reads."""
    hold(study)
    run = study.start("snakemake", "--", *targets)
    wait(lambda: waiting(study), run)
    return run


def test_case_a_what_is_edited_while_a_job_reads_it_ends_the_job_and_nothing_is_kept(
    study: Study, finished: Study
) -> None:
    weights = study.home / "weights.bin"
    weights.write_bytes(b"1" * 100)
    study.change(lambda edct: edct["judges"]["j"].update(weights=str(weights)))
    edits: dict[str, Callable[[], object]] = {
        PROMPT: lambda: study.replace(PROMPT, "what changed", "strictly"),
        str(weights): lambda: weights.write_bytes(b"2" * 100),
        HELPER: lambda: study.replace(HELPER, "/ 256", "/ 200"),
    }
    record = study.root / f"{VERDICT}.made.json"
    before = record.read_bytes(), (study.root / VERDICT / FILE).read_bytes()
    for name, edit in edits.items():
        run = held(study, VERDICT)
        edit()
        let_go(study)
        assert run.wait() == 1
        assert re.search(f"{re.escape(name)} changed while .*; start again", study.said)
        now = record.read_bytes(), (study.root / VERDICT / FILE).read_bytes()
        assert now == before, "Snakemake puts back what was there, with its record"
    record.unlink()
    run = held(study, VERDICT)
    study.replace(HELPER, "/ 200", "/ 201")
    let_go(study)
    assert run.wait() == 1
    assert not record.exists()
    assert study.jobs("snakemake", "--", VERDICT) == {"verdicts": 1}
    assert VERDICT not in study.stale(targets=(VERDICT,))
    assert (study.root / VERDICT / FILE).read_bytes() != (finished.root / VERDICT / FILE).read_bytes()


def test_case_b_what_was_made_with_code_that_is_reverted_is_made_again(study: Study, finished: Study) -> None:
    """A job runs edited code while another waits, which has not loaded it; then the code is as before."""
    for path in (VERDICT, OTHERS):
        (study.root / f"{path}.made.json").unlink()
    hold(study)
    study.replace(SCRIPTED, "byte < 256 *", "byte > 256 *")
    run = study.start("snakemake", "--cores", "2", "--", VERDICT, OTHERS)
    wait(lambda: waiting(study), run)
    wait((study.root / f"{OTHERS}.made.json").exists, run)
    time.sleep(1)  # within a second Python itself would not see that the file has changed
    study.replace(SCRIPTED, "byte > 256 *", "byte < 256 *")
    let_go(study)
    assert run.wait() == 2
    assert f"1 results no longer hold, as {OTHERS} (code has changed: cfeval_testbed.mocks.judges)" in study.said
    assert study.jobs("snakemake") == {"verdicts": 1}
    assert study.results() == finished.results()


@pytest.mark.usefixtures("plain_programs")
def test_case_c_a_job_in_a_queue_has_the_parameters_that_it_was_sent_with(study: Study, truth: Study) -> None:
    study.set_threshold(0.8)
    where = f"{study.environment['PYTHONPATH']}:{Path(__file__).parent / 'queue'}"
    options = ("--executor", "queue", "--jobs", "4", "--seconds-between-status-checks", "0", "--latency-wait", "10")
    run = study.start("snakemake", *options, "--", *VERDICTS, PYTHONPATH=where)
    wait((study.home / "submitted").exists, run)
    study.set_threshold(0.1)
    (study.home / "go").touch()
    assert run.wait() == 0, study.said
    [made] = json.loads((study.root / f"{VERDICT}.made.json").read_text())["steps"]
    assert made["options"]["--judge"]["threshold"] == 0.8
    assert (study.root / VERDICT / FILE).read_bytes() == (truth.root / VERDICT / FILE).read_bytes()
    assert study.stale()[VERDICT] == "--judge: threshold changed"
    study.set_threshold(0.8)
    assert not set(VERDICTS) & set(study.stale())
    alone = study.try_("snakemake", "--mode", "remote", "--executor", "local", "--", VERDICT)
    assert alone.returncode != 0
    assert "CFEVAL_PARAMS" in alone.stdout + alone.stderr, "a job of nobody's says what it lacks"
    assert "Traceback" not in alone.stdout + alone.stderr


@pytest.mark.usefixtures("plain_programs")
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(fresh: Study, finished: Study, copy: Copy) -> None:
    study = copy(fresh)
    run = study.start("snakemake")
    wait(lambda: len(study.noted()) >= 10, run)
    study.kill(run)
    made = len(study.noted())
    resumed = sum(study.jobs("snakemake").values())
    assert resumed <= sum(EVERYTHING.values()) - made + 2, "no more again than may have been at work"
    assert study.stale() == {}
    here = {name: content for name, content in study.results().items() if not name.endswith(".part")}
    assert here == finished.results(), "with the records, of processes that are no forks"


def test_a_job_killed_among_its_images_and_one_half_written(study: Study, finished: Study) -> None:
    offer(study.root, "editors", "fatal", FATAL)
    study.change(lambda edct: edct["editors"].update(ea={"plugin": "fatal", "strength": 0.5}))
    output = "results/edct/counterfactuals/mine/ma/w/ea/000"
    shutil.rmtree(study.root / output)
    (study.root / f"{output}.made.json").unlink()
    (study.home / "die").touch()
    assert study.try_("snakemake", "--", output).returncode == 1
    assert not (study.root / f"{output}.made.json").exists()
    (study.home / "die").unlink()
    (study.root / output / "edct-2025").mkdir(parents=True, exist_ok=True)
    (study.root / output / "edct-2025/left.png").write_text("of a run that was killed")
    assert study.jobs("snakemake", "--", output) == {"counterfactuals": 1}
    assert study.results(f"{output}/edct-2025") == finished.results(f"{output}/edct-2025")
    (study.root / f"{VERDICT}.made.json").unlink()
    study.kill(held(study, VERDICT))
    let_go(study)
    file = study.root / VERDICT / FILE
    file.write_bytes(file.read_bytes()[:30])  # as a writer less careful leaves it
    assert study.jobs("snakemake", "--", VERDICT)["verdicts"] == 1
    assert file.read_bytes() == (finished.root / VERDICT / FILE).read_bytes()


def test_failed_jobs_do_not_take_the_others_with_them(study: Study) -> None:
    """Of 12 jobs 3 fail; the next run makes these."""

    def judges(edct) -> None:
        watched = edct["judges"]["j"]
        edct["judges"] = {f"j{number}": watched | {"threshold": number / 10} for number in (1, 2, 3)}
        edct["tables"]["table1"] = [CONDITION | {"vlm": ["ma", "mb"], "judge": ["j1", "j2", "j3"]}]

    study.change(judges)
    (study.home / "fail").mkdir()
    (study.home / "fail" / "i3 said").touch()  # what one target answers about one item
    asked = ("snakemake", "--until", "edct_verdicts")
    with study.counting() as tried:
        failed = study.try_(*asked)
    assert failed.returncode == 1
    assert failed.stderr.count("failed: verdicts of j") == 3
    assert tried == {"verdicts": 9}
    assert sum("/verdicts/" in name for name in study.stale()) == 3
    assert not study.is_verified()
    (study.home / "fail" / "i3 said").unlink()
    assert study.jobs(*asked) == {"verdicts": 3}
    assert "verdicts" not in study.stale_stages()


@pytest.mark.usefixtures("plain_programs")
def test_a_second_run_is_refused_and_what_a_killed_one_left_is_no_lock(study: Study) -> None:
    study.set_threshold(0.8)
    hold(study)
    run = study.start(sys.executable, "-m", "snakemake", "--", VERDICT)
    wait(lambda: waiting(study), run)
    for command in (["snakemake"], [sys.executable, "-m", "snakemake", "--", VERDICT]):
        said = study.refused(*command)
        assert said == f"cfeval: process {run.pid} is at work in this folder; wait for it, or work in a copy"
    assert f"but process {run.pid} is at work" in study.run("cfeval", "doctor", "--dry-run")
    locks = study.root / ".snakemake/locks"
    assert list(locks.iterdir()), "the lock of a run that is alive stays"
    study.kill(run)
    let_go(study)
    assert list(locks.iterdir())
    assert study.jobs("snakemake", "--", VERDICT) == {"verdicts": 1}
    study.set_threshold(0.7)
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text(f"{VERDICT}\n")
    (study.root / ".cfeval/run.lock").write_text("node-7 12\n")
    refused = study.try_("snakemake", "--", VERDICT)
    assert (refused.returncode != 0, "unlock" in refused.stdout + refused.stderr) == (True, True), "another machine's"
    (study.root / ".cfeval/run.lock").unlink()
    assert study.jobs("snakemake", "--", VERDICT) == {"verdicts": 1}
