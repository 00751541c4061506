"""Batches of Anthropic and Google: the same answers under the same keys, and nothing is submitted twice."""

import signal
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.config import Calls
from cfeval.core.errors import PluginError
from cfeval.inference.models.anthropic import custom_id, key_of
from cfeval.inference.remote import batches
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.settings import VARIABLE
from tests.inference.remote import batch_job
from tests.inference.remote.batch_job import MOMENT, POLL, batched
from tests.inference.remote.child import conversations
from tests.inference.remote.conftest import Configure
from tests.inference.remote.keys import KEY, KEY_ENV
from tests.inference.remote.test_processes import ended, until
from tests.loopback.desk import Batch, Desk
from tests.loopback.site import Loopback
from tests.slow import first_fast

ITEMS = 6
PATIENCE = 150.0
"""Seconds that a job has to come so far: a busy machine takes long to load packages."""
Held = list[dict[str, Any]]


@dataclass(frozen=True)
class Vendor:
    """A provider as the tests reach it: its server, the options of a model there, how it words faults of calls."""

    server: Loopback
    url: str
    options: dict[str, Any]
    boom: Any
    moderated: Any

    @property
    def desk(self) -> Desk:
        return self.server.desk

    @property
    def sizes(self) -> list[int]:
        return [len(batch.requests) for batch in self.desk.batches.values()]

    def ask(self, **more: Any) -> Held:
        return batched(self.url, 0, ITEMS, **self.options, **more)

    def at_once(self) -> Held:
        return conversations(self.url, 0, ITEMS, **self.options)


def vendor(name: str, server: Loopback) -> Vendor:
    options: dict[str, Any] = {"plugin": name, "provider": None}
    if name == "anthropic":
        refused = {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}
        boom = {"type": "api_error", "message": "boom"}
        return Vendor(server, server.origin, {**options, "seed": None}, boom, refused)
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    return Vendor(server, f"{server.origin}/v1beta", options, {"code": 13, "message": "boom"}, blocked)


@pytest.fixture(params=first_fast(["anthropic", "google"], fast=1))
def at(request: pytest.FixtureRequest, server: Loopback) -> Vendor:
    return vendor(request.param, server)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, hurry: None, configure: Configure) -> None:
    monkeypatch.setattr(batches, "MOMENT", MOMENT)
    monkeypatch.setattr(batches, "POLL", POLL)


