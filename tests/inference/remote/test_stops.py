"""Ctrl-C, SIGTERM, SIGHUP with 16 calls in flight: nothing more is sent, nothing paid is lost, a second one aborts.

The commands are those of the stages, each a process that gets real signals.
"""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.config import Calls
from cfeval.core.errors import StoppedError
from cfeval.core.jsonl import write_jsonl
from cfeval.datasets.sample import RawSample, file_samples
from cfeval.edct.records import Instruction
from cfeval.inference.remote import sessions as stops
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.settings import VARIABLE
from tests.images import image
from tests.inference.remote.keys import KEY, KEY_ENV
from tests.inference.remote.test_processes import ended, until
from tests.loopback.fault import Kind
from tests.loopback.faults import CALLS
from tests.loopback.site import Loopback

FLYING = 16
ITEMS = 40
ROOT = Path(__file__).parents[3]
KINDS = [kind for kind in CALLS if kind != Kind.STREAM]
STATUS = {
    signal.SIGINT: -signal.SIGINT,
    signal.SIGTERM: 128 + signal.SIGTERM,
    signal.SIGHUP: 128 + signal.SIGHUP,
}
"""How a process ends that was stopped politely: on Ctrl-C by the signal itself, so that a shell's loop ends too."""


class Job:
    """A stage that makes calls of a kind about `ITEMS` items."""

    def __init__(self, server: Loopback, kind: Kind, folder: Path) -> None:
        self.server, self.cache, self.out = server, folder / "calls.sqlite", folder / "out.jsonl"
        self.stderr = folder / "stderr.txt"
        samples, wanted = folder / "samples.jsonl", folder / "wanted.jsonl"
        file_samples(samples, [RawSample(f"s{n}", image(n, (8, 8)), f"What is {n}?") for n in range(ITEMS)])
        write_jsonl(wanted, [Instruction(id=f"s{n}", concept="hue", positive=f"Make {n} blue.") for n in range(ITEMS)])
        self.stage = ["baselines", "--vlm", json.dumps(_chat(server))]
        if kind != Kind.CHAT:
            self.stage = ["counterfactuals", "--instructions", wanted, "--editor", json.dumps(_editor(server, kind))]
        self.stage += ["--samples", samples, "--seed", 1, "--out", self.out]

    def start(self, **calls: Any) -> "subprocess.Popen[str]":
        settings = Calls(cache=str(self.cache), max_connections=FLYING, **calls).model_dump_json()
        command = [sys.executable, "-m", "cfeval.cli", "edct", *map(str, self.stage)]
        environment = {**os.environ, VARIABLE: settings, KEY_ENV: KEY}
        with self.stderr.open("w") as said:
            return subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=said, text=True, cwd=ROOT, env=environment
            )

    def flying(self, **calls: Any) -> "subprocess.Popen[str]":
        """The job, once so many of its calls are in flight; none is answered before `release`."""
        self.server.held = lambda _: True
        process = self.start(**calls)
        until(lambda: process.poll() is not None or self.sent() >= FLYING)
        return process

    def stopping(self, number: signal.Signals, **calls: Any) -> "subprocess.Popen[str]":
        """The job, once it has said that it got a signal; its calls are still in flight."""
        process = self.flying(**calls)
        process.send_signal(number)
        until(lambda: process.poll() is not None or "nothing more is sent" in self.stderr.read_text())
        return process

    def release(self) -> None:
        """Have all calls answered."""
        self.server.held = lambda _: False

    def ended(self, process: "subprocess.Popen[str]") -> tuple[int, str]:
        """How the job ended and what it said."""
        return ended(process)[0], self.stderr.read_text()

    def sent(self) -> int:
        return sum(self.server.sent().values())

    def stored(self) -> tuple[int, int]:
        """How many calls are answered in the cache, and how many the ledger calls lost."""
        cache = ResponseCache(self.cache)
        try:
            answered = sum(call.final for call in cache.calls())
            return answered, sum(int(str(line["lost"])) for line in cache.ledger())
        finally:
            cache.close()


