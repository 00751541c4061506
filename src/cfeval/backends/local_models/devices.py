"""Devices that a model can compute on, the types of its numbers, and how much memory there is."""

from typing import Literal

from cfeval.errors import BackendError

DEVICE = r"^(auto|cpu|mps|cuda(:[0-9]+)?)$"
"""What a device can be called; auto: a GPU where there is one."""
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
"""What the type of a model's numbers can be called."""


def chosen(device: str) -> str:
    """The device that an option names.

    Raises:
        BackendError: it is not there.
    """
    import torch

    there = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    if device == "auto":
        return next(kind for kind, count in there.items() if count)
    kind, _, number = device.partition(":")
    if int(number or 0) < there[kind]:
        return device
    found = ", ".join(f"{count} {name}" for name, count in there.items() if count)
    raise BackendError(
        f"device '{device}': torch finds no such device here (it finds {found}); set device: auto, "
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
