"""What the tests of calls share: a loopback server, settings in the environment, waits that are short."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.config import Calls
from cfeval.inference.remote import cache_db, faults, rate_limit
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.cache_server import VARIABLE as SERVER
from cfeval.inference.remote.cache_server import CacheServer, new_address, open_cache
from cfeval.inference.remote.settings import VARIABLE
from tests.inference.remote.keys import KEY, KEY_ENV
from tests.loopback.server import loopback
from tests.loopback.site import Loopback

HURRY = 0.02
"""Waits that a server asks for take so much of their time."""

Configure = Callable[..., Path]


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    with loopback(key=KEY) as server:
        yield server


@pytest.fixture
def server(running: Loopback) -> Loopback:
    """A server that has seen nothing yet."""
    running.reset()
    running.latency = 0.0
    return running


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Sets how calls travel; returns the cache's path. The key is in the environment from then on."""
    monkeypatch.setenv(KEY_ENV, KEY)

    def use(**settings: Any) -> Path:
        calls = Calls(**{"cache": str(tmp_path / "calls.sqlite"), **settings})
        monkeypatch.setenv(VARIABLE, calls.model_dump_json())
        return Path(calls.cache)

    use()
    return use


@pytest.fixture(params=["file", "server"])
def cache(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ResponseCache]:
    """A cache in a file of its own, and one behind a server: each of their tests holds for both."""
    path = tmp_path / "own.sqlite"
    with ExitStack() as stack:
        if request.param == "server":
            monkeypatch.setenv(SERVER, stack.enter_context(served(path)).address.variable)
        yield stack.enter_context(closing(open_cache(path)))


@contextmanager
def served(path: Path, address: str = "127.0.0.1:0") -> Iterator[CacheServer]:
    """A server of the cache in a file, in a thread."""
    with CacheServer(path, new_address(address)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits pass quickly: those of the back-off, in proportion those that a server asks for, those for the disk."""
    monkeypatch.setattr(cache_db, "SYNCHRONOUS", "OFF")
    asked = faults.retry_after
    monkeypatch.setattr(rate_limit, "_BACK_OFF", 0.005)
    monkeypatch.setattr(faults, "retry_after", lambda headers: (wait := asked(headers)) and wait * HURRY)