@pytest.fixture(scope="module")
def asked_at_once(running: Loopback, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Held]:
    """What the conversations say where each call is asked at once."""
    calls = Calls(cache=str(tmp_path_factory.mktemp("direct") / "calls.sqlite"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(KEY_ENV, KEY)
        patched.setenv(VARIABLE, calls.model_dump_json())
        return {name: vendor(name, running).at_once() for name in ("anthropic", "google")}


@pytest.fixture
def expected(at: Vendor, asked_at_once: dict[str, Held]) -> Held:
    return asked_at_once[at.options["plugin"]]


def ledger(path: Path) -> dict[str, Any]:
    cache = ResponseCache(path)
    try:
        (line,) = cache.ledger()
        return line
    finally:
        cache.close()


def made_once(at: Vendor) -> bool:
    return len(at.desk.made) == 2 * ITEMS and set(at.desk.made.values()) == {1}


@pytest.mark.slow
def test_each_turn_of_a_stage_is_one_batch_under_the_same_keys_at_half_the_price(
    at: Vendor, configure: Configure, expected: Held, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models: {vlm: {input: 1.0, output: 1.0, date: 2026-01-01, source: here}}\n")
    path = configure(max_connections=2, prices=str(prices))
    assert at.ask() == expected
    assert at.sizes == [ITEMS, ITEMS]
    assert not at.server.log
    assert at.at_once() == expected
    assert not at.server.log, "asked at once, the same calls are in the cache"
    assert ledger(path)["listed_usd"] == pytest.approx(2 * ITEMS * 30e-6 / 2)


def test_an_estimate_counts_half(at: Vendor) -> None:
    plugin = import_module(f"cfeval.inference.models.{at.options['plugin']}").Plugin
    (halved,) = plugin(model="m", batch=True).estimate_calls()
    (full,) = plugin(model="m").estimate_calls()
    assert (halved.share, full.share) == (0.5, 1.0)


KILLS = [
    ("anthropic", "submission"),
    ("google", "submission"),
    *(pytest.param(*one, marks=pytest.mark.slow) for one in (("google", "upload"), ("google", "result"))),
    pytest.param("anthropic", "result", marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "when"), KILLS)
def test_a_killed_job_finds_its_batch_again(
    server: Loopback, configure: Configure, asked_at_once: dict[str, Held], name: str, when: str
) -> None:
    path, at = configure(), vendor(name, server)
    desk = at.desk
    desk.held = {"upload": ["files"], "submission": ["batches"]}.get(when, [])
    desk.stay = "in_progress"
    process = batch_job.job(at.url, 0, ITEMS, at.options, cache=str(path))
    reached = {
        "upload": lambda: any(content for _, content in desk.files.values()),
        "submission": lambda: desk.submissions,
        "result": lambda: any(batch.asked for batch in desk.batches.values()),
    }
    until(lambda: process.poll() is not None or reached[when](), PATIENCE)
    process.send_signal(signal.SIGKILL)
    ended(process)
    assert desk.submissions == (when != "upload")
    desk.held, desk.stay = [], ""
    assert at.ask() == asked_at_once[name]
    assert (desk.submissions, at.sizes) == (2, [ITEMS, ITEMS])
    assert desk.uploads == (2 if name == "google" else 0)
    assert made_once(at)
    line = ledger(path)
    assert (line["sent"], line["good"], line["lost"]) == (2 * ITEMS, 2 * ITEMS, 0)


@pytest.mark.parametrize("arrived", [True, False])
def test_a_batch_without_a_name_is_told_from_others_by_its_results(
    server: Loopback, asked_at_once: dict[str, Held], arrived: bool
) -> None:
    at, now = vendor("anthropic", server), int(time.time())
    alike = [{"id": f"{number:064d}", "body": {"messages": []}} for number in range(ITEMS)]
    results = [(one["id"], "expired", None) for one in alike]
    for number, (calls, age, looks) in enumerate(((6, 0, 99), (6, 0, -5), (3, 0, -(10**6)), (6, 9000, -(10**6)))):
        other = Batch(f"msgbatch_x{number}", "", {}, alike[:calls], now - age, "expired", results, looks)
        at.desk.batches[other.id] = other
    at.desk.lost = ["batches"] if arrived else []
    at.desk.refused = 0 if arrived else 1
    assert at.ask() == asked_at_once["anthropic"]
    assert at.desk.submissions == 2
    assert made_once(at)


def test_what_was_done_though_its_reply_was_lost_is_found(at: Vendor, expected: Held) -> None:
    if at.options["plugin"] == "google":
        at.desk.files |= {f"files/x{number}": (f"another-{number}", b"") for number in range(3)}
        at.desk.lost = ["files"]
    at.desk.lost.append("batches")
    assert at.ask() == expected
    assert at.desk.submissions == 2
    assert made_once(at)


def test_a_look_that_fails_is_made_again(at: Vendor, expected: Held) -> None:
    at.desk.broken = 5
    assert at.ask() == expected
    assert at.desk.submissions == 2


def test_what_an_expired_batch_left_goes_in_the_next(at: Vendor, expected: Held) -> None:
    at.desk.endings, at.desk.unanswered = ["expired"], ITEMS if at.options["plugin"] == "google" else 2
    assert at.ask() == expected
    assert sum(at.sizes) == 2 * ITEMS + at.desk.unanswered
    assert made_once(at)


def test_what_a_cancelled_batch_left_is_asked_again_by_the_next_run_only(at: Vendor, expected: Held) -> None:
    left = ITEMS if at.options["plugin"] == "google" else 2
    at.desk.endings, at.desk.unanswered = ["cancelled"], left
    held = at.ask()
    assert [one["status"] for one in held] == ["ok"] * (ITEMS - left) + ["transport_error"] * left
    assert "cancelled" in held[-1]["reason"]
    assert at.ask() == expected
    assert made_once(at)


def test_a_model_that_is_not_there_ends_the_run_in_one_line(at: Vendor) -> None:
    at.desk.endings = ["failed"]
    with pytest.raises(PluginError, match=r"the first calls all failed alike .*HTTP 404: model"):
        at.ask()
    assert at.desk.submissions == 1


def test_faults_of_single_calls_end_as_they_do_at_once(at: Vendor, configure: Configure, expected: Held) -> None:
    at.desk.bad = {"Item 1:": (0, at.boom), "Item 2:": (0, at.moderated)}
    held = at.ask()
    assert [one["status"] for one in held] == ["ok", "ok", "moderated", "ok", "ok", "ok"]
    assert [one for n, one in enumerate(held) if n != 2] == [one for n, one in enumerate(expected) if n != 2]
    line = ledger(configure())
    assert (line["sent"], line["good"]) == (2 * ITEMS, 2 * ITEMS - 2)


@pytest.mark.slow
def test_a_batch_over_the_limit_of_the_account_is_asked_in_halves(at: Vendor, expected: Held) -> None:
    at.desk.at_most = 2
    assert at.ask() == expected
    assert max(at.sizes) <= 2
    assert made_once(at)


@pytest.mark.slow
def test_a_batch_that_fails_for_the_limit_of_the_account_is_asked_in_halves(
    server: Loopback, asked_at_once: dict[str, Held]
) -> None:
    at = vendor("google", server)
    at.desk.endings = ["over"]
    assert at.ask() == asked_at_once["google"]
    assert at.sizes[:3] == [ITEMS, ITEMS // 2, ITEMS // 2]
    assert made_once(at)


@pytest.mark.slow
def test_an_account_that_takes_no_batch_at_all_ends_the_run_in_one_line(at: Vendor) -> None:
    at.desk.at_most = 0
    with pytest.raises(PluginError, match=r"takes up no batch, not even one of a single call: HTTP 429"):
        at.ask()
    assert not at.desk.made


@pytest.mark.slow
def test_a_batch_that_the_key_does_not_show_is_not_submitted_again(at: Vendor, configure: Configure) -> None:
    at.desk.stay, path = "in_progress", configure()
    process = batch_job.job(at.url, 0, ITEMS, at.options, cache=str(path))
    until(lambda: process.poll() is not None or any(one.asked for one in at.desk.batches.values()), PATIENCE)
    process.send_signal(signal.SIGKILL)
    ended(process)
    at.desk.batches.clear()
    with pytest.raises(PluginError, match=r"cannot be looked at: HTTP 404"):
        at.ask()
    assert at.desk.submissions == 1


def test_a_custom_id_holds_the_whole_key() -> None:
    for key in ("00" * 32, "ff" * 32, "0123456789abcdef" * 4):
        custom = custom_id("a1" * 16, key)
        assert len(custom) == 64
        assert key_of(custom) == key
    assert key_of("request-1") == ""
