"""Jobs of their own that share a cache: nothing is sent twice, no budget is exceeded, a killed job resumes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.errors import StoppedError
from cfeval.inference.remote.cache import ResponseCache
from tests.inference.remote.child import conversations, job
from tests.inference.remote.conftest import Configure
from tests.loopback.site import Loopback

ITEMS = 20


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def said(process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    status, out, err = ended(process)
    assert status == 0, err
    replies: list[dict[str, Any]] = json.loads(out)
    return replies


def until(condition: Any, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.005)


def undisturbed(server: Loopback, configure: Configure, tmp_path: Path, **options: Any) -> list[dict[str, Any]]:
    configure(cache=str(tmp_path / "undisturbed.sqlite"))
    return conversations(server.openrouter, 0, ITEMS, **options)


def test_a_killed_job_sends_again_no_more_than_was_in_flight_and_ends_with_the_same_replies(
    server: Loopback, configure: Configure, tmp_path: Path
) -> None:
    expected = undisturbed(server, configure, tmp_path)
    server.reset()
    server.held = lambda place: place > ITEMS - 6
    path = tmp_path / "killed.sqlite"
    settings = {"cache": str(path), "max_connections": 6}
    process = job(server.openrouter, 0, ITEMS, **settings)
    until(lambda: len(server.log) >= ITEMS)
    process.send_signal(signal.SIGKILL)
    ended(process)
    cache = ResponseCache(path)
    (line,) = cache.ledger()
    cache.close()
    in_flight = int(str(line["lost"]))
    assert 1 <= in_flight <= 6
    server.held = lambda _: False
    configure(**settings)
    assert conversations(server.openrouter, 0, ITEMS) == expected
    again = sum(count - 1 for count in server.sent().values())
    assert len(server.sent()) == 2 * ITEMS
    assert again <= in_flight


def test_what_ctrl_c_breaks_off_is_told_as_lost(server: Loopback, configure: Configure) -> None:
    configure(grace=0.1)
    server.script(["hang"])

    def interrupt() -> None:
        until(lambda: server.log)
        os.kill(os.getpid(), signal.SIGINT)

    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    presser = threading.Thread(target=interrupt)
    presser.start()
    try:
        with pytest.raises(StoppedError, match="Ctrl-C"):
            conversations(server.openrouter, 0, 1)
    finally:
        presser.join()
        signal.signal(signal.SIGINT, former)
    cache = ResponseCache(configure())
    (line,) = cache.ledger()
    cache.close()
    assert (line["sent"], line["lost"]) == (1, 1)


@pytest.mark.slow
def test_jobs_that_ask_the_same_at_the_same_time_send_it_once(
    server: Loopback, configure: Configure, tmp_path: Path
) -> None:
    expected = undisturbed(server, configure, tmp_path)
    server.reset()
    server.latency = 0.05
    jobs = [job(server.openrouter, 0, ITEMS, cache=str(tmp_path / "shared.sqlite")) for _ in range(2)]
    assert [said(process) for process in jobs] == [expected] * 2
    assert set(server.sent().values()) == {1}
    assert len(server.log) == 2 * ITEMS
    server.reset()
    configure(cache=str(tmp_path / "shared.sqlite"))
    assert conversations(server.openrouter, 0, ITEMS) == expected
    assert server.log == []


@pytest.mark.slow
def test_jobs_together_never_send_more_than_the_budget_and_go_on_once_it_is_raised(
    server: Loopback, configure: Configure, tmp_path: Path
) -> None:
    server.latency = 0.05
    settings = {"cache": str(tmp_path / "shared.sqlite"), "max_calls": 25}
    jobs = [job(server.openrouter, first, first + 15, **settings) for first in (0, 15)]
    for process in jobs:
        status, _, err = ended(process)
        assert status == 2
        assert err.splitlines()[-1].startswith("cfeval: the budget calls.max_calls = 25 is reached: 25 calls were sent")
        assert "Traceback" not in err
    assert len(server.log) == 25
    server.latency = 0.0
    configure(**{**settings, "max_calls": 60})
    assert all(item["status"] == "ok" for item in conversations(server.openrouter, 0, 30))
    assert set(server.sent().values()) == {1}
    assert len(server.log) == 60


@pytest.mark.slow
def test_jobs_together_never_spend_more_than_the_budget(server: Loopback, configure: Configure, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models: {vlm: {input: 1.0, output: 1.0, date: 2026-01-01, source: a page}}\n")
    settings = {"cache": str(tmp_path / "shared.sqlite"), "prices": str(prices), "max_cost_usd": 0.012}
    server.latency = 0.05
    jobs = [job(server.openrouter, first, first + 60, **settings) for first in (0, 60)]
    for process in jobs:
        status, _, err = ended(process)
        assert status == 2
        assert "the budget calls.max_cost_usd = 0.012 is reached" in err.splitlines()[-1]
    assert 0.008 < server.usd <= 0.012


@pytest.mark.slow
def test_a_job_waits_for_another_only_while_that_one_lives(
    server: Loopback, configure: Configure, tmp_path: Path
) -> None:
    path = tmp_path / "shared.sqlite"
    server.script(["hang"] * 4)
    first = job(server.openrouter, 0, 2, cache=str(path))
    until(lambda: len(server.log) >= 2)
    second = job(server.openrouter, 0, 2, cache=str(path))
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(2)
    assert len(server.log) == 2
    first.kill()
    ended(first)
    server.reset()
    assert len(said(second)) == 2
    assert len(server.log) == 4


@pytest.mark.slow
def test_jobs_that_make_the_same_new_cache_at_once_all_get_it(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    code = (
        "from pathlib import Path; from cfeval.inference.remote.cache import ResponseCache; "
        f"ResponseCache(Path({str(path)!r})).close()"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[1] for process in processes] == [""] * 3