def _chat(server: Loopback) -> dict[str, Any]:
    return {"plugin": "openai", "model": "vlm", "base_url": server.openrouter, "key_env": KEY_ENV}


def _editor(server: Loopback, kind: Kind) -> dict[str, Any]:
    specs: dict[Kind, dict[str, Any]] = {
        Kind.IMAGE: {"plugin": "openrouter_image", "base_url": server.openrouter},
        Kind.EDIT: {"plugin": "openai_image", "base_url": server.openai},
        Kind.SUBMIT: {"plugin": "bfl", "model": "flux-2-pro", "base_url": server.bfl, "poll": 0.05},
    }
    return {**specs[kind], "key_env": KEY_ENV}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "number"), list(zip(KINDS, cycle(STATUS), strict=False)))
def test_nothing_more_is_sent_and_all_that_is_in_flight_is_stored(
    server: Loopback, tmp_path: Path, kind: Kind, number: signal.Signals
) -> None:
    job = Job(server, kind, tmp_path)
    process = job.stopping(number)
    job.release()
    status, err = job.ended(process)
    assert (status, job.sent()) == (STATUS[number], FLYING), err
    assert job.stored() == (FLYING, 0)
    assert "Traceback" not in err
    name = "Ctrl-C" if number == signal.SIGINT else number.name
    assert err.splitlines()[-1].startswith(f"cfeval: stopped by {name}; ")
    assert "nothing more is sent, 16 in flight have 30 s to end" in err
    assert not job.out.exists()
    status, err = job.ended(job.start())
    assert status == 0, err
    assert set(server.sent().values()) == {1}, "nothing was paid twice"


def test_a_second_signal_ends_the_job_at_once_and_the_ledger_knows_what_was_in_flight(
    server: Loopback, tmp_path: Path
) -> None:
    job = Job(server, Kind.CHAT, tmp_path)
    process = job.stopping(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2 * stops.SAME)
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == -signal.SIGTERM, "not by the grace period's end"
    assert (job.sent(), job.stored()) == (FLYING, (0, FLYING))


@pytest.mark.slow
def test_the_same_signal_from_a_terminal_and_from_a_parent_counts_once(server: Loopback, tmp_path: Path) -> None:
    job = Job(server, Kind.CHAT, tmp_path)
    process = job.flying()
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    until(lambda: process.poll() is not None or "nothing more is sent" in job.stderr.read_text())
    job.release()
    assert ended(process)[0] == -signal.SIGINT
    assert job.stored() == (FLYING, 0)


@pytest.mark.slow
def test_after_the_grace_period_calls_are_broken_off(server: Loopback, tmp_path: Path) -> None:
    job = Job(server, Kind.CHAT, tmp_path)
    server.script([None] * (FLYING - 1) + ["hang"])
    process = job.stopping(signal.SIGTERM, grace=3)
    job.release()
    status, err = job.ended(process)
    assert status == STATUS[signal.SIGTERM], err
    assert "Traceback" not in err
    assert (job.sent(), job.stored()) == (FLYING, (FLYING - 1, 1))


@pytest.mark.slow
def test_a_call_that_waits_for_another_attempt_is_not_sent_again(server: Loopback, tmp_path: Path) -> None:
    job = Job(server, Kind.CHAT, tmp_path)
    server.script(["http_500"] * FLYING)
    process = job.stopping(signal.SIGTERM)
    job.release()
    assert ended(process)[0] == STATUS[signal.SIGTERM]
    assert (job.sent(), job.stored()) == (FLYING, (0, 0))


def test_a_signal_that_is_ignored_stays_so_and_the_former_handlers_come_back() -> None:
    heard: list[StoppedError] = []
    former = {number: signal.getsignal(number) for number in stops.SIGNALS}
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with stops.stop_on_signals(heard.append):
            os.kill(os.getpid(), signal.SIGTERM)
            assert not heard
            os.kill(os.getpid(), signal.SIGINT)
            with stops.stop_on_signals(heard.append):
                pass
        assert [error.number for error in heard] == [signal.SIGINT] * 2
        assert signal.getsignal(signal.SIGINT) is former[signal.SIGINT]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, former[signal.SIGTERM])
