"""What is found by its name: `package.module:definition`, spelled out in full wherever a map holds one."""

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any


def load(dotted: str) -> Any:
    """A definition by its full dotted name; its module is imported now, and no other."""
    module, _, name = dotted.partition(":")
    with nullcontext() if module in sys.modules else uncollected():
        return getattr(importlib.import_module(module), name)


@contextmanager
def uncollected() -> Iterator[None]:
    """While modules are imported, nobody looks for garbage among them, which takes a tenth of that; nor later."""
    asked = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if asked:
            gc.enable()
