"""What a provider's batches are to `cfeval.inference.remote.batches`, whichever provider it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

from cfeval.inference.remote.faults import Fault


@dataclass(frozen=True)
class Progress:
    """How far a batch is at its provider: `state` is the provider's word, `over` that it will not change any more.

    `refused` says that the batch went over a limit of the account, so that nothing of it was done.
    """

    state: str
    over: bool
    done: int = 0
    total: int = 0
    refused: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict)


class BatchApi(Protocol):
    """The batches of an account at a provider; a method that fails gives the fault."""

    lane: str
    """What only calls of one batch have in common: address, account and model."""
    max_requests: int
    max_bytes: int

    def line(self, key: str, body: Mapping[str, Any]) -> bytes:
        """A request as it stands in the file of a batch."""

    async def submit(self, name: str, content: IO[bytes]) -> str | Fault:
        """Submit a batch under a name of ours, and say the provider's."""

    async def find(self, name: str, since: float) -> str | Fault | None:
        """The provider's name of a batch that may have been submitted since then (Unix time); None where none was."""

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is."""

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What came of the calls of a batch that is over, by key; some may be missing."""

    def missing(self, progress: Progress) -> dict[str, Any]:
        """What came of a call that is missing there."""

    def read(self, outcome: Mapping[str, Any]) -> Any | Fault:
        """The answer in an outcome."""
