"""How calls travel, and how far those of a job are, on stderr: done, stored, in flight, waiting, tokens, cost.

The settings come by the environment, because nothing that a job makes depends on them.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Literal

import typer
from pydantic import ValidationError

from cfeval.core.config import Calls
from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.inference.remote.request import Response, Usage

# Holds the section `calls` of params.yaml as JSON; the workflow sets it for its jobs.
VARIABLE = "CFEVAL_CALLS"
# Seconds between two lines of a meter.
EVERY = 5.0
# Whether a meter says nothing at its end, and only shows now and then that it still waits.
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
Offline = Annotated[
    bool, typer.Option("--offline", help="Use stored replies only: nothing is sent, and no key is needed.")
]


def settings() -> Calls:
    """The settings of this process; the defaults where the variable is not set.

    Raises:
        InputError: the variable holds something else.
    """
    try:
        return Calls.model_validate_json(os.environ.get(VARIABLE) or "{}")
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"{part}: " for part in first["loc"])
        raise InputError(f"the environment variable {VARIABLE}: {place}{first['msg']}") from None


def use(calls: Calls) -> None:
    """Make these the settings of this process and of those it starts."""
    os.environ[VARIABLE] = calls.model_dump_json()


def use_offline_cache(offline: bool) -> None:
    """Let the response cache alone answer, if that is asked for."""
    if offline:
        use(settings().model_copy(update={"offline": True}))


def paid(usd: float, maybe_usd: float) -> str:
    """What was paid in USD, and what more may have been."""
    more = f", {maybe_usd:.4f} more may have been paid" if maybe_usd else ""
    return f"{usd:.4f} USD paid{more}"


class ProgressMeter:
    """Counts the calls of a job, and says now and then how far they are."""

    def __init__(self) -> None:
        self.stored = self.done = self.failed = self.flying = self.pausing = self.tokens = self.shrunk = 0
        self.timed_out = 0
        """Attempts that got no answer in time and were sent again."""
        self.batched = 0
        self.batches: dict[str, tuple[int, int]] = {}
        """Calls done and all calls of each batch at a provider."""
        self.paid_usd = self.maybe_paid_usd = 0.0
        self._start = time.monotonic()

    @contextmanager
    def counting(self, name: Literal["flying", "pausing", "batched"]) -> Iterator[None]:
        """Count a call as sent, as in a pause before another attempt, or as waiting for its batch."""
        setattr(self, name, getattr(self, name) + 1)
        try:
            yield
        finally:
            setattr(self, name, getattr(self, name) - 1)

    def ended(self, reply: Response) -> None:
        """A call came to its end."""
        self.done += 1
        self.failed += reply.status != Status.OK

    def used(self, usage: Usage | None, listed_usd: float | None, reserved_usd: float) -> None:
        """An attempt ended: it cost what was reported, else its list price, or else perhaps `reserved_usd`."""
        reported = None if usage is None else usage.cost_usd
        paid = listed_usd if reported is None else reported
        if usage is not None:
            self.tokens += usage.input_tokens + usage.output_tokens
        if paid is None:
            self.maybe_paid_usd += reserved_usd
        else:
            self.paid_usd += paid

    def line(self) -> str:
        """All counts, in one line."""
        rate = self.done / max(time.monotonic() - self._start, 1e-9)
        batches = ""
        if self.batched or self.batches:
            progress = list(self.batches.values())
            done, total = sum(batch[0] for batch in progress), sum(batch[1] for batch in progress)
            there = f" ({len(progress)} at the provider: {done} of {total} done)" if progress else ""
            batches = f"{self.batched} waiting in batches{there}, "
        return (
            f"calls: {self.done} done ({self.failed} failed, {rate:.1f} a second), {self.stored} from the cache, "
            f"{self.flying} in flight ({self.pausing} of them waiting), "
            + (f"{self.timed_out} timed out, sent again, " if self.timed_out else "")
            + f"{batches}{self.tokens:,} tokens, "
            f"{paid(self.paid_usd, self.maybe_paid_usd)}"
            + (f"; {self.shrunk} images shrunk under max_pixels" if self.shrunk else "")
        )

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Say a line now and then, and one at the end."""
        over = threading.Event()

        def talk() -> None:
            while not over.wait(EVERY):
                print(self.line(), file=sys.stderr, flush=True)

        talker = threading.Thread(target=talk, daemon=True)
        talker.start()
        try:
            yield
        finally:
            over.set()
            talker.join()
            if not QUIET.get():
                print(self.line(), file=sys.stderr, flush=True)
