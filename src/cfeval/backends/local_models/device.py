"""Where and how precisely a model computes, and what to do when memory runs out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from cfeval.errors import BackendError

if TYPE_CHECKING:
    import torch

DEVICES = r"^(auto|cpu|mps|cuda(:[0-9]+)?)$"
"""What a device can be called; auto: a GPU where there is one."""
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
"""What a dtype can be called; auto: bfloat16 on a GPU, float32 on a processor."""


def device_for(wanted: str) -> str:
    """The device's name.

    Raises:
        BackendError: it is not there.
    """
    import torch

    there = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if wanted == "auto":
        return next((kind for kind in ("cuda", "mps") if there[kind]), "cpu")
    kind, _, number = wanted.partition(":")
    if int(number or 0) >= there[kind]:
        found = ", ".join(f"{count} {name}" for name, count in there.items() if count)
        raise BackendError(f"device '{wanted}': torch finds no such device (it finds {found}); set another, or auto")
    return wanted


def dtype_for(wanted: Dtype, device: str) -> "torch.dtype":
    """The number format."""
    import torch

    if wanted == "auto":
        return torch.float32 if device == "cpu" else torch.bfloat16
    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[wanted]


@contextmanager
def memory_errors(doing: str, advice: str) -> Iterator[None]:
    """Turn running out of memory into one line: what was done, and what to set.

    Raises:
        BackendError: memory ran out.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not _is_memory(error):
            raise
        raise BackendError(f"out of memory while {doing}; {advice}") from error


def _is_memory(error: BaseException) -> bool:
    """Torch has a class of its own for a full GPU; a full main memory is a RuntimeError of its allocator."""
    import torch

    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error)
