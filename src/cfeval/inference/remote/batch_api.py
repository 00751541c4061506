"""The two sides of `cfeval.inference.remote.batches`: any provider's batches, and the client of a stage."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Protocol, TypeVar

from cfeval.core.config import Calls
from cfeval.core.errors import CfevalError
from cfeval.inference.remote.batch_db import Sought
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.settings import ProgressMeter
from cfeval.inference.remote.spending import Spending

T = TypeVar("T")
# The kind of the fault that a batch is not taken up for a limit of the account: it is not at the provider.
REFUSED = "batch_refused"


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

    def line(self, name: str, key: str, body: Mapping[str, Any]) -> bytes:
        """A request as it stands in the file of a batch of that name; the name has no part in its length."""

    async def submit(self, name: str, content: IO[bytes]) -> str | Fault:
        """Submit a batch under a name of ours, and say the provider's."""

    async def find(self, sought: Sought) -> str | Fault | None:
        """The provider's name of a batch that may have been submitted; None where it was not."""

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is."""

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What came of the calls of a batch that is over, by key; some may be missing."""

    def missing(self, progress: Progress) -> dict[str, Any]:
        """What came of a call that is missing there."""

    def read(self, outcome: Mapping[str, Any]) -> Any | Fault:
        """The answer in an outcome."""


@dataclass(frozen=True)
class Outcome:
    """What came of a call, and its number in the ledger."""

    send: int
    content: Mapping[str, Any] | Fault


class BatchClient(Protocol):
    """What batches need of the client whose calls they carry (`cfeval.inference.remote.client`)."""

    settings: Calls
    cache: ResponseCache
    meter: ProgressMeter
    spending: Spending

    async def on_disk(self, work: Callable[..., T], *arguments: Any) -> T:
        """Have the cache do something."""

    async def pause(self, seconds: float) -> None:
        """Wait, or raise what stops the run."""

    def go_on(self) -> None:
        """Raise what has stopped the run, if anything has."""

    def stop(self, error: CfevalError) -> None:
        """Send nothing more."""
