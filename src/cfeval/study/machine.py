"""This machine: disk, response cache and budget, GPU."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import OutputError, as_output_error
from cfeval.core.files import ensure_writable
from cfeval.core.registry import Diagnostic, Used
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.prices import load_prices, missing_price
from cfeval.inference.remote.settings import paid

RESULTS = Path("results")
LEAST_FREE = 2**30
"""Bytes that should be free; a study of a few hundred photos fills about as many."""
_GIB = 2**30


def disk(folder: Path) -> Iterator[Diagnostic]:
    """Whether a folder can be written, and how much is free there."""
    ensure_writable(folder / "x")
    place = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.is_dir())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
    except OSError as error:
        raise as_output_error(OSError(error.errno, error.strerror, str(folder))) or OutputError(
            f"cannot write {folder}: {error.strerror}; choose another folder"
        ) from None
    free = shutil.disk_usage(place).free
    text = f"{free / _GIB:.1f} GiB free"
    if free < LEAST_FREE:
        yield Diagnostic(False, f"only {text}; free some space: a study of a few hundred photos fills about a GiB")
    else:
        yield Diagnostic(True, f"can be written, {text}")


def cache(calls: Calls) -> Iterator[Diagnostic]:
    """Whether the response cache is whole, what it holds, and what the budget allows."""
    path = Path(calls.cache)
    if not path.exists():
        ensure_writable(path)
        if calls.offline:
            yield Diagnostic(False, "offline is set, and there is no cache; bring one with `cfeval cache import`")
        else:
            yield Diagnostic(True, "not there yet; the first call makes it")
        return
    held = ResponseCache(path)
    try:
        if damage := held.integrity_error():
            yield Diagnostic(False, f"damaged ({damage}); restore it from an export with `cfeval cache import`")
            return
        stored = sum(final for final, _ in held.counts().values())
        ledger = held.ledger()
    finally:
        held.close()
    sent = sum(int(str(row["sent"])) for row in ledger)
    usd, maybe = (sum(float(str(row[name])) for row in ledger) for name in ("paid_usd", "maybe_paid_usd"))
    yield Diagnostic(True, f"whole; {stored} answers, {sent} calls sent, {paid(usd, maybe)}")
    for name, limit, spent in (("max_calls", calls.max_calls, sent), ("max_cost_usd", calls.max_cost_usd, usd + maybe)):
        if limit is not None and spent >= limit and not calls.offline:
            yield Diagnostic(False, f"the budget calls.{name} = {limit:g} is used up; raise it")


def prices(calls: Calls, uses: Sequence[Used]) -> Iterator[Diagnostic]:
    """Whether the price lists can be read, and which of the study's models they have."""
    known = load_prices(calls.prices)
    models = {call.model for use in uses for call in registry.estimate_calls(use.family, use.spec, use.protocols)}
    for model in sorted(models):
        price = known.of(model)
        if price is not None:
            yield Diagnostic(True, f"{model} as of {price.date}")
        elif calls.max_cost_usd is not None:
            text = f"calls.max_cost_usd is set, but no list has a price of {model}; {missing_price(known)}"
            yield Diagnostic(False, text)
        else:
            yield Diagnostic(True, f"{model} has none, so that estimates leave it out; {missing_price(known)}")


def gpu(wanted: Sequence[str]) -> Iterator[Diagnostic]:
    """Which GPUs torch finds, for the plugins of these names."""
    import torch

    names = ", ".join(wanted)
    if not torch.cuda.is_available():
        yield Diagnostic(
            True,
            f"torch finds none; what can, computes on the processor, many times slower ({names}); check the driver "
            "(`nvidia-smi`) if this machine has one",
        )
        return
    for number in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(number)
        name = torch.cuda.get_device_name(number)
        yield Diagnostic(True, f"{number}: {name}, {free / _GIB:.0f} of {total / _GIB:.0f} GiB free")
