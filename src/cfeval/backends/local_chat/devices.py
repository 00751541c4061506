"""Which device a local model runs on, and how much memory there is."""

import re
from typing import Any

from cfeval.errors import BackendError

DEVICE = r"^(auto|cpu|cuda(:\d+)?)$"


def chosen(device: str) -> Any:
    """The torch device that an option names; `auto` is the first GPU, or the processor where there is none.

    Raises:
        BackendError: a GPU is asked for that is not there.
    """
    import torch

    if device == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    if fault := missing(device):
        raise BackendError(fault)
    return torch.device(device)


def missing(device: str) -> str:
    """Why there is no such device here: one line, or empty."""
    import torch

    if not device.startswith("cuda"):
        return ""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    number = int((re.findall(r"\d+", device) or ["0"])[0])
    if number < count:
        return ""
    there = f"only {count} of them" if count else "none"
    return (
        f"device '{device}' needs a GPU, and torch finds {there} here; set device: cpu, "
        "or check the driver (`nvidia-smi`) and that torch is a build for it"
    )


def memory(device: Any) -> int:
    """Bytes of memory of a device: all of a GPU's, or what is free of the host's."""
    import torch

    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return host_memory()


def memory_together() -> int:
    """Bytes of memory of all GPUs and of what is free of the host's."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return host_memory() + sum(int(torch.cuda.get_device_properties(n).total_memory) for n in range(count))


def host_memory() -> int:
    """Bytes of memory of this machine that are free."""
    import psutil

    return int(psutil.virtual_memory().available)
