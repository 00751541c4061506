"""Devices that a model can compute on, the types of its numbers, and memory: how much there is, what if it runs out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from cfeval.core.errors import PluginError

# What a device can be called; auto: a GPU where there is one.
DEVICE = r"^(auto|cpu|mps|cuda(:[0-9]+)?)$"
# What the type of a model's numbers can be called.
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
# Torch has an error of its own for a full GPU, but not for all GPUs and not for the host's memory.
_MARKS = ("out of memory", "can't allocate memory", "ALLOC_FAILED")


def chosen(device: str) -> str:
    """The device that an option names.

    Raises:
        PluginError: it is not there.
    """
    import torch

    there = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    if device == "auto":
        return next(kind for kind, count in there.items() if count)
    kind, _, number = device.partition(":")
    if int(number or 0) < there[kind]:
        return device
    available = ", ".join(f"{count} {name}" for name, count in there.items() if count)
    raise PluginError(
        f"device '{device}': torch finds no such device here (it finds {available}); set device: auto, "
        "or check the driver (`nvidia-smi`) and that torch is a build for it"
    )


def memory(device: str) -> int:
    """Bytes of memory of a device: all of a GPU's, or what is free of the host's, which mps shares."""
    import psutil
    import torch

    if device.startswith("cuda"):
        return int(torch.cuda.get_device_properties(device).total_memory)
    return int(psutil.virtual_memory().available)


def memory_together() -> int:
    """Bytes of memory of all GPUs and of what is free of the host's."""
    import torch

    return memory("cpu") + sum(memory(f"cuda:{number}") for number in range(torch.cuda.device_count()))


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


def ran_out(doing: str, advice: str) -> PluginError:
    """The error that memory ran out: what was done, and what to set."""
    return PluginError(f"out of memory while {doing}; {advice}")


@contextmanager
def memory_errors(doing: str, advice: str) -> Iterator[None]:
    """Turn running out of memory into one line; see `ran_out`.

    Raises:
        PluginError: memory ran out.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        raise ran_out(doing, advice) from error
