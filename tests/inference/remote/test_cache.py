"""The response cache: what counts as the same call, what is kept, what a run out of budget or space leaves behind."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.errors import CfevalError, InputError, OutputError, PluginError
from cfeval.core.records import Status
from cfeval.edct.interfaces import EditRequest
from cfeval.inference.remote import cache_db
from cfeval.inference.remote.cache import Budget, BudgetError, ResponseCache, UsageEntry
from cfeval.inference.remote.request import Request, Response, Usage
from tests.answers import answers
from tests.conftest import Run
from tests.images import image
from tests.inference.remote.asking import PHOTO, ask, chat, editor, request
from tests.inference.remote.child import conversations
from tests.inference.remote.conftest import Configure
from tests.loopback.fault import Kind
from tests.loopback.site import Loopback
from tests.slow import first_fast

pytestmark = pytest.mark.usefixtures("hurry")


def call(draw: int = 1, model: str = "vlm", **expected: Any) -> Request:
    return Request("chat", "http://x/v1", model, {"messages": ["hello"]}, draw, "i1", Usage(**expected))


GOOD = Response(text="yes", model="vlm", usage=Usage(3, 2), raw={"id": 1})
FAILED = Response(status=Status.TRANSPORT_ERROR, reason="cut", final=False)


# What counts as the same call


def test_the_same_request_is_sent_once_and_answered_alike(server: Loopback, configure: Configure) -> None:
    first = chat(server)
    assert chat(server) == first
    assert chat(server, [request(), request(item="another")]) == first * 2
    assert len(server.log) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"text": "And this?"},
        {"seed": 2},
        {"photo": image(41, (30, 45))},
        {"photo": None},
        {"model": "another-vlm"},
        {"base_url": "openai"},
        {"temperature": 0.5},
        {"top_p": 0.5},
        {"max_tokens": 100},
        {"max_pixels": 100},
        {"extra": {"reasoning": {"effort": "low"}}},
    ],
    ids=lambda other: "-".join(other),
)
def test_another_request_is_sent(server: Loopback, configure: Configure, other: dict[str, Any]) -> None:
    chat(server)
    if "base_url" in other:
        other = {"base_url": server.openai}
    asked = {name: other[name] for name in ("text", "seed", "photo") if name in other}
    options = {name: value for name, value in other.items() if name not in asked}
    chat(server, [request(**asked)], **options)
    assert len(server.log) == 2


def test_draws_are_told_apart_where_the_provider_takes_no_seed(server: Loopback, configure: Configure) -> None:
    chat(server, [request(seed=1), request(seed=2)], seed=False)
    assert len(server.log) == 2
    assert all("seed" not in entry.payload for entry in server.log)


def test_how_calls_travel_is_no_part_of_what_is_asked(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat(server)
    configure(max_connections=1, max_retries=1, timeout=7, deadline=8, max_calls=90, max_cost_usd=None)
    monkeypatch.setenv("OTHER_KEY", "sk-canary-9f3c1b7a5e2d48")
    chat(server, key_env="OTHER_KEY", accept_models=("x",))
    assert len(server.log) == 1


def test_what_is_sent_is_what_is_stored_but_for_the_images(server: Loopback, configure: Configure) -> None:
    chat(server, max_pixels=400)
    (entry,) = server.log
    cache = ResponseCache(configure())
    (row,) = cache.calls()
    cache.close()
    asked, sent = json.loads(row.request), entry.payload
    (shown,) = asked.pop("shrunk")
    assert shown["was"] != shown["now"]
    assert asked["messages"][0]["content"][0]["image_url"]["url"] == f"sha256:{shown['now']}"
    for body in (asked, sent):
        body["messages"][0]["content"][0] = None
    assert asked == sent


def test_the_answer_of_a_model_that_is_accepted_later_is_not_paid_for_again(
    server: Loopback, configure: Configure
) -> None:
    server.script(["wrong_model"])
    (refused,) = chat(server)
    assert refused.status == Status.WRONG_MODEL
    (taken,) = chat(server, accept_models=("loopback/another-model",))
    assert (taken.status, taken.model) == (Status.OK, "loopback/another-model")
    assert taken.text
    assert len(server.log) == 1


def test_the_image_of_a_model_that_is_accepted_later_is_asked_for_again(server: Loopback, configure: Configure) -> None:
    server.script(["wrong_model", "wrong_model"], at=Kind.IMAGE)
    edit = EditRequest("i1", PHOTO, "Make it blue.", "", 1)
    assert answers(editor(server, Kind.IMAGE).edit, [edit])[0].status == Status.WRONG_MODEL
    (taken,) = answers(editor(server, Kind.IMAGE, accept_models=("loopback/another-model",)).edit, [edit])
    assert taken.status == Status.OK


def test_own_fields_of_a_request_are_joined_with_those_of_the_provider(server: Loopback, configure: Configure) -> None:
    own = {"provider": {"only": ["one-host"], "allow_fallbacks": True}, "reasoning": {"effort": "low"}}
    chat(server, provider="openrouter", extra=own)
    payload = server.log[0].payload
    assert payload["provider"] == {"require_parameters": True, "allow_fallbacks": True, "only": ["one-host"]}
    assert payload["reasoning"] == {"effort": "low"}


def test_an_editor_behind_openrouter_stays_with_one_host(server: Loopback, configure: Configure) -> None:
    edit = EditRequest("i1", PHOTO, "Make it blue.", "", 1)
    answers(editor(server, Kind.IMAGE, extra={"provider": {"only": ["one-host"]}}).edit, [edit])
    assert server.log[0].payload["provider"] == {"allow_fallbacks": False, "only": ["one-host"]}


# Failures


def test_a_failure_is_tried_again_online_and_replayed_offline(server: Loopback, configure: Configure) -> None:
    configure(max_retries=0)
    server.script(["http_500"])
    (failed,) = chat(server)
    assert failed.status == Status.TRANSPORT_ERROR
    configure(offline=True)
    assert chat(server) == [failed]
    configure()
    (good,) = chat(server)
    assert good.status == Status.OK
    configure(offline=True)
    assert chat(server) == [good]
    assert len(server.log) == 2


def test_what_stands_is_not_tried_again(server: Loopback, configure: Configure) -> None:
    server.script(["refusal_field"])
    assert [reply.status for reply in chat(server) + chat(server)] == [Status.REFUSED] * 2
    assert len(server.log) == 1


def test_offline_names_the_first_item_that_is_missing_and_needs_no_key(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat(server)
    configure(offline=True)
    monkeypatch.delenv("LOOPBACK_KEY")
    assert chat(server)[0].status == Status.OK
    with pytest.raises(PluginError, match=r"offline: item 'i7' needs a call to vlm .* import the cache") as error:
        chat(server, [request(), request(seed=7, item="i7"), request(seed=8, item="i8")])
    assert "\n" not in str(error.value)
    assert len(server.log) == 1


def test_the_first_calls_all_failing_alike_end_the_run(server: Loopback, configure: Configure) -> None:
    server.random(1.0, ["http_404"])
    configure(max_connections=1)
    with pytest.raises(PluginError, match=r"the first calls all failed alike .*No endpoints found"):
        chat(server, [request(seed=n) for n in range(9)])
    assert len(server.log) == 3


def test_refusals_that_come_before_the_first_answers_do_not_end_the_run(server: Loopback, configure: Configure) -> None:
    server.script(["http_429_after", *["http_400"] * 9])
    configure(max_connections=10)
    replies = chat(server, [request(seed=n, photo=None) for n in range(20)])
    assert sum(reply.status == Status.REJECTED for reply in replies) == 9
    assert sum(reply.status == Status.OK for reply in replies) == 11


def test_one_bad_request_among_good_ones_ends_only_its_item(server: Loopback, configure: Configure) -> None:
    server.script([None, *["http_400"] * 8])
    configure(max_connections=1)
    replies = chat(server, [request(seed=n) for n in range(9)])
    assert [reply.status for reply in replies] == [Status.OK, *[Status.REJECTED] * 8]


def test_a_server_that_is_not_there_ends_the_run_with_one_line(configure: Configure, server: Loopback) -> None:
    with pytest.raises(PluginError, match=r"127\.0\.0\.1 cannot be reached .*check the network, base_url"):
        chat(server, [request(seed=n) for n in range(4)], base_url="http://127.0.0.1:9/v1")


# The budget


def test_a_budget_of_calls_stops_cleanly_and_raising_it_resumes(server: Loopback, configure: Configure) -> None:
    server.latency = 0.05
    requests = [request(seed=n) for n in range(12)]
    path = configure(max_calls=5, max_connections=3)
    with pytest.raises(BudgetError, match=r"calls\.max_calls = 5 is reached: 5 calls were sent; .* raise it"):
        chat(server, requests)
    assert len(server.log) == 5
    cache = ResponseCache(path)
    assert len(list(cache.calls())) == 5, "what was in flight is stored"
    cache.close()
    configure(max_calls=12)
    assert all(reply.status == Status.OK for reply in chat(server, requests))
    assert set(server.sent().values()) == {1}


def test_retries_count_against_the_budget(server: Loopback, configure: Configure) -> None:
    configure(max_calls=3)
    server.random(1.0, ["http_500"])
    with pytest.raises(BudgetError):
        chat(server)
    assert len(server.log) == 3


def prices(tmp_path: Path, usd: float = 1.0) -> str:
    """A price list: a million tokens of `vlm` cost so many USD; the server charges 1."""
    path = tmp_path / "prices.yaml"
    read = "date: 2026-01-01, source: a page"
    path.write_text(
        f"models: {{vlm: {{input: {usd}, output: {usd}, {read}}}, flux-kontext-max: {{image: 0.07, {read}}}}}\n"
    )
    return str(path)


@pytest.mark.slow
def test_a_budget_of_money_is_used_up_however_many_calls_go_at_once(
    server: Loopback, configure: Configure, tmp_path: Path
) -> None:
    server.latency = 0.02
    configure(max_cost_usd=0.006, max_connections=8, prices=prices(tmp_path))
    with pytest.raises(BudgetError, match=r"calls\.max_cost_usd = 0\.006 is reached"):
        chat(server, [request(seed=n) for n in range(100)])
    assert 0.002 < server.usd <= 0.006


@pytest.mark.parametrize("listed", first_fast([0.0, 0.01, 0.5], 1))
def test_a_budget_of_money_holds_where_the_price_list_is_too_low(
    server: Loopback, configure: Configure, tmp_path: Path, listed: float
) -> None:
    server.latency = 0.02
    configure(max_cost_usd=0.006, max_connections=8, prices=prices(tmp_path, listed))
    with pytest.raises(BudgetError, match=r"calls\.max_cost_usd = 0\.006 is reached"):
        chat(server, [request(seed=n) for n in range(100)])
    assert 0.002 < server.usd <= 0.006


@pytest.mark.slow
def test_while_the_first_call_shows_what_a_model_costs_the_others_lose_no_time(
    server: Loopback, configure: Configure, tmp_path: Path
) -> None:
    server.latency = 2.0
    configure(max_cost_usd=1, max_connections=4, deadline=3.9, prices=prices(tmp_path))
    replies = chat(server, [request(seed=n) for n in range(4)])
    assert [reply.status for reply in replies] == [Status.OK] * 4
    first, *others = sorted(server.log, key=lambda sent: sent.began)
    assert first.ended is not None
    assert all(other.began >= first.ended for other in others)


def test_what_is_set_aside_follows_what_calls_have_cost(cache: ResponseCache) -> None:
    budget = Budget(max_cost_usd=100)

    def pay(usd: float | None, listed: float) -> None:
        usage = Usage(1, 1, cost_usd=usd)
        cache.record_usage(UsageEntry(cache.send(call(), 0.1, budget).number, "ok", usage, listed, charged=True))

    def aside(listed: float, model: str = "vlm") -> float:
        return cache.send(replace(call(), model=model), listed, budget).reserved_usd

    assert not cache.knows_cost(call().model)
    assert aside(0.2) == 0.2
    pay(0.3, listed=0.1)
    assert cache.knows_cost(call().model)
    assert aside(0.2) == pytest.approx(0.6), "three times the list"
    assert aside(0.01) == pytest.approx(0.3), "at least as much as the dearest"
    assert aside(0.2, "other") == 0.2
    pay(0.05, listed=0.1)
    pay(None, listed=0.5)
    assert aside(0.2) == pytest.approx(0.5), "by tokens where no cost is reported"


def test_a_budget_of_money_needs_a_price(server: Loopback, configure: Configure) -> None:
    configure(max_cost_usd=1)
    with pytest.raises(PluginError, match=r"no list has a price of vlm; add a line for it to \.cfeval"):
        chat(server)
    assert server.log == []


def test_what_a_broken_connection_may_have_cost_counts_and_what_was_refused_does_not(cache: ResponseCache) -> None:
    budget = Budget(max_cost_usd=1.0)

    def attempt(reserved: float, ended: str, usage: Usage | None, listed: float | None, charged: bool) -> None:
        cache.record_usage(UsageEntry(cache.send(call(), reserved, budget).number, ended, usage, listed, charged))

    attempt(0.4, "http_429", None, None, charged=False)
    attempt(0.4, "timeout", None, None, charged=True)
    attempt(0.4, "ok", Usage(1, 1, cost_usd=0.1), 0.3, charged=True)
    attempt(0.4, "ok", Usage(1, 1), 0.2, charged=True)
    assert cache.paid([call().key]) == (4, pytest.approx(0.1 + 0.2), pytest.approx(0.4))
    assert cache.last_cost(call().key) == 0.2
    cache.send(call(), 0.3, budget)
    with pytest.raises(BudgetError, match=r"1\.0000 USD are spent or set aside"):
        cache.send(call(), 0.01, budget)


@pytest.mark.parametrize(
    ("fault", "least", "most"),
    [("http_500", 0.0, 0.0), ("close_mid_body", 0.003, 0.004), ("usage_missing", 0.003, 0.004)],
)
def test_the_ledger_sets_aside_what_nobody_told(
    server: Loopback, configure: Configure, tmp_path: Path, fault: str, least: float, most: float
) -> None:
    path = configure(max_retries=0, prices=prices(tmp_path))
    server.script([fault])
    (reply,) = chat(server)
    cache = ResponseCache(path)
    sent, paid, maybe = cache.paid(reply.calls)
    assert (sent, paid) == (1, 0.0)
    assert least <= maybe <= most
    cache.close()


def test_reported_and_listed_costs_stand_side_by_side(
    server: Loopback, configure: Configure, tmp_path: Path, cfeval: Run
) -> None:
    path = configure(prices=prices(tmp_path))
    conversations(server.openrouter, 0, 3)
    ask(server, Kind.SUBMIT)
    status, out, _ = cfeval("cache", "stats", "--cache", path, "--json")
    assert status == 0
    flux, vlm = json.loads(out)
    assert vlm["sent"] == vlm["good"] == vlm["stored"] == 6
    assert vlm["reported_usd"] == pytest.approx(server.usd)
    assert vlm["listed_where_reported_usd"] == pytest.approx(server.usd), "the server charges what the list says"
    assert (flux["reported_usd"], flux["listed_usd"], flux["images"]) == (pytest.approx(0.08), pytest.approx(0.07), 1)
    _, out, _ = cfeval("cache", "stats", "--cache", path)
    assert "flux-kontext-max: reported minus list +0.0100 USD" in out
    assert "vlm: reported minus list +0.0000 USD" in out


# What is kept


def test_a_reply_comes_back_as_it_went_in(cache: ResponseCache) -> None:
    for number, reply in enumerate([GOOD, FAILED, Response(image=b"\x89PNG", text="\u2028\x85é😀")]):
        cache.keep(call(number), reply)
        assert cache.find(call(number).key) == reply
    assert cache.find("0" * 64) is None


def test_a_reply_that_stands_is_never_replaced(cache: ResponseCache) -> None:
    for reply, kept in [(FAILED, FAILED), (GOOD, GOOD), (FAILED, GOOD), (Response(text="no"), GOOD)]:
        cache.keep(call(), reply)
        assert cache.find(call().key) == kept


def test_a_call_is_held_by_one_cache_at_a_time_and_let_go(tmp_path: Path) -> None:
    one, other = ResponseCache(tmp_path / "s"), ResponseCache(tmp_path / "s")
    assert one.claim("k", 60)
    assert one.claim("k", 60), "its own claim hinders nobody"
    assert not other.claim("k", 60)
    assert other.claim("k", 0), "too long ago"
    assert not one.claim("k", 60)
    other.close()
    assert one.claim("k", 60)
    one.keep(call(), GOOD)
    one.close()


def test_only_calls_no_record_names_are_pruned_and_what_they_cost_stays(
    server: Loopback, configure: Configure, tmp_path: Path, cfeval: Run
) -> None:
    path = configure()
    kept, unused = chat(server, [request(seed=1), request(seed=2)])
    records = tmp_path / "results"
    records.mkdir()
    (records / "a.jsonl").write_text(f'{{"id": "i1", "calls": ["{kept.calls[0]}"]}}\n')
    assert cfeval("cache", "prune", records, "--dry-run", "--cache", path)[1] == "1 calls that no record names\n"
    assert cfeval("cache", "prune", records, "--cache", path)[1] == "1 calls that no record names removed\n"
    status, _, err = cfeval("cache", "prune", "--cache", path)
    assert (status, "name the record files" in err) == (2, True)
    cache = ResponseCache(path)
    assert [row.key for row in cache.calls()] == [kept.calls[0]]
    assert cache.paid(unused.calls)[0] == 1
    cache.close()


def test_an_image_goes_when_its_last_call_goes(cache: ResponseCache) -> None:
    cache.keep(call(1), Response(image=b"a"))
    cache.keep(call(2), Response(image=b"a"))
    (row, _) = cache.calls()
    cache.remove([call(1).key])
    assert cache.image(row.image) == b"a"
    cache.remove([call(2).key])
    assert cache.image(row.image) is None


# A file that cannot be used


def refused(work: Callable[[], object], error: type[CfevalError], *words: str) -> None:
    with pytest.raises(error) as raised:
        work()
    assert "\n" not in str(raised.value)
    for word in words:
        assert word in str(raised.value)


def test_a_full_disk_ends_the_run_with_one_line_and_nothing_more_is_sent(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = configure(max_connections=1)
    chat(server, [request(seed=0)])
    real = sqlite3.connect

    def small(*arguments: Any, **options: Any) -> sqlite3.Connection:
        db = real(*arguments, **options)
        db.execute("PRAGMA max_page_count = 24")
        return db

    with monkeypatch.context() as patch:
        patch.setattr(cache_db.sqlite3, "connect", small)
        requests = [request(seed=n) for n in range(100)]
        refused(lambda: chat(server, requests), OutputError, str(path), "full", "free some space and run again")
    sent = len(server.log)
    assert sent < 50
    assert all(reply.status == Status.OK for reply in chat(server, requests))
    assert sum(count - 1 for count in server.sent().values()) <= 1


def test_a_cache_that_cannot_be_written_opened_or_had_in_time_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s"
    ResponseCache(path).close()
    refused(lambda: ResponseCache(tmp_path), OutputError, "unable to open", "calls.cache")
    real = sqlite3.connect
    with monkeypatch.context() as patch:
        read_only = lambda path, **options: real(f"file:{path}?mode=ro", uri=True, **options)  # noqa: E731
        patch.setattr(cache_db.sqlite3, "connect", read_only)
        refused(lambda: ResponseCache(path).keep(call(), GOOD), OutputError, "readonly", "writable")
    monkeypatch.setattr(cache_db, "PATIENCE", 0.05)
    holder = real(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    refused(lambda: ResponseCache(path).keep(call(), GOOD), OutputError, "locked", "another process")
    holder.close()


def test_another_file_is_not_taken_for_a_cache(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text("a text file, long enough to be no SQLite file at all" * 30)
    refused(lambda: ResponseCache(path), InputError, "not a response cache", "calls.cache")
    path.unlink()
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE calls (key)")
    foreign.close()
    refused(lambda: ResponseCache(path), InputError, "not a response cache")
    path.unlink()
    ResponseCache(path).close()
    later = sqlite3.connect(path)
    later.execute("PRAGMA user_version = 99")
    later.close()
    refused(lambda: ResponseCache(path), InputError, "version 99")


def meddle(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    db.execute(statement)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE calls SET reply = replace(reply, 'blue', 'pink')", "was changed after it was stored"),
        ("UPDATE calls SET final = 0", "was changed after it was stored"),
        ("UPDATE calls SET item = 'another'", "was changed after it was stored"),
        ("UPDATE calls SET request = replace(request, 'blue', 'pink')", "is not the call that its key names"),
        ("UPDATE calls SET draw = draw + 1", "is not the call that its key names"),
        ("UPDATE calls SET reply = 'x'", "cannot be read"),
        ("UPDATE images SET content = x'00'", "has another"),
        ("DELETE FROM images", "has lost its image"),
    ],
)
def test_verify_finds_what_was_changed(tmp_path: Path, cfeval: Run, statement: str, words: str) -> None:
    path = tmp_path / "s"
    cache = ResponseCache(path)
    blue = Request("chat", "http://x/v1", "vlm", {"messages": ["blue"]}, 1, "i1")
    cache.keep(blue, Response(text="blue", image=b"\x89PNG"))
    cache.close()
    assert cfeval("cache", "verify", "--cache", path)[:2] == (0, f"{path}: all 1 calls match their keys\n")
    meddle(path, statement)
    status, out, err = cfeval("cache", "verify", "--cache", path)
    assert (status, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_a_reply_that_lost_its_image_or_its_form_is_no_reply(tmp_path: Path) -> None:
    path = tmp_path / "s"
    cache = ResponseCache(path)
    cache.keep(call(), Response(image=b"a"))
    meddle(path, "DELETE FROM images")
    refused(lambda: cache.find(call().key), InputError, "damaged", "cfeval cache verify")
    meddle(path, "UPDATE calls SET reply = '{', image = NULL")
    refused(lambda: cache.find(call().key), InputError, "damaged")
    cache.close()


def test_bytes_overwritten_in_the_file_are_found_and_told(tmp_path: Path, cfeval: Run) -> None:
    path = tmp_path / "s"
    cache = ResponseCache(path)
    for number in range(200):
        cache.keep(call(number), GOOD)
    cache.close()
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 9000] = b"\xab" * 9000
    path.write_bytes(content)
    status, _, err = cfeval("cache", "verify", "--cache", path)
    assert status == 2
    assert "damaged" in err
    assert len(err.splitlines()) == 1


def test_editors_use_the_cache_too(server: Loopback, configure: Configure) -> None:
    for kind in (Kind.IMAGE, Kind.EDIT, Kind.SUBMIT):
        server.reset()
        first = ask(server, kind)
        assert ask(server, kind) == first
        assert sum(server.sent().values()) == 1
        configure(offline=True)
        assert ask(server, kind) == first
        configure()
