"""What can be said about a local model in seconds, before any weight is read: for `cfeval doctor`."""

from collections.abc import Iterator
from pathlib import Path

from cfeval.backends.local_chat import devices, folder, hub
from cfeval.backends.local_chat.loading import Wanted, named, packages
from cfeval.backends.local_chat.pixels import Limits
from cfeval.backends.registry import Finding

_GIB = 2**30


def findings(wanted: Wanted, limits: Limits) -> Iterator[Finding]:
    """Packages, device, checkpoint, memory, in this order."""
    lacking = packages(wanted)
    absent = devices.missing(wanted.device)
    for fault in filter(None, (lacking, absent)):
        yield Finding(False, fault)
    path = Path(wanted.model).expanduser()
    if path.is_dir() and wanted.revision:
        yield Finding(False, f"model '{wanted.model}' is a folder here, and a folder has no `revision`; leave it out")
    here = path if path.is_dir() else hub.cached(wanted.model, wanted.revision)
    if here is None:
        yield _not_here(wanted.model)
        return
    name = named(wanted, here)
    if fault := folder.fault(here):
        yield Finding(False, f"model '{name}' is incomplete: {fault}; copy or download it again")
        return
    yield Finding(True, f"model '{name}' is complete")
    if limits:
        yield _limited(name, here, limits)
    if not absent:
        yield _fits(wanted, name, here)


def _not_here(model: str) -> Finding:
    if hub.offline():
        return Finding(
            False,
            f"model '{model}' is neither a folder here nor in the cache, and HF_HUB_OFFLINE is set; "
            f"run `hf download {model}` where there is a network, or give the path of a folder",
        )
    return Finding(True, f"model '{model}' is not on this machine; the first job downloads it from the hub")


def _limited(name: str, here: Path, limits: Limits) -> Finding:
    if folder.sees(here):
        return Finding(True, f"model '{name}': {limits}, by its processor if it can, else by resizing beforehand")
    return Finding(False, f"model '{name}' reads text only; leave min_pixels and max_pixels out")


def _fits(wanted: Wanted, name: str, here: Path) -> Finding:
    """Whether the weights alone fit; a reply needs some more."""
    where, there = _room(wanted)
    size = folder.weights_size(here, wanted.dtype)
    text = f"the weights of '{name}' take {_gib(size)} of memory, {where} has {_gib(there)}"
    if size < there:
        return Finding(True, text)
    return Finding(False, f"{text}; set dtype: bfloat16, device_map: auto, or take a smaller model")


def _room(wanted: Wanted) -> tuple[str, int]:
    if wanted.device_map:
        return "GPUs and host together", devices.memory_together()
    device = devices.chosen(wanted.device)
    return ("the GPU" if device.type == "cuda" else "the host"), devices.memory(device)


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
