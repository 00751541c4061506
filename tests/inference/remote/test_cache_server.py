"""Jobs that share no disk, with their cache behind a server: nothing is paid twice or lost, budgets hold for all."""

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.errors import InputError, OutputError
from cfeval.core.records import Status
from cfeval.inference.remote import cache_server
from cfeval.inference.remote.cache import Budget, BudgetError, ResponseCache
from cfeval.inference.remote.cache_server import VARIABLE, CacheServer, address_of, new_address, open_cache
from cfeval.inference.remote.request import Request, Response, Usage
from tests.inference.remote.child import job
from tests.inference.remote.conftest import Configure, served
from tests.inference.remote.test_processes import ended, said, until
from tests.loopback.site import Loopback

ITEMS = 8


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CacheServer]:
    """A server that the environment of this process and of its jobs names."""
    with served(tmp_path / "served.sqlite") as server:
        monkeypatch.setenv(VARIABLE, server.address.variable)
        yield server


def call(number: int = 1) -> Request:
    return Request("chat", "http://x/v1", "vlm", {"messages": ["hello"]}, number, "i1")


@pytest.mark.usefixtures("configure", "serving")
def test_jobs_that_ask_alike_send_each_call_once_and_write_no_cache_of_their_own(
    server: Loopback, tmp_path: Path
) -> None:
    server.latency = 0.05
    own = [tmp_path / f"node-{number}" / "calls.sqlite" for number in range(2)]
    first, second = (said(each) for each in [job(server.openrouter, 0, ITEMS, cache=str(file)) for file in own])
    assert first == second
    assert len(server.log) == 2 * ITEMS
    assert not any(file.parent.exists() for file in own)


@pytest.mark.usefixtures("configure", "serving")
def test_a_killed_job_loses_what_was_in_flight_alone_and_holds_up_nobody(server: Loopback) -> None:
    server.held = lambda place: place > ITEMS
    killed = job(server.openrouter, 0, ITEMS, max_connections=4)
    until(lambda: len(server.log) >= ITEMS + 1)
    killed.send_signal(signal.SIGKILL)
    ended(killed)
    server.held = lambda place: False
    began = time.monotonic()
    said(job(server.openrouter, 0, ITEMS, max_connections=4))
    paid = [entry.digest for entry in server.log]
    assert len(set(paid)) == 2 * ITEMS
    assert len(paid) <= 2 * ITEMS + 4
    assert time.monotonic() - began < 60, "its claims ended with its connection"


@pytest.mark.usefixtures("configure", "serving")
def test_a_budget_holds_for_all_jobs_together(server: Loopback) -> None:
    jobs = [job(server.openrouter, 10 * number, 10 * number + ITEMS, max_calls=5) for number in range(2)]
    ends = [ended(each) for each in jobs]
    assert len(server.log) == 5
    assert any("calls.max_calls = 5 is reached" in err for _, _, err in ends)


def test_a_job_offline_replays_from_the_server_and_names_what_it_lacks(
    server: Loopback, configure: Configure, serving: CacheServer
) -> None:
    replies = said(job(server.openrouter, 0, ITEMS))
    server.reset()
    assert said(job(server.openrouter, 0, ITEMS, offline=True)) == replies
    status, _, err = ended(job(server.openrouter, 0, ITEMS + 1, offline=True))
    assert (status, server.log) == (2, [])
    assert f"that {serving.address.url} does not hold" in err
    assert serving.address.key not in err


