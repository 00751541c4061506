import io
import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

import progress


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
