"""A response cache on a disk that several machines share: no shared memory, nothing lost, nothing paid twice."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from cfeval.inference.remote import cache_db
from cfeval.inference.remote.cache import ResponseCache

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
