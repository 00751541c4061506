"""What the tests of calls share: a loopback server, settings in the environment, waits that are short."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.calls import attempts, database, faults
from cfeval.calls.settings import VARIABLE
from cfeval.calls.store import Store
from cfeval.params.sections import Calls
from tests.calls.keys import KEY, KEY_ENV
from tests.loopback import Loopback, loopback

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
    """Sets how calls travel; returns the store's path. The key is in the environment from then on."""
    monkeypatch.setenv(KEY_ENV, KEY)

    def use(**settings: Any) -> Path:
        calls = Calls(**{"store": str(tmp_path / "calls.sqlite"), **settings})
        monkeypatch.setenv(VARIABLE, calls.model_dump_json())
        return Path(calls.store)

    use()
    return use


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "own.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits pass quickly: those of the back-off, in proportion those that a server asks for, those for the disk."""
    monkeypatch.setattr(database, "SYNCHRONOUS", "OFF")
    asked = faults.retry_after
    monkeypatch.setattr(attempts, "_BACK_OFF", 0.005)
    monkeypatch.setattr(faults, "retry_after", lambda headers: (wait := asked(headers)) and wait * HURRY)
