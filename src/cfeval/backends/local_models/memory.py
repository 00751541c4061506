"""Memory that runs out: how it shows, how it is given back, and what the user is told."""

from collections.abc import Iterator
from contextlib import contextmanager

from cfeval.errors import BackendError

_MARKS = ("out of memory", "can't allocate memory", "ALLOC_FAILED")
"""Torch has an error of its own for a full GPU, but not for all GPUs and not for the host's memory."""


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that a GPU's or the host's memory is used up."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(mark in str(error) for mark in _MARKS)


def release() -> None:
    """Give back what the allocator of a GPU holds on to."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()


def ran_out(doing: str, advice: str) -> BackendError:
    """The error that memory ran out: what was done, and what to set."""
    return BackendError(f"out of memory while {doing}; {advice}")


@contextmanager
def memory_errors(doing: str, advice: str) -> Iterator[None]:
    """Turn running out of memory into one line; see `ran_out`.

    Raises:
        BackendError: memory ran out.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        raise ran_out(doing, advice) from error
