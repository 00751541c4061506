"""What the parts of a model do while a plugin works: calls, seconds, operations; and what a machine could do."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import Any
from unittest.mock import patch

import torch
from torch.utils.flop_counter import FlopCounterMode

Named = Callable[..., str]
"""The part that a call belongs to, by its arguments."""


@dataclass
class Part:
    """What one part did: floating-point operations count a product and its sum as two."""

    calls: int = 0
    seconds: float = 0.0
    flops: int = 0

    def times(self, number: int) -> "Part":
        """As much, so many times."""
        return Part(self.calls * number, self.seconds * number, self.flops * number)


@dataclass(frozen=True)
class Probe:
    """A function to watch: whose it is, its name there, and what part it is."""

    owner: Any
    function: str
    part: str | Named

    def named(self, *arguments: Any, **settings: Any) -> str:
        """The part of one call."""
        return self.part if isinstance(self.part, str) else self.part(*arguments, **settings)


@dataclass(frozen=True)
class Peak:
    """What a device reaches: operations a second in a large product of matrices, bytes a second in a large copy."""

    flops: float
    bandwidth: float

    def floor(self, flops: float, moved: float) -> float:
        """The least seconds for so many operations and so many bytes, the one behind the other's back."""
        return max(flops / self.flops, moved / self.bandwidth)


def watched(probes: list[Probe], device: str, work: Callable[[], object], count: bool) -> dict[str, Part]:
    """Run a work: what each part did without the parts inside it, and under "host" what none did.

    Args:
        probes: what to watch.
        device: whose share is waited for before and after each call.
        work: what to run.
        count: count operations, which slows the work; else they are 0.
    """
    with counting() if count else nullcontext() as counter, ExitStack() as stack:
        meter = _Meter(device, counter)
        for probe in probes:
            stack.enter_context(_watch(probe, meter))
        meter.run("host", work)
    return meter.parts


class _NoModules(nullcontext[None]):
    """In place of what tells the operations of modules apart, whose hooks bear no gradients of inputs alone."""

    parents = frozenset({"Global"})


def counting() -> FlopCounterMode:
    """Counts operations, all together."""
    aten = torch.ops.aten
    fused = ("flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu")
    ours = {getattr(aten, f"_scaled_dot_product_{name}"): _attention_flops for name in fused}
    counter: Any = FlopCounterMode(display=False, custom_mapping=ours)
    counter.mod_tracker = _NoModules()
    return counter  # type: ignore[no-any-return]


def _attention_flops(query: torch.Size, key: torch.Size, value: torch.Size, *_: object, **__: object) -> int:
    """Of shapes (N, heads, places, width); torch up to 2.11 counts none where several heads share keys and values."""
    return 2 * query[:3].numel() * key[2] * (query[3] + value[3])


def peak(device: str, dtype: torch.dtype, side: int, size: int) -> Peak:
    """Measure a device: the product of two matrices `side` × `side`, the copy of `size` bytes; the best of ten each."""
    left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    source = torch.ones(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    product = min(seconds(device, lambda: left @ right) for _ in range(10))
    copy = min(seconds(device, lambda: target.copy_(source)) for _ in range(10))
    return Peak(2 * side**3 / product, 2 * size / copy)


def seconds(device: str, work: Callable[[], object]) -> float:
    """Wall seconds of a work, the device's share of it done."""
    settle(device)
    start = time.perf_counter()
    work()
    settle(device)
    return time.perf_counter() - start


def settle(device: str) -> None:
    """Wait until the device has done all it was told."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def weight_bytes(module: Any) -> int:
    """Bytes of a network's weights."""
    return sum(weight.numel() * weight.element_size() for weight in module.parameters())


@contextmanager
def _watch(probe: Probe, meter: "_Meter") -> Iterator[None]:
    inner = getattr(probe.owner, probe.function)

    @wraps(inner)  # transformers looks at the signature
    def outer(*arguments: Any, **settings: Any) -> Any:
        name = probe.named(*arguments, **settings)
        return meter.run(name, lambda: inner(*arguments, **settings))

    with patch.object(probe.owner, probe.function, outer):
        yield


class _Meter:
    """Charges what is spent to the innermost part that is at work."""

    def __init__(self, device: str, counter: FlopCounterMode | None) -> None:
        self.parts: dict[str, Part] = {}
        self._device, self._counter = device, counter
        self._at_work: list[Part] = []
        self._seconds, self._flops = 0.0, 0

    def run(self, name: str, work: Callable[[], Any]) -> Any:
        part = self.parts.setdefault(name, Part())
        part.calls += 1
        self._charge()
        self._at_work.append(part)
        try:
            return work()
        finally:
            self._charge()
            self._at_work.pop()

    def _charge(self) -> None:
        settle(self._device)
        seconds, flops = time.perf_counter(), self._counter.get_total_flops() if self._counter else 0
        if self._at_work:
            self._at_work[-1].seconds += seconds - self._seconds
            self._at_work[-1].flops += flops - self._flops
        self._seconds, self._flops = seconds, flops
