"""One set of instructions for arithmetic in float32, so that processors of different kinds give the same bytes."""

import os
import platform

_AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
"""Of torch's own kernels and of oneDNN's, which both look when they first compute."""


def keep_to_avx2() -> None:
    """Let torch use AVX2 in this process and nothing newer; the test bed's networks are as quick with it.

    With AVX-512 torch adds some sums up in another order, and float32 differs in its last digit, which guided sampling
    makes a level of a picture. Without effect where torch has computed already, or the processor is no x86-64; what
    the environment says comes first.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    for name, value in _AVX2.items():
        os.environ.setdefault(name, value)
