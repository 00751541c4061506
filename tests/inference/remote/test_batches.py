"""Calls by batches: the same answers under the same keys at half the price, and nothing is submitted twice."""

import json
import os
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import ParamsError, PluginError, StoppedError
from cfeval.inference.remote import batches
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.settings import VARIABLE, ProgressMeter
from tests.inference.remote.batch_job import MOMENT, POLL, batched, job
from tests.inference.remote.child import conversations
from tests.inference.remote.conftest import Configure
from tests.inference.remote.keys import KEY, KEY_ENV
from tests.inference.remote.test_processes import ended, until
from tests.loopback.site import Loopback

ITEMS = 6
PATIENCE = 150.0
"""Seconds that a job has to come so far: a busy machine takes long to load packages."""
MODERATED = {"error": {"message": "no", "type": "invalid_request_error", "code": "content_policy_violation"}}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, hurry: None, configure: Configure) -> None:
    monkeypatch.setattr(batches, "MOMENT", MOMENT)
    monkeypatch.setattr(batches, "POLL", POLL)


@pytest.fixture(scope="module")
def expected(running: Loopback, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the conversations say where each call is asked at once."""
    calls = Calls(cache=str(tmp_path_factory.mktemp("direct") / "calls.sqlite"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(KEY_ENV, KEY)
        patched.setenv(VARIABLE, calls.model_dump_json())
        return conversations(running.openai, 0, ITEMS, provider="openai")


def ledger(path: Path) -> dict[str, Any]:
    cache = ResponseCache(path)
    try:
        (line,) = cache.ledger()
        return line
    finally:
        cache.close()


def sizes(server: Loopback) -> list[int]:
    return [len(batch.requests) for batch in server.desk.batches.values()]


def made_once(server: Loopback) -> bool:
    return set(server.desk.made.values()) == {1}


def test_each_turn_of_a_stage_is_one_batch_under_the_same_keys(
    server: Loopback, configure: Configure, expected: list[dict[str, Any]]
) -> None:
    configure(max_connections=2)
    assert batched(server.openai, 0, ITEMS) == expected
    assert sizes(server) == [ITEMS, ITEMS]
    assert not server.log
    assert conversations(server.openai, 0, ITEMS, provider="openai") == expected
    assert not server.log, "asked at once, the same calls are in the cache"
    assert server.desk.submissions == 2


def test_a_call_costs_half_and_only_that_is_set_aside(server: Loopback, configure: Configure, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models: {vlm: {input: 1.0, output: 1.0, date: 2026-01-01, source: here}}\n")
    usd = {}
    for batch in (False, True):
        path = configure(cache=str(tmp_path / f"{batch}.sqlite"), prices=str(prices), max_cost_usd=1)
        batched(server.openai, 0, ITEMS, batch=batch)
        usd[batch] = ledger(path)["listed_usd"]
    assert usd[True] == pytest.approx(usd[False] / 2)
    with sqlite3.connect(tmp_path / "True.sqlite") as halved, sqlite3.connect(tmp_path / "False.sqlite") as full:
        reserved = [db.execute("SELECT sum(reserved_usd) FROM sends").fetchone()[0] for db in (halved, full)]
    assert reserved[0] == pytest.approx(reserved[1] / 2)
    halved.close()
    full.close()


def test_a_file_is_no_larger_than_the_provider_takes(
    server: Loopback, configure: Configure, expected: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cfeval.inference.remote.batch_account.OpenAIBatches.max_requests", 4)
    assert batched(server.openai, 0, ITEMS) == expected
    assert sorted(sizes(server)) == [2, 2, 4, 4]


def test_without_batches_the_same_model_is_asked_at_once(
    server: Loopback, configure: Configure, expected: list[dict[str, Any]]
) -> None:
    configure(batches=False)
    assert batched(server.openai, 0, ITEMS) == expected
    assert server.desk.submissions == 0


KILLS = {"upload": 1, "submission": 1, "result": 1, "gathering": 0}
"""When a job is killed, and how many uploads there were by then."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "when", ["submission", *(pytest.param(one, marks=pytest.mark.slow) for one in ("upload", "result", "gathering"))]
)
def test_a_killed_job_finds_its_batch_again(
    server: Loopback, configure: Configure, expected: list[dict[str, Any]], when: str
) -> None:
    path, desk = configure(), server.desk
    desk.held = {"upload": ["files"], "submission": ["batches"]}.get(when, [])
    desk.stay = "in_progress"
    process = job(server.openai, 0, ITEMS, cache=str(path))
    reached = {
        "upload": lambda: desk.uploads,
        "submission": lambda: desk.submissions,
        "result": lambda: any(batch.asked for batch in desk.batches.values()),
        "gathering": lambda: path.exists() and _waiting(path) == ITEMS,
    }
    until(lambda: process.poll() is not None or reached[when](), PATIENCE)
    process.send_signal(signal.SIGKILL)
    ended(process)
    assert desk.uploads == KILLS[when]
    desk.held, desk.stay = [], ""
    assert batched(server.openai, 0, ITEMS) == expected
    assert (desk.uploads, desk.submissions, sizes(server)) == (2, 2, [ITEMS, ITEMS])
    assert made_once(server)
    line = ledger(path)
    assert (line["sent"], line["good"], line["lost"]) == (2 * ITEMS, 2 * ITEMS, 0)


