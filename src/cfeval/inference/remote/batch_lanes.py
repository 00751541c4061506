"""Calls of one model that wait to go in a batch, and how many one batch may have."""

import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from cfeval.inference.remote.batch_api import BatchApi


@dataclass
class Gathered:
    """Calls that wait to be sent together."""

    api: BatchApi
    most: int
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    keys: list[str] = field(default_factory=list)
    content: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    full: bool = False

    def add(self, key: str, body: Mapping[str, Any]) -> int:
        """Take a call in; how many bytes it has, 0 where there is no room any more."""
        line = self.api.line(self.name, key, body)
        room = len(self.keys) < self.most and self.content.tell() + len(line) <= self.api.max_bytes
        if self.full or not (room or not self.keys):
            self.full = True
            return 0
        self.content.write(line)
        self.keys.append(key)
        return len(line)


class Lane:
    """A model at a provider: the batch that gathers, and how many calls one may have."""

    def __init__(self, api: BatchApi) -> None:
        self.gathered: Gathered | None = None
        self.most = api.max_requests
        self.running = 0
        self.limited = False  # a batch was refused for a limit of the account: from then on one at a time

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Around a batch that is at the provider, or may be."""
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
