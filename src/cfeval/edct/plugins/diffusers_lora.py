"""Low-rank adapters (LoRA) on a pipeline of diffusers, such as those that let a model paint in few steps.

An adapter holds, for some layers of weights W, two thin matrices A and B: the layer computes with W + scale · B A (Hu
et al. 2021, "LoRA", Section 4.1). Fused, that sum is stored in place of W, and the adapter costs nothing; else B A x
is added in each call, which weights of a few bits need, since they cannot take it in.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from cfeval.core.errors import PluginError
from cfeval.core.registry import PluginOptions
from cfeval.inference.local import hub
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.hub import safetensors_fault
from cfeval.inference.local.libraries import Package, first_line

_NAME = "edit"
_SUFFIX = ".safetensors"


class LoraOptions(PluginOptions):
    """Which adapter, and how it is laid on."""

    lora: str = ""
    """A low-rank adapter, such as one that needs few steps (set `steps` to its number): a file or folder of
    safetensors, or a hub name. Needs the package peft."""
    lora_file: str = Field("", pattern=r"^$|\.safetensors$")
    """Its file in that folder or repository; may be left out in a folder with one."""
    lora_revision: str = ""
    """Branch, tag or commit of an adapter of the hub; empty: its main branch."""
    lora_scale: float = Field(1.0, gt=0, le=10)
    """How strongly it acts."""
    lora_fused: bool = True
    """Added to the weights once, or false: in each call, as quantized weights need."""

    @field_validator("lora_file", "lora_revision", "lora_scale", "lora_fused")
    @classmethod
    def _of_an_adapter(cls, value: Any, info: ValidationInfo) -> Any:
        if not info.data.get("lora"):
            raise ValueError("is about an adapter, and no 'lora' is given")
        return value


@dataclass(frozen=True)
class Lora:
    """An adapter's file on this machine."""

    file: Path
    sha256: str
    scale: float
    fused: bool


def own_files(options: LoraOptions) -> list[Path]:
    """The adapter's file where it is the user's own; none where it is on the hub, or there is no adapter."""
    own = _own(options)
    return [own] if own else []


def packages(options: LoraOptions) -> Iterator[Package]:
    """What an adapter needs beside diffusers."""
    if options.lora:
        yield Package("peft", "lora", "lora: ''")


def check(options: LoraOptions) -> None:
    """Whether an adapter of one's own is there and whole; one of the hub must be named in full.

    Raises:
        PluginError: it is not.
    """
    own = _own(options)
    if own and not own.is_file():
        raise PluginError(f"lora: no file {own.name} in {own.parent.name or '.'}; give a file that is there")
    if own and (fault := safetensors_fault(own)):
        raise PluginError(f"lora: {fault}; copy or download it again")
    if options.lora and own is None and not options.lora_file:
        raise PluginError(f"lora: which file of '{options.lora}' on the hub? set lora_file to its name (*{_SUFFIX})")


def about(options: LoraOptions) -> str:
    """What can be said about an adapter before anything is loaded.

    Raises:
        PluginError: it is not there, or not named in full.
    """
    check(options)
    own = _own(options)
    if own:
        return f"the adapter {own.name} is complete"
    return f"the adapter '{options.lora}' is used from the hub's cache, or downloaded by the first job"


def found(options: LoraOptions) -> Lora | None:
    """The adapter that options name, fetched into the hub's cache where it is there; None where they name none.

    Raises:
        PluginError: it is not there, or incomplete.
    """
    check(options)
    if not options.lora:
        return None
    file = _own(options)
    if file is None:
        file = Path(options.lora_file)
        file = hub.fetched(options.lora, options.lora_revision, hub.file(str(file))) / file.name
    with file.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return Lora(file, sha256, options.lora_scale, options.lora_fused)


def _own(options: LoraOptions) -> Path | None:
    path = Path(options.lora).expanduser()
    if not options.lora or (not path.exists() and path.suffix != _SUFFIX and hub.is_name(options.lora)):
        return None
    if options.lora_file or not path.is_dir():
        return path / options.lora_file if options.lora_file else path
    files = sorted(path.glob(f"*{_SUFFIX}"))
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise PluginError(f"lora: which file of '{path.name}'? set lora_file to one of: {names}")
    return files[0]


def add(pipe: Any, network: Any, lora: Lora) -> None:
    """Lay an adapter on the network that paints.

    Raises:
        PluginError: it is made for another network.
    """
    try:
        pipe.load_lora_weights(str(lora.file.parent), weight_name=lora.file.name, adapter_name=_NAME)
    except Exception as error:  # whatever does not fit surfaces as any kind of error
        if out_of_memory(error):
            raise
        reason = first_line(error, lora.file.parent, "its folder")
        raise PluginError(f"lora '{lora.file.name}' does not fit {type(network).__name__} ({reason})") from error
    if _NAME not in getattr(network, "peft_config", {}):  # diffusers leaves out what has other names
        raise PluginError(f"lora '{lora.file.name}' holds nothing for {type(network).__name__}; take one made for it")
    if lora.fused:
        pipe.fuse_lora(lora_scale=lora.scale, adapter_names=[_NAME])
        pipe.unload_lora_weights()
    else:
        pipe.set_adapters([_NAME], adapter_weights=[lora.scale])