def _waiting(path: Path) -> int:
    cache = ResponseCache(path)
    try:
        return int(cache._db.execute("SELECT count(*) FROM batched").fetchone()[0])
    finally:
        cache.close()


@pytest.mark.slow
def test_jobs_that_ask_the_same_submit_it_once(
    server: Loopback, configure: Configure, expected: list[dict[str, Any]]
) -> None:
    path = configure()
    jobs = [job(server.openai, 0, ITEMS, cache=str(path)) for _ in range(2)]
    assert [json.loads(process.communicate(timeout=PATIENCE)[0]) for process in jobs] == [expected] * 2
    assert sum(sizes(server)) == 2 * ITEMS
    assert made_once(server)


def test_a_polite_stop_waits_for_no_batch_and_the_next_run_finds_it(
    server: Loopback, configure: Configure, expected: list[dict[str, Any]]
) -> None:
    server.desk.stay = "in_progress"

    def interrupt() -> None:
        until(lambda: any(batch.asked for batch in server.desk.batches.values()))
        os.kill(os.getpid(), signal.SIGTERM)

    presser = threading.Thread(target=interrupt)
    presser.start()
    with pytest.raises(StoppedError, match="SIGTERM"):
        batched(server.openai, 0, ITEMS)
    presser.join()
    server.desk.stay = ""
    assert batched(server.openai, 0, ITEMS) == expected
    assert sizes(server) == [ITEMS, ITEMS]


@pytest.mark.parametrize("reply", ["files", "batches"])
def test_what_was_done_though_its_reply_was_lost_is_found(
    server: Loopback, expected: list[dict[str, Any]], reply: str
) -> None:
    server.desk.files["other"] = ("another.jsonl", b"")
    server.desk.lost = [reply]
    assert batched(server.openai, 0, ITEMS) == expected
    assert (server.desk.uploads, server.desk.submissions) == (2, 2)


@pytest.mark.slow
def test_a_look_that_fails_is_made_again(server: Loopback, expected: list[dict[str, Any]]) -> None:
    server.desk.broken = 5
    assert batched(server.openai, 0, ITEMS) == expected
    assert server.desk.submissions == 2


@pytest.mark.slow
def test_what_an_expired_batch_left_goes_in_the_next(server: Loopback, expected: list[dict[str, Any]]) -> None:
    server.desk.endings, server.desk.unanswered = ["expired"], 2
    assert batched(server.openai, 0, ITEMS) == expected
    assert sum(sizes(server)) == 2 * ITEMS + 2
    assert made_once(server)


