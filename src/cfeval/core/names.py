"""What is found by its name: `package.module:definition`, spelled out in full wherever a map holds one."""

import gc
import importlib
from typing import Any


def load(dotted: str) -> Any:
    """A definition by its full dotted name; its module is imported now, and no other.

    What is imported stays, so that nobody looks for garbage among it meanwhile: with torch that takes a second.
    """
    module, _, name = dotted.partition(":")
    asked = gc.isenabled()
    gc.disable()
    try:
        return getattr(importlib.import_module(module), name)
    finally:
        if asked:
            gc.enable()