@pytest.mark.parametrize("lost", ["request", "reply"])
def test_a_request_is_done_once_though_the_connection_broke(
    serving: CacheServer, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    with closing(open_cache(Path("unused"))) as cache:
        cache.send(call(1), 0.5, Budget())
        whole, broken = http.client.HTTPConnection.getresponse, []

        def breaks(connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
            if broken:
                return whole(connection)
            broken.append(lost == "reply" and whole(connection).read())
            raise ConnectionResetError

        monkeypatch.setattr(http.client.HTTPConnection, "getresponse", breaks)
        monkeypatch.setattr(cache_server, "_PAUSE", 0.0)
        sent = cache.send(call(2), 0.25, Budget(max_calls=2))
        assert (sent.number, sent.reserved_usd) == (2, 0.25)
        assert cache.sent_since(0).sent == 2
        with pytest.raises(BudgetError, match="2 calls were sent"):
            cache.send(call(3), 0.1, Budget(max_calls=2))


def test_claims_end_with_the_connection_and_not_before(serving: CacheServer) -> None:
    first, second = (open_cache(Path("unused")) for _ in range(2))
    assert first.claim("k", 900)
    assert not second.claim("k", 900)
    first._http.close()  # type: ignore[attr-defined]  # as the machine does for a process that was killed
    until(lambda: second.claim("k", 900))
    second.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    content=st.dictionaries(st.text(), JSON, max_size=3),
    text=st.text(),
    image=st.none() | st.binary(),
    raw=JSON,
    cost=st.none() | st.floats(0, 1e6),
    status=st.sampled_from(Status),
)
def test_calls_and_replies_travel_unchanged(
    content: dict[str, Any], text: str, image: bytes | None, raw: Any, cost: float | None, status: Status
) -> None:
    asked = Request("chat", "u", "m", content, 0)
    reply = Response(status, text, image=image, usage=Usage(1, 2, cost_usd=cost), raw=raw)
    _, arguments, _ = cache_server._types("keep")
    call_back, reply_back, _ = arguments.validate_json(arguments.dump_json((asked, reply, None), warnings=False))
    assert (call_back.key, reply_back) == (asked.key, reply)


def test_every_method_of_the_cache_can_be_served() -> None:
    for name in vars(ResponseCache):
        if not name.startswith("_"):
            assert cache_server._types(name)


def test_a_wrong_key_is_refused_with_one_line(serving: CacheServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"http://:guessed@127.0.0.1:{serving.address.port}")
    with (
        closing(open_cache(Path("unused"))) as cache,
        pytest.raises(InputError, match=f"refuses the key in {VARIABLE}"),
    ):
        cache.find("k")


@pytest.mark.parametrize("text", ["10.0.0.5:8900", "http://10.0.0.5:8900", "http://:k@host", "http://:k@h:x", "ftp://"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"holds no address .*cfeval cache serve"):
        address_of(text)


@pytest.mark.parametrize("body", [b"", b"[]", b"[1]", b'["k", "x"]', b"{", b'[{"a": 1}]'])
@pytest.mark.parametrize("method", ["claim", "_write", "batches._db", "nothing", "path"])
def test_what_is_no_request_of_a_job_changes_nothing(serving: CacheServer, method: str, body: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", serving.address.port)
    head = {"Authorization": f"Bearer {serving.address.key}", "Session": "s", "Number": "1"}
    with closing(connection):
        connection.request("POST", f"/{method}", body, head)
        with connection.getresponse() as reply:
            assert reply.status == 400


def test_a_server_that_is_gone_ends_the_job_with_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache_server, "RETRY_SECONDS", 0.0)
    with served(tmp_path / "c.sqlite") as server:
        monkeypatch.setenv(VARIABLE, server.address.variable)
    with pytest.raises(OutputError, match=r"cannot be reached .*cfeval cache serve"):
        open_cache(Path("unused")).find("k")


@contextmanager
def command(folder: Path, *words: str, **environment: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """`cfeval cache serve` in a folder, and the line that it prints."""
    program = [str(Path(sys.executable).with_name("cfeval")), "cache", "serve", *words]
    where = {name: value for name, value in os.environ.items() if name != VARIABLE} | environment
    with subprocess.Popen(program, cwd=folder, env=where, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_a_server_that_was_killed_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user starts it, in an empty folder; a job waits meanwhile."""
    with command(tmp_path, "127.0.0.1:0") as (_, line):
        name, _, address = line.removeprefix("export ").partition("=")
        monkeypatch.setenv(name, address)
        cache = open_cache(Path("unused"))
        cache.keep(call(1), Response(text="yes", image=b"\xff"))
    results: list[Response | None] = []
    waiting = threading.Thread(target=lambda: results.append(cache.find(call(1).key)))
    waiting.start()
    with command(tmp_path, **{name: address}) as (process, again):
        waiting.join(60)
        cache.close()
        assert again == line
        assert results == [Response(text="yes", image=b"\xff")]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    with closing(ResponseCache(tmp_path / ".cfeval/calls.sqlite")) as file:
        assert file.counts() == {"vlm": (1, 0)}


@pytest.mark.parametrize("text", ["host", "host:port", "host:99999", ":8900", "host:-1"])
def test_serve_says_what_an_address_is(text: str) -> None:
    with pytest.raises(InputError, match="write HOST:PORT"):
        new_address(text)
