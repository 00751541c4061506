"""What tests of studies begin with: a server that plays every role."""

from collections.abc import Iterator

import pytest

from tests.loopback.site import Loopback
from tests.study.service import service


@pytest.fixture
def server() -> Iterator[Loopback]:
    """The server, for one test."""
    with service() as running:
        yield running
