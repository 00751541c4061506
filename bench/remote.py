"""The loopback server in a process of its own, steered over HTTP, so that its CPU time is not the client's."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2


@dataclass(frozen=True)
class Remote:
    """A running server."""

    origin: str

    @property
    def openrouter(self) -> str:
        """Base URL of the OpenRouter protocol."""
        return f"{self.origin}/api/v1"

    def steer(self, action: str, **options: Any) -> None:
        """See tests/loopback/steering.py."""
        httpx2.post(f"{self.origin}/_ctl/{action}", json=options).raise_for_status()

    def summary(self) -> dict[str, Any]:
        """All counts."""
        counts: dict[str, Any] = httpx2.get(f"{self.origin}/_ctl/summary").json()
        return counts

    def log(self) -> list[dict[str, Any]]:
        """Every request since the last reset."""
        entries: list[dict[str, Any]] = httpx2.get(f"{self.origin}/_ctl/log").json()
        return entries

    def sent(self) -> int:
        """How many requests came that a provider charges for."""
        return sum(self.summary()["sent"].values())

    def again(self) -> int:
        """How many of them had come before."""
        return sum(count - 1 for count in self.summary()["sent"].values())


@contextmanager
def serving() -> Iterator[Remote]:
    """A server while the block runs."""
    process = subprocess.Popen([sys.executable, "-m", "tests.loopback"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Remote(process.stdout.readline().strip())
    finally:
        process.terminate()
        process.wait()
