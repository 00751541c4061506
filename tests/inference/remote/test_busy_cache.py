"""The cache among others: while one writes, answers come in; on shared disks nothing is lost, or paid anew."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from cfeval.core.records import Status
from cfeval.inference.remote import cache_db
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


JOB = """
import sys
from pathlib import Path
from cfeval.inference.remote import cache_db as database
from cfeval.inference.remote.request import Request, Response
from cfeval.inference.remote.cache import Budget, ResponseCache, UsageEntry

database.shared = lambda path: True
cache, sent = ResponseCache(Path(sys.argv[1])), 0
for number in range(40):
    call = Request("chat", "http://x/v1", "vlm", {"messages": [number]}, 1)
    if cache.claim(call.key, 60) and cache.find(call.key) is None:
        usage = UsageEntry(cache.send(call, 0.0, Budget(max_calls=40)).number, "ok", None, None, True)
        cache.keep(call, Response(text=str(number)), usage)
        sent += 1
print(sent)
"""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("nfs4", True), ("lustre", True), ("fuse.glusterfs", True), ("ext4", False), ("overlay", False), ("tmpfs", False)],
)
def test_what_kind_of_disk_it_is_decides_the_mount_that_holds_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, expected: bool
) -> None:
    mounts = [SimpleNamespace(mountpoint=str(at), fstype=of) for at, of in ((tmp_path, kind), ("/", "nfs"))]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: mounts)
    assert cache_db.shared(tmp_path / "calls.sqlite") is expected


@pytest.mark.parametrize(("network", "mode"), [(True, "delete"), (False, "wal")])
def test_its_journal_is_one_that_such_a_disk_can_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: bool, mode: str
) -> None:
    monkeypatch.setattr(cache_db, "shared", lambda path: network)
    ResponseCache(tmp_path / "calls.sqlite").close()
    with sqlite3.connect(tmp_path / "calls.sqlite") as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == (mode,)


@pytest.mark.slow
def test_jobs_at_once_send_every_call_once(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    jobs = [subprocess.Popen([sys.executable, "-c", JOB, path], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert sum(int(job.communicate()[0]) for job in jobs) == 40
    cache = ResponseCache(path)
    assert len(list(cache.calls())) == 40
    assert cache.integrity_error() == ""
