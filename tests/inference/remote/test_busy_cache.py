"""While another process writes to the cache's file, answers in flight come in: none times out, none is paid twice."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cfeval.core.records import Status
from cfeval.inference.remote.cache import ResponseCache
from tests.inference.remote.asking import chat, request
from tests.inference.remote.conftest import Configure
from tests.loopback.site import Loopback

HELD = 4.0
"""Seconds for which the other writer holds the lock: longer than an attempt may take."""


@contextmanager
def writer(path: Path, when: Callable[[], bool], seconds: float) -> Iterator[None]:
    """Another writer, in a thread of its own, that takes the lock once something has come and keeps it for a while."""

    def hold() -> None:
        while not when():
            time.sleep(0.005)
        other = sqlite3.connect(path, timeout=10, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        other.execute("ROLLBACK")
        other.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def sends(path: Path) -> list[tuple[str, int]]:
    cache = ResponseCache(path)
    rows = cache._db.execute("SELECT ended, count(*) FROM sends GROUP BY ended").fetchall()
    cache.close()
    return [(str(ended), int(count)) for ended, count in rows]


def test_answers_arrive_while_another_process_holds_the_lock(server: Loopback, configure: Configure) -> None:
    path = configure(max_connections=8, timeout=HELD / 2, max_retries=1)
    chat(server, [request(seed=0)])  # makes the file
    server.reset()
    server.latency = 0.2
    with writer(path, lambda: len(server.log) >= 8, HELD):
        replies = chat(server, [request(seed=n) for n in range(1, 17)])
    assert {reply.status for reply in replies} == {Status.OK}
    assert set(server.sent().values()) == {1}, "no answer timed out and was paid twice"
    assert sends(path) == [("ok", 17)]


def test_a_file_that_stays_locked_ends_the_run_with_one_line(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = configure()
    chat(server, [request(seed=0)])
    monkeypatch.setattr("cfeval.inference.remote.cache_db.PATIENCE", 0.1)
    server.reset()
    server.latency = 0.3
    with (
        writer(path, lambda: len(server.log) >= 1, HELD),
        pytest.raises(Exception, match="another process holds it; end that or wait, then run again"),
    ):
        chat(server, [request(seed=1)])
    assert len(server.log) == 1
