"""Reads files of torch.save that hold objects of other classes beside the weights, without running anything of theirs.

Pickled files name functions to be called. Here only those that build tensors are; everything else becomes an `Inert`,
which takes whatever is done to it and does nothing. So the checkpoints of the robustness library can be read, which
were pickled with dill and hold its training state. The module stands in for `pickle` where torch loads.
"""

import pickle
from pathlib import Path
from typing import Any

_QUESTION_GENERATORS = {
    ("collections", "OrderedDict"),
    ("torch", "Size"),
    ("torch", "device"),
    ("torch._utils", "_rebuild_parameter"),
    ("torch._utils", "_rebuild_tensor"),
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch.serialization", "_get_layout"),
}
_STORAGES = ("Storage", "Tensor")


class Inert:
    """Stands for an object of a class that is not loaded."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Take anything."""

    def __call__(self, *args: Any, **options: Any) -> "Inert":
        """Do nothing."""
        del args, options
        return Inert()

    def __setstate__(self, state: Any) -> None:
        """Take anything."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Take anything."""

    def append(self, value: Any) -> None:
        """Take anything."""

    def extend(self, values: Any) -> None:
        """Take anything."""


class Unpickler(pickle.Unpickler):
    """Builds tensors and plain values, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """The function or class that a file names, where it builds tensors; else `Inert`."""
        storage = module == "torch" and name.endswith(_STORAGES) and name.isalnum()
        if storage or (module, name) in _QUESTION_GENERATORS:
            return super().find_class(module, name)
        return Inert


def load(file: Any, **options: Any) -> Any:
    """Like `pickle.load`."""
    return Unpickler(file, **options).load()


def read_inert(path: Path) -> Any:
    """What is in a file of torch.save, on the processor."""
    import sys

    import torch

    return torch.load(path, map_location="cpu", pickle_module=sys.modules[__name__], weights_only=False)
