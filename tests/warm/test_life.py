"""Who ends with whom: parent with starter, fork with client; and what is left runs cold."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cfeval.warm.start import start
from tests.warm.conftest import STAND_IN, Jobs, Starts, environment, gone, until, written

STARTER = """
import subprocess, sys, time
from pathlib import Path
from cfeval.warm.start import start
warm = start(Path(sys.argv[1], "log"), sys.argv[2:])
client = subprocess.Popen(["cfeval", "wait", sys.argv[1] + "/fork"])
other = subprocess.Popen(["sleep", "60"])
print(warm.process.pid, client.pid, other.pid, warm.folder, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_client_that_is_killed_takes_its_fork_with_it(jobs: Jobs, tmp_path: Path, number: signal.Signals) -> None:
    client = jobs.begin("wait", str(tmp_path / "fork"))
    fork = written(tmp_path / "fork")
    client.send_signal(number)
    client.communicate(timeout=20)
    assert client.returncode in (-signal.SIGKILL, 128 + signal.SIGTERM)
    until(lambda: gone(fork))


def test_a_client_that_is_interrupted_waits_for_what_its_fork_stores(jobs: Jobs, tmp_path: Path) -> None:
    client = jobs.begin("wait", str(tmp_path / "fork"))
    written(tmp_path / "fork")
    client.send_signal(signal.SIGINT)
    client.communicate(timeout=20)
    assert client.returncode == 3
    assert (tmp_path / "fork.stored").read_text() == "stored"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_starter_that_is_killed_takes_all_with_it(tmp_path: Path, number: signal.Signals) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, tmp_path, *STAND_IN], env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    parent, client, other, folder = starter.stdout.readline().split()
    fork = written(tmp_path / "fork")
    starter.send_signal(number)
    starter.wait(20)
    starter.stdout.close()
    assert not gone(int(other)), "this one is to show that no child of the starter holds the parent alive"
    os.kill(int(other), signal.SIGKILL)
    until(lambda: all(gone(process) for process in (int(parent), int(client), fork)))
    until(lambda: not Path(folder).exists())


def test_a_parent_that_is_killed_takes_its_forks_with_it(started: Starts, cold: dict[str, str], tmp_path: Path) -> None:
    jobs = started(STAND_IN)
    client = jobs.begin("wait", str(tmp_path / "fork"))
    fork = written(tmp_path / "fork")
    jobs.run("show")  # now the client has been told that its command runs
    jobs.warm.process.kill()
    _, told = client.communicate(timeout=20)
    assert client.returncode == 137
    assert told == "cfeval: the process that was to run this command has been killed; run it again\n"
    until(lambda: gone(fork))
    assert jobs.run("show", env=cold | {"CFEVAL_WARM": jobs.environment["CFEVAL_WARM"]}).stdout == "cold show\n"


def test_without_a_parent_the_client_runs_the_command_cold(jobs: Jobs) -> None:
    ended = jobs.run("show", env=jobs.environment | {"CFEVAL_WARM": ""})
    assert ended.returncode == 2
    assert "no command 'show'" in ended.stderr


def test_stopping_leaves_nothing(started: Starts) -> None:
    jobs = started(STAND_IN)
    assert jobs.warm.folder.stat().st_mode & 0o777 == 0o700
    jobs.warm.stop()
    assert not jobs.warm.folder.exists()
    assert jobs.environment == environment()
    assert jobs.log.read_text() == ""


def test_where_no_parent_is_wanted_none_starts(tmp_path: Path) -> None:
    unwanted = environment() | {"CFEVAL_WARM": ""}
    before = dict(unwanted)
    assert start(tmp_path / "log", STAND_IN, unwanted) is None
    assert unwanted == before
    assert list(tmp_path.iterdir()) == []
