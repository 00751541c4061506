"""What is found by its name: `package.module:definition`, spelled out in full wherever a map holds one."""

import importlib
from typing import Any


def load(dotted: str) -> Any:
    """A definition by its full dotted name; its module is imported now, and no other."""
    module, _, name = dotted.partition(":")
    return getattr(importlib.import_module(module), name)
