"""A module that stands where torch does after it was asked for GPUs: in a fork it would refuse them."""

import os
import sys
from types import SimpleNamespace

_ASKED_IN = os.getpid()
sys.modules["torch"] = SimpleNamespace(_C=SimpleNamespace(_cuda_isInBadFork=lambda: os.getpid() != _ASKED_IN))  # type: ignore[assignment]
