"""Out of memory: halve the batch and go on from the last finished step."""

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from cfeval.errors import BackendError

_SIGNS = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")


@dataclass
class Allowance:
    """How many images at once have fitted so far."""

    batch: int

    def halve(self, size: int, what: str) -> None:
        """Allow half of a size that did not fit, and say so; BackendError where it was a single image."""
        if size == 1:
            raise BackendError(
                f"{what}: out of memory with a single image; use smaller images or networks, or free memory"
            )
        if torch.cuda.is_available():
            gc.collect()
            torch.cuda.empty_cache()
        self.batch = min(self.batch, (size + 1) // 2)
        print(f"{what}: out of memory with {size} images at once, going on with {self.batch}", file=sys.stderr)


class Task(Protocol):
    """Work on several images that goes in steps and can be cut in two between them."""

    @property
    def size(self) -> int:
        """How many images it is about."""
        ...

    @property
    def finished(self) -> bool:
        """Whether no step is left."""
        ...

    def advanced(self) -> Self:
        """The same after one more step; the task itself stays as it is."""
        ...

    def halves(self) -> tuple[Self, Self]:
        """Its first and its second half of the images, at the same step."""
        ...


T = TypeVar("T", bound=Task)


def finish(task: T, allowance: Allowance) -> list[T]:
    """Take a task to its end, in one piece or, where memory does not suffice, in several; they are in order."""
    pending, done = [task], []
    while pending:
        now = pending.pop()
        if now.finished:
            done.append(now)
            continue
        after = _attempt(now.advanced) if now.size <= allowance.batch else None
        if after is not None:
            pending.append(after)
            continue
        if now.size <= allowance.batch:
            allowance.halve(now.size, "counterfactuals")
        pending += reversed(now.halves())
    return done


def mapped(call: Callable[[int, int], Tensor], count: int, allowance: Allowance, what: str) -> Tensor:
    """`call(start, end)` over 0 … count in batches, its results joined."""
    results: list[Tensor] = []
    start = 0
    while start < count:
        end = min(start + allowance.batch, count)
        result = _attempt(lambda start=start, end=end: call(start, end))  # type: ignore[misc]
        if result is None:
            allowance.halve(end - start, what)
            continue
        results.append(result)
        start = end
    return torch.cat(results)


R = TypeVar("R")


def _attempt(call: Callable[[], R]) -> R | None:
    """What a call returns, or None if it ran out of memory; its frames, and what they hold, are gone by then."""
    try:
        return call()
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _SIGNS):
            return None
        raise
