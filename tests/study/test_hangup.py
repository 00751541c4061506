"""A terminal that is closed while calls are in flight: no reply that is paid for is lost, and the run goes on later."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pexpect
import psutil
import pytest

from cfeval.inference.remote.cache import ResponseCache
from tests.conftest import Run
from tests.loopback.fault import Kind
from tests.loopback.site import Loopback
from tests.study.service import new_study

PHOTOS = 4
SECONDS = 90.0


@pytest.fixture
def study(cfeval: Run, study_server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return new_study(cfeval, study_server, photos=PHOTOS)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_while_models_are_tried_is_no_fault_of_a_model(
    study_server: Loopback, study: Path, number: signal.Signals
) -> None:
    """No further model is asked, and the run ends as stopped."""
    study_server.held = lambda _: True
    run = [sys.executable, "-m", "cfeval.cli", "run", "mine", "--yes"]
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: sum(request.kind == Kind.CHAT for request in study_server.log) == 1)
    process.send_signal(number)
    time.sleep(0.5)
    study_server.held = lambda _: False
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode in (128 + number, -number), out + err
    assert "FAIL" not in out
    assert "will not work" not in err
    assert sum(request.kind == Kind.CHAT for request in study_server.log) == 1


@pytest.mark.slow
def test_a_closed_terminal_loses_no_call_in_flight(
    study_server: Loopback, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    run = [sys.executable, "-m", "cfeval.cli", "run", "mine", "--yes", "--no-probe"]
    study_server.held = lambda _: True
    shell = pexpect.spawn("bash", ["-c", f"{' '.join(run)}; true"], timeout=SECONDS)
    until(lambda: sum(request.kind == Kind.CHAT for request in study_server.log) == PHOTOS)
    processes = psutil.Process(shell.pid).children(recursive=True)
    os.close(shell.child_fd)
    logs = study / "logs"
    until(lambda: any("SIGHUP: nothing more is sent" in file.read_text() for file in logs.rglob("*.log")))
    study_server.held = lambda _: False
    gone, alive = psutil.wait_procs(processes, SECONDS)
    assert not alive
    assert gone
    with closing(ResponseCache(study / ".cfeval/calls.sqlite")) as cache:
        assert sum(int(str(row["lost"])) for row in cache.ledger()) == 0
        assert sum(call.final for call in cache.calls()) == PHOTOS
    done = pexpect.run(f"bash -c '{' '.join(run)}'", timeout=SECONDS, withexitstatus=True)
    assert done[1] == 0, done[0].decode()
    assert f"{PHOTOS} of {PHOTOS} scored" in done[0].decode()
    assert set(study_server.sent().values()) == {1}, "nothing was paid twice"