def test_what_a_cancelled_batch_left_is_asked_again_by_the_next_run_only(
    server: Loopback, configure: Configure, expected: list[dict[str, Any]]
) -> None:
    server.desk.endings, server.desk.unanswered = ["cancelled"], 2
    held = batched(server.openai, 0, ITEMS)
    assert [one["status"] for one in held] == ["ok"] * (ITEMS - 2) + ["transport_error"] * 2
    assert "cancelled" in held[-1]["reason"]
    assert batched(server.openai, 0, ITEMS) == expected
    line = ledger(configure())
    assert (line["sent"], line["good"]) == (2 * ITEMS + 2, 2 * ITEMS)
    assert made_once(server)


def test_a_batch_that_is_refused_ends_the_run_in_one_line(server: Loopback, configure: Configure) -> None:
    server.desk.endings = ["failed"]
    with pytest.raises(PluginError, match=r"the first calls all failed alike .*The model vlm does not exist"):
        batched(server.openai, 0, ITEMS)
    assert server.desk.submissions == 1


def test_faults_of_single_calls_end_as_they_do_at_once(
    server: Loopback, configure: Configure, expected: list[dict[str, Any]]
) -> None:
    server.desk.bad = {"Item 1:": (500, {"error": {"message": "boom"}}), "Item 2:": (400, MODERATED)}
    held = batched(server.openai, 0, ITEMS)
    assert [one["status"] for one in held] == ["ok", "ok", "moderated", "ok", "ok", "ok"]
    assert [one for at, one in enumerate(held) if at != 2] == [one for at, one in enumerate(expected) if at != 2]
    line = ledger(configure())
    assert (line["sent"], line["good"]) == (2 * ITEMS, 2 * ITEMS - 2), "one again, one refused, that one not asked why"


@pytest.mark.slow
def test_a_batch_over_the_limit_of_the_account_is_asked_in_halves(
    server: Loopback, expected: list[dict[str, Any]]
) -> None:
    server.desk.at_most = 2
    assert batched(server.openai, 0, ITEMS) == expected
    assert made_once(server)


def test_the_budget_holds_and_what_it_allowed_is_answered(server: Loopback, configure: Configure) -> None:
    path = configure(max_calls=4)
    with pytest.raises(PluginError, match=r"calls\.max_calls = 4 is reached"):
        batched(server.openai, 0, ITEMS)
    line = ledger(path)
    assert (line["sent"], line["good"], sum(sizes(server))) == (4, 4, 4)


def test_a_batch_that_the_key_does_not_show_is_not_submitted_again(server: Loopback, configure: Configure) -> None:
    server.desk.stay = "in_progress"
    process = threading.Thread(target=lambda: until(lambda: server.desk.batches and not server.desk.batches.clear()))
    process.start()
    with pytest.raises(PluginError, match=r"batch batch-1 cannot be looked at: HTTP 404: No batch found"):
        batched(server.openai, 0, ITEMS)
    process.join()
    with pytest.raises(PluginError, match=r"set the key that it was submitted with, or .* calls\.batches = false"):
        batched(server.openai, 0, ITEMS)
    assert server.desk.submissions == 1
    configure(batches=False)
    assert {one["status"] for one in batched(server.openai, 0, ITEMS)} == {"ok"}


def test_a_cache_from_before_there_were_batches_takes_them(
    server: Loopback, configure: Configure, expected: list[dict[str, Any]]
) -> None:
    ResponseCache(configure()).close()
    db = sqlite3.connect(configure())
    db.executescript("DROP TABLE batches; DROP TABLE batched")
    db.close()
    assert batched(server.openai, 0, ITEMS) == expected


def test_progress_says_what_waits_in_batches() -> None:
    meter = ProgressMeter()
    assert "batch" not in meter.line()
    with meter.counting("batched"):
        assert ", 1 waiting in batches, 0 tokens" in meter.line()
        meter.batches["b"] = 40, 120
        assert ", 1 waiting in batches (1 at the provider: 40 of 120 done), 0 tokens" in meter.line()


def test_a_provider_without_batches_is_refused() -> None:
    with pytest.raises(ParamsError, match="batch: there are no batches of this provider here"):
        registry.check("chat", {"plugin": "openai", "model": "m", "provider": "openrouter", "batch": True}, "here")
