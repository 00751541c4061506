"""What tests of studies begin with: servers on loopback, and settings of calls that no test leaves behind."""

from collections.abc import Iterator

import pytest

from cfeval.inference.remote.settings import VARIABLE
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV
from tests.study.service import service


@pytest.fixture(scope="session")
def provider() -> Iterator[Loopback]:
    """A provider that takes the canary key alone, and serves gpt-4o."""
    with loopback(key=CANARY, models=["gpt-4o"]) as running:
        yield running


@pytest.fixture
def server(provider: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    """The same, with nothing logged yet; the key is set."""
    provider.reset()
    monkeypatch.setenv(KEY_ENV, CANARY)
    return provider


@pytest.fixture
def study_server() -> Iterator[Loopback]:
    """A server that plays every role of a study, and wants no key."""
    with service() as running:
        yield running


@pytest.fixture(autouse=True)
def _settings_end_with_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
