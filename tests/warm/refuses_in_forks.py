"""A module that stands where torch does after it was asked for GPUs: in a fork it would refuse them.

With `tests.warm.driver`, which comes first, there is a driver to be asked; without, none.
"""

import os
import sys
from types import SimpleNamespace

_ASKED_IN = os.getpid()
sys.modules["torch"] = SimpleNamespace(_C=SimpleNamespace(_cuda_isInBadFork=lambda: os.getpid() != _ASKED_IN))  # type: ignore[assignment]
