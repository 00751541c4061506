"""Runs that end badly: killed while they write, failed jobs, and two at once."""

import sys
import time

import pytest

from tests.workflow.conftest import Copy
from tests.workflow.study import CONDITION, Study, wait
from tests.workflow.watched import EVERYTHING, JUDGED, VERDICT, VERDICTS, hold, let_go, waiting

pytestmark = pytest.mark.usefixtures("plain_programs")


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(fresh: Study, finished: Study, copy: Copy) -> None:
    study = copy(fresh)
    run = study.start("snakemake")
    wait(lambda: len(study.noted()) >= 15, run, 300)
    study.kill(run)
    made = len(study.noted())
    resumed = sum(study.jobs("snakemake").values())
    assert resumed <= sum(EVERYTHING.values()) - made + 2, "no more again than may have been at work"
    assert study.stale() == {}
    study.run("cfeval", "seal", "edct")
    here, there = study.results(), finished.results()
    assert here == there


def test_a_job_killed_while_it_writes(study: Study, truth: Study) -> None:
    study.set_threshold(0.8)
    old = (study.root / VERDICT).read_bytes()
    hold(study)
    run = study.start("snakemake", "--", *VERDICTS)
    wait(lambda: waiting(study), run)
    study.kill(run)
    let_go(study)
    (study.root / VERDICT).write_bytes(old[: len(old) // 2])  # as a writer less careful leaves it
    assert VERDICT in study.stale()
    assert study.jobs("snakemake", "--", "edct_verdicts_all") == JUDGED
    beneath = "results/edct/scores"
    assert study.results(beneath) == truth.results(beneath)


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
    assert study.try_("cfeval", "seal", "edct").returncode == 2
    (study.home / "fail" / "i3 said").unlink()
    assert study.jobs(*asked) == {"verdicts": 3}
    assert "verdicts" not in study.stale_stages()


def test_a_second_run_refuses_and_a_killed_ones_lock_is_removed(study: Study) -> None:
    study.set_threshold(0.8)
    hold(study)
    run = study.start(sys.executable, "-m", "snakemake", "--", VERDICT)
    wait(lambda: waiting(study), run)
    for command in (["snakemake"], [sys.executable, "-m", "snakemake", "--", VERDICT]):
        said = study.refused(*command)
        assert said == f"cfeval: process {run.pid} is at work in this folder; wait for it, or work in a copy"
    assert f"but process {run.pid} is at work" in study.run("cfeval", "doctor", "--dry-run")
    assert list((study.root / ".snakemake/locks").iterdir()), "the lock of a run that is alive stays"
    study.kill(run)
    let_go(study)
    assert list((study.root / ".snakemake/locks").iterdir())
    assert study.jobs("snakemake", "--", VERDICT) == {"verdicts": 1}


def test_a_run_on_another_machine_keeps_its_lock(study: Study) -> None:
    study.set_threshold(0.8)
    locks = study.root / ".snakemake/locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text(f"{VERDICT}\n")
    (study.root / ".cfeval/run.lock").write_text("node-7 12\n")
    refused = study.try_("snakemake", "--", VERDICT)
    assert (refused.returncode != 0, "unlock" in refused.stdout + refused.stderr) == (True, True)
    (study.root / ".cfeval/run.lock").unlink()
    assert study.jobs("snakemake", "--", VERDICT) == {"verdicts": 1}


def test_the_doctor_mends_a_killed_dvc(study: Study) -> None:
    study.set_threshold(0.8)
    hold(study)
    run = study.start("dvc", "repro")
    wait(lambda: waiting(study), run)
    study.kill(run)
    let_go(study)
    (study.root / ".dvc/tmp/rwlock").write_text("")
    assert study.try_("dvc", "repro").returncode != 0
    assert "rwlock" in study.run("cfeval", "doctor")
    assert "nothing to mend" in study.run("cfeval", "doctor")
    study.run("dvc", "repro", "plan")


def test_what_a_job_waits_for_is_no_part_of_it(study: Study, finished: Study) -> None:
    """A held job ends with the same bytes as one that was not."""
    (study.root / VERDICT).unlink()
    hold(study)
    run = study.start("snakemake", "--", VERDICT)
    wait(lambda: waiting(study), run)
    time.sleep(0.2)
    let_go(study)
    assert run.wait() == 0, study.said
    for path in (VERDICT, f"{VERDICT}.made.json"):
        assert (study.root / path).read_bytes() == (finished.root / path).read_bytes()
