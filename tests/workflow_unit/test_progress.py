import io
import logging
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import items
import progress
from cfeval.inference.remote.request import Request, Usage


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs report below the working folder, by a variable of the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CFEVAL_PROGRESS", "")


@pytest.fixture
def usual() -> io.StringIO:
    """What Snakemake's own handler shows."""
    return io.StringIO()


@pytest.fixture
def logger(usual: io.StringIO) -> logging.Logger:
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(usual))
    return logger


def event(logger: logging.Logger, name: str, message: str = "", **fields: object) -> None:
    logger.info(message, extra={"event": SimpleNamespace(name=name), **fields})


def begin(logger: logging.Logger, job: int, title: str | None) -> None:
    event(logger, "JOB_INFO", jobid=job, rule_msg=title, rule_name="a_rule", reason="Missing\noutput")


def test_a_finished_job_is_one_line(logger: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    progress.follow(logger, dry=False)
    begin(logger, 1, "baseline of grounded")
    event(logger, "JOB_FINISHED", "Finished jobid: 1", job_id=1)
    event(logger, "PROGRESS", done=3, total=9)
    assert capsys.readouterr().err.startswith("[3 of 9] baseline of grounded, 0.")


def test_a_rule_without_a_message_is_named(logger: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    progress.follow(logger, dry=True)
    begin(logger, 1, None)
    assert "would run: a_rule (Missing output)\n" in capsys.readouterr().err


def test_a_failed_job_says_why(logger: logging.Logger, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("working\ncfeval: no such file\n\n")
    progress.follow(logger, dry=False)
    begin(logger, 2, "verdicts")
    event(logger, "JOB_ERROR", jobid=2, rule_name="a_rule", log=[str(log)])
    assert f"failed: verdicts: cfeval: no such file ({log})\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "told"),
    [("CANCELLED", "Slurm says CANCELLED"), ("NODE_FAIL", "Slurm says NODE_FAIL"), ("FAILED", "cfeval: no")],
)
def test_a_job_that_a_cluster_ended_says_how(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str], tmp_path: Path, status: str, told: str
) -> None:
    log = tmp_path / "job.log"
    log.write_text("cfeval: no\n")
    progress.follow(logger, dry=False)
    begin(logger, 2, "verdicts")
    said = f"SLURM-job '7' failed, SLURM status is: '{status}'. Detailed failure reason unavailable"
    event(logger, "JOB_ERROR", jobid=2, rule_name="a_rule", rule_msg=said, log=[str(log)])
    assert f"failed: verdicts: {told} ({log})\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    "said", ["Auto-selected partition 'cpu' for job x", "Job 3 has been submitted with SLURM jobid 7 (log: x)."]
)
def test_what_a_cluster_does_with_each_job_is_not_told(logger: logging.Logger, usual: io.StringIO, said: str) -> None:
    progress.follow(logger, dry=False)
    logger.info(said)
    logger.info("SLURM run ID: 7")
    assert usual.getvalue() == "SLURM run ID: 7\n"


def test_a_failed_job_without_a_log_still_shows(logger: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    progress.follow(logger, dry=False)
    event(logger, "JOB_ERROR", jobid=2, rule_name="a_rule", log=["nowhere"])
    assert "failed: a_rule: no message (nowhere)\n" in capsys.readouterr().err


def test_snakemakes_other_messages_still_show(logger: logging.Logger, usual: io.StringIO) -> None:
    progress.follow(logger, dry=False)
    begin(logger, 1, "baselines")
    logger.info("Select jobs to execute...")
    logger.info("Nothing to be done")
    assert usual.getvalue() == "Nothing to be done\n"


@pytest.mark.parametrize("prefix", ["s3://bucket/study", "/mnt/study"])
def test_a_log_that_a_storage_provider_keeps_is_read_from_its_copy(
    logger: logging.Logger,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prefix: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    copy = Path(".snakemake/storage/any", prefix.removeprefix("s3:").lstrip("/"), "logs/job.log")
    copy.parent.mkdir(parents=True)
    copy.write_text("cfeval: no such file\n")
    progress.follow(logger, dry=False)
    begin(logger, 2, "verdicts")
    event(logger, "JOB_ERROR", jobid=2, rule_name="a_rule", log=[f"{prefix}/logs/job.log (send to storage)"])
    assert "failed: verdicts: cfeval: no such file (" in capsys.readouterr().err


def reported(job: str, done: int, total: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of baselines tracks so many of its items and then waits."""
    from cfeval.core import progress as of_job

    monkeypatch.setattr(of_job, "_REPORT_SECONDS", 0)
    of_job.begin_job("edct_baselines", job)
    tracked = of_job.track(range(total), total, "baselines")
    for _ in range(done + 1):
        next(tracked)


def test_items_of_all_jobs_are_added_up_and_those_to_come_are_guessed(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "_READ_SECONDS", 0)
    followed = progress.follow(logger, dry=False)
    event(logger, "RUN_INFO", stats={"edct_baselines": 3, "edct_scores": 3, "total": 6})
    begin(logger, 1, "baselines")
    assert followed.lines() == []
    reported("a", 30, 5000, monkeypatch)
    reported("b", 10, 1000, monkeypatch)
    [line] = followed.lines()
    assert re.fullmatch(r"edct_baselines: 40 of about 9,000 items, [\d,.]+ a second, \d+:\d\d(:\d\d)? left", line)


def test_what_a_former_run_reported_is_forgotten_and_a_dry_run_touches_nothing(
    logger: logging.Logger, tmp_path: Path
) -> None:
    old = tmp_path / ".cfeval/progress/x.json"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    begin_dry = progress.follow(logger, dry=True)
    begin(logger, 1, "baselines")
    assert (begin_dry.lines(), old.exists()) == ([], True)
    real = logging.Logger("a run after the dry one")
    progress.follow(real, dry=False)
    begin(real, 2, "baselines")
    assert not old.exists()


def test_the_ledger_counts_from_the_start_of_the_run(tmp_path: Path, logger: logging.Logger) -> None:
    from cfeval.inference.remote.cache import Budget, ResponseCache, UsageEntry

    file = tmp_path / "calls.sqlite"
    cache = ResponseCache(file)
    call = Request("chat", "http://x", "m", {}, 0, "i")
    cache.send(call, 1.0, Budget())
    followed = progress.follow(logger, dry=True)
    followed.items.watch(file)
    assert followed.lines() == [], "what was sent before is another run's"
    cache.send(call, 0.5, Budget())
    cache.send(call, 0.25, Budget())
    cache.record_usage(UsageEntry(2, "ok", Usage(cost_usd=0.125), None, True))
    assert followed.lines() == ["1 calls waiting for a reply, 2 sent, 0.3750 USD so far"]
