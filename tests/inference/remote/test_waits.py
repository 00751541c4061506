"""In real time: a wait that the server asks for is kept to, and one that leads past the deadline ends the item."""

import time
from contextlib import closing

import pytest

from cfeval.core.records import Status
from cfeval.inference.remote.cache import ResponseCache
from tests.inference.remote.asking import chat, request
from tests.inference.remote.conftest import Configure
from tests.loopback.site import Loopback


@pytest.mark.parametrize(
    ("fault", "at_least", "at_most"),
    [
        ("http_429_after", 1.0, 5.0),
        ("http_429_after_ms", 0.2, 5.0),
        ("http_429_after_date", 0.9, 6.0),
    ],
)
def test_a_wait_is_kept_to(server: Loopback, configure: Configure, fault: str, at_least: float, at_most: float) -> None:
    server.script([fault])
    (reply,) = chat(server)
    first, second = server.log
    assert reply.status == Status.OK
    assert at_least <= second.began - first.began <= at_most


def test_a_wait_past_the_deadline_is_not_begun(server: Loopback, configure: Configure) -> None:
    configure(deadline=60)
    server.script(["http_429_after_long"])
    began = time.monotonic()
    (reply,) = chat(server)
    assert time.monotonic() - began < 5
    assert reply.status == Status.TRANSPORT_ERROR
    assert reply.reason.endswith("to wait 300 s as asked would go over the deadline of 60 s (calls.deadline)")
    assert len(server.log) == 1


def test_the_back_off_grows_and_is_spread(server: Loopback, configure: Configure) -> None:
    server.random(1.0, ["http_500"])
    configure(max_retries=2)
    chat(server, [request(seed=n) for n in range(12)])
    by_call: dict[str, list[float]] = {}
    for entry in server.log:
        by_call.setdefault(entry.digest, []).append(entry.began)
    firsts = [times[1] - times[0] for times in by_call.values()]
    lasts = [times[2] - times[1] for times in by_call.values()]
    assert min(firsts) >= 0.5
    assert min(lasts) >= 1.0
    assert sum(lasts) < 12 * 4.0, "it grows by the bounds that are set"
    assert max(firsts) - min(firsts) > 0.1, "calls that failed together do not come back together"


def test_once_the_run_stops_nobody_waits_on(server: Loopback, configure: Configure) -> None:
    configure(deadline=900)
    server.script(["http_429_after_long", "http_401"])
    began = time.monotonic()
    with pytest.raises(Exception, match="LOOPBACK_KEY is refused"):
        chat(server, [request(seed=n) for n in range(2)])
    assert time.monotonic() - began < 5
    assert len(server.log) == 2


def test_refusals_while_an_early_call_waits_do_not_end_the_run(server: Loopback, configure: Configure) -> None:
    configure(max_connections=2)
    server.script(["http_500", *["http_400"] * 9])
    replies = chat(server, [request(seed=n) for n in range(12)])
    assert sum(reply.status == Status.REJECTED for reply in replies) == 9
    assert sum(reply.status == Status.OK for reply in replies) == 3


def test_a_call_that_timed_out_is_said_while_it_is_sent_again_and_at_the_end(
    server: Loopback, configure: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    path = configure(timeout=0.3, deadline=5, max_retries=1)
    server.script(["hang"])
    assert chat(server)[0].status == Status.OK
    assert "1 timed out, sent again" in capsys.readouterr().err.splitlines()[-1]
    server.script(["hang", "hang"])
    [reply] = chat(server, [request(seed=9)])
    assert reply.reason.endswith("given up: 2 attempts; where the server is only slow, raise calls.timeout (0.3 s)")
    with closing(ResponseCache(path)) as cache:
        told = cache.sent_since(0)
    assert (told.sent, told.timed_out, told.sent_again) == (4, 3, 2)
