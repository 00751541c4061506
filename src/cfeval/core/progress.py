"""Progress on stderr: a live bar on a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track as rich_track

T = TypeVar("T")
_EVERY_SECONDS = 5.0


def track(things: Iterable[T], total: int, label: str) -> Iterator[T]:
    """Pass `things` through and tell how far they are."""
    if sys.stderr.isatty():
        yield from rich_track(things, description=label, total=total, console=Console(stderr=True), transient=True)
        return
    start = said = time.monotonic()
    for done, thing in enumerate(things):
        yield thing
        now = time.monotonic()
        if now - said >= _EVERY_SECONDS:
            said = now
            print(f"{label}: {done + 1} of {total}, {(done + 1) / (now - start):.1f} a second", file=sys.stderr)
    print(f"{label}: {total} of {total} done in {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
