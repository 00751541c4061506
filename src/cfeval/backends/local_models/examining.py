"""What can be said about a local model in seconds, before any weight is read: for `cfeval doctor`."""

from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import NamedTuple

from cfeval.backends.local_models.checkpoint import Checkpoint
from cfeval.backends.local_models.packages import Package, check_packages
from cfeval.backends.registry import Diagnostic
from cfeval.errors import CfevalError

_GIB = 2**30


class Room(NamedTuple):
    """Where a model computes, where its weights lie, the bytes of memory there, and what to do if those are too few."""

    device: str
    place: str
    memory: int
    advice: str


def findings(
    checkpoint: Checkpoint, packages: Iterable[Package], room: Callable[[], Room], size: Callable[[Path], int]
) -> Generator[Diagnostic, None, bool]:
    """Packages that are lacking, device, checkpoint, memory; returns whether the checkpoint is fine.

    Args:
        checkpoint: the model's.
        packages: those that not every setting needs.
        room: BackendError where there is no such device.
        size: bytes that the weights in a folder will take.
    """
    there = None
    try:
        check_packages(packages)
        there = room()
        slow = ", which takes minutes an item with models of billions of weights" if there.device == "cpu" else ""
        yield Diagnostic(True, f"computes on {there.device}{slow}")
    except CfevalError as error:
        yield Diagnostic(False, str(error))
    try:
        folder = checkpoint.here()
    except CfevalError as error:
        yield Diagnostic(False, str(error))
        return False
    yield Diagnostic(True, checkpoint.about(folder))
    if there and folder:
        need = size(folder)  # of the weights alone; what is computed needs some more
        place = "the host" if there.place == "cpu" else there.place
        text = f"the weights of '{checkpoint.name(folder)}' take {_gib(need)} of memory, {place} has "
        fine = need < there.memory
        yield Diagnostic(fine, f"{text}{_gib(there.memory)}" + ("" if fine else f"; {there.advice}"))
    return True


def finding(check: Callable[[], str]) -> Diagnostic:
    """What a check says: its line, or that of its error."""
    try:
        return Diagnostic(True, check())
    except CfevalError as error:
        return Diagnostic(False, str(error))


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
