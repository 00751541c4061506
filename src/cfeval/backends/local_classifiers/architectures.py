"""Architectures by name, from torchvision or timm: a network without trained weights, and its preprocessing."""

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfeval.backends.local_classifiers import timm_models, torchvision_models
from cfeval.backends.local_classifiers.options import Library
from cfeval.backends.local_classifiers.preprocessing import Preprocessing
from cfeval.errors import BackendError

if TYPE_CHECKING:
    from torch.nn import Module

LIBRARIES = {"torchvision": torchvision_models, "timm": timm_models}


def check_name(library: Library, name: str) -> None:
    """Check that a library has an architecture.

    Raises:
        BackendError: it has not, or is not installed.
    """
    known: Sequence[str] = LIBRARIES[library].names()
    if name in known:
        return
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"some that it has: {', '.join(known[:5])}, …"
    raise BackendError(f"{library} has no classifier '{name}'; {hint}")


def blank(library: Library, name: str, classes: int, seed: int = 0) -> "tuple[Module, Preprocessing]":
    """A network with random weights that the seed draws, and the preprocessing that the library declares for it.

    Raises:
        BackendError: no such architecture, or none that can have so many classes.
    """
    import torch

    check_name(library, name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made: tuple[Module, Preprocessing] = LIBRARIES[library].blank(name, classes)
        return made
