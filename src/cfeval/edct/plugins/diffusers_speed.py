"""What makes a pipeline of diffusers cheaper: batches, skipped steps, adapters, small weights, other implementations.

Each is off unless asked for, since each changes the image: a batch, compiled blocks and another attention by the
rounding of sums, the others by more. How many images pass the gate says what it costs (`cfeval edct edit-cost`).

A low-rank adapter (LoRA), such as those that let a model paint in few steps, holds, for some layers of weights W, two
thin matrices A and B: the layer computes with W + scale · B A (Hu et al. 2021, "LoRA", Section 4.1). Fused, that sum is
stored in place of W, and the adapter costs nothing; else B A x is added in each call, which weights of a few bits need,
since they cannot take it in.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from cfeval.core.errors import ParamsError, PluginError, nearest
from cfeval.core.registry import PluginOptions
from cfeval.edct.plugins.diffusers_pipelines import Kind
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


def adapter_files(options: LoraOptions) -> list[Path]:
    """The adapter's file where it is the user's own; none where it is on the hub, or there is no adapter."""
    own = _own_adapter(options)
    return [own] if own else []


def check_adapter(options: LoraOptions) -> None:
    """Whether an adapter of one's own is there and whole; one of the hub must be named in full.

    Raises:
        PluginError: it is not.
    """
    own = _own_adapter(options)
    if own and not own.is_file():
        raise PluginError(f"lora: no file {own.name} in {own.parent.name or '.'}; give a file that is there")
    if own and (fault := safetensors_fault(own)):
        raise PluginError(f"lora: {fault}; copy or download it again")
    if options.lora and own is None and not options.lora_file:
        raise PluginError(f"lora: which file of '{options.lora}' on the hub? set lora_file to its name (*{_SUFFIX})")


def about_adapter(options: LoraOptions) -> str:
    """What can be said about an adapter before anything is loaded.

    Raises:
        PluginError: it is not there, or not named in full.
    """
    check_adapter(options)
    own = _own_adapter(options)
    if own:
        return f"the adapter {own.name} is complete"
    return f"the adapter '{options.lora}' is used from the hub's cache, or downloaded by the first job"


def adapter_of(options: LoraOptions) -> Lora | None:
    """The adapter that options name, fetched into the hub's cache where it is there; None where they name none.

    Raises:
        PluginError: it is not there, or incomplete.
    """
    check_adapter(options)
    if not options.lora:
        return None
    file = _own_adapter(options)
    if file is None:
        file = Path(options.lora_file)
        file = hub.fetched(options.lora, options.lora_revision, hub.file(str(file))) / file.name
    with file.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return Lora(file, sha256, options.lora_scale, options.lora_fused)


def _own_adapter(options: LoraOptions) -> Path | None:
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


def add_adapter(pipe: Any, network: Any, lora: Lora) -> None:
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


Quantization = Literal[
    "none", "torchao_int8", "torchao_float8", "torchao_float8_dynamic", "bitsandbytes_8bit", "bitsandbytes_4bit"
]
Attention = Literal[
    "auto", "native", "_native_math", "_native_efficient", "_native_flash", "_native_cudnn", "flash", "_flash_3", "sage"
]
# What implementations of attention need beside torch.
_PACKAGES = {"flash": "flash_attn", "_flash_3": "flash_attn_interface", "sage": "sageattention"}
# Implementations of attention that need no GPU.
_ON_ANY = ("auto", "native", "_native_math", "_native_efficient")
_BITS = {"torchao_float8_dynamic": 8, "torchao_float8": 8, "torchao_int8": 8, "bitsandbytes_8bit": 8}
_BITS |= {"bitsandbytes_4bit": 4}
# Options whose values stand in the details of a reply.
_PLAIN = ("batch", "step_cache", "float8", "quantization", "torch_compile", "attention")
# The step cache of the preset `fast`.
FAST_CACHE = 0.05


class SpeedOptions(LoraOptions):
    """How a pipeline is made cheaper."""

    speed: Literal["plain", "fast"] = "plain"
    """fast: those of step_cache, torch_compile and eight-bit floats that pipeline and device bear; what is set stays.
    The image changes, so put the editor behind plugin `gated`."""
    batch: int = Field(1, ge=1, le=256)
    """Images of one size that are painted at once. Fewer are filled up, so that an image depends on this number and
    not on its company; the record's details name it."""
    step_cache: float = Field(0.0, ge=0, lt=1)
    """First Block Cache: how much the first block may change between two steps for the others to be skipped, such as
    0.05; 0: no step is skipped."""
    scheduler: dict[str, bool | float | str | None] = {}
    """Settings of the checkpoint's scheduler to change, as few-step adapters ask for, such as {shift: 3}."""
    float8: bool = False
    """Store the transformer's weights in eight bits: half the memory, a little slower, a slightly different image."""
    quantization: Quantization = "none"
    """Weights of the transformer by the package torchao (eight-bit integers or floats; `_dynamic` multiplies in eight
    bits too, on GPUs since Hopper) or bitsandbytes (four bits: NF4), instead of float8."""
    torch_compile: bool = False
    """Compile the transformer's repeated blocks, at the first image of a size: for studies of many images."""
    attention: Attention = "auto"
    """Implementation of attention by diffusers' names; flash, _flash_3 and sage need their packages."""


def details(options: SpeedOptions, lora: Lora | None = None) -> dict[str, str]:
    """What is set, for the details of a reply; an adapter by the hash of its file."""
    plain = {name: field for name, field in SpeedOptions.model_fields.items() if name in _PLAIN}
    texts = {name: str(value) for name, field in plain.items() if (value := getattr(options, name)) != field.default}
    if options.scheduler:
        texts["scheduler"] = json.dumps(options.scheduler, sort_keys=True)
    if lora:
        texts |= {"lora": lora.file.name, "lora_sha256": lora.sha256}
        texts |= {"lora_scale": str(lora.scale), "lora_fused": str(lora.fused)}
    return texts


def preset(options: SpeedOptions, kind: Kind, device: str, offload: str) -> SpeedOptions:
    """Options with what the preset `fast` adds to those that are not set; without the preset, the same.

    Steps are skipped where diffusers can do so, since those pipelines take many; blocks are compiled elsewhere.
    """
    if options.speed == "plain" or not kind.transformer:
        return options
    skips = kind.step_cache and not options.torch_compile
    added: dict[str, Any] = {"step_cache": FAST_CACHE} if skips else {"torch_compile": True}
    fused = bool(options.lora) and options.lora_fused
    if offload == "none" and not options.float8 and not fused and multiplies_float8(device):
        added["quantization"] = "torchao_float8_dynamic"
    wanted = {name: value for name, value in added.items() if name not in options.model_fields_set}
    faster = options.model_copy(update=wanted)
    impossible = {setting for setting, *_ in _excluding(faster, offload)}
    return options.model_copy(update={name: value for name, value in wanted.items() if name not in impossible})


def multiplies_float8(device: str) -> bool:
    """Whether a device multiplies eight-bit floats, as GPUs do since Ada and Hopper, and torchao is there for it."""
    if not device.startswith("cuda") or find_spec("torchao") is None:
        return False
    import torch

    return torch.cuda.get_device_capability(device) >= (8, 9)


def packages(options: SpeedOptions) -> Iterator[Package]:
    """What the options need beside diffusers."""
    if options.lora:
        yield Package("peft", "lora", "lora: ''")
    if options.quantization != "none":
        name = options.quantization.partition("_")[0]
        yield Package(name, f"quantization: {options.quantization}", "quantization: none, or float8: true")
    if package := _PACKAGES.get(options.attention):
        yield Package(package, f"attention: {options.attention}", "attention: auto")


def check_speed(pipeline: str, kind: Kind, options: SpeedOptions, offload: str) -> None:
    """Whether a pipeline can be made cheaper so; nothing is loaded.

    Raises:
        ParamsError: it cannot.
    """
    if options.batch > 1 and not kind.batches:
        raise ParamsError(f"{pipeline} paints one image at a time; remove 'batch'")
    if options.step_cache and not kind.step_cache:
        raise ParamsError(f"{pipeline} cannot use 'step_cache'; remove it")
    if options.lora and not kind.lora:
        raise ParamsError(f"{pipeline} cannot use a 'lora'; remove it")
    quantized, changed = options.quantization != "none", options.attention != "auto"
    wanted = {"float8": options.float8, "quantization": quantized, "torch_compile": options.torch_compile}
    for name in (name for name, wished in {**wanted, "attention": changed}.items() if wished and not kind.transformer):
        raise ParamsError(f"{pipeline} has no transformer, which {name} is for; remove it")
    for setting, other, instead in _excluding(options, offload):
        raise ParamsError(f"{setting} does not go with {other}; {instead}")


def _excluding(options: SpeedOptions, offload: str) -> Iterator[tuple[str, str, str]]:
    """Pairs of settings of which one makes the other impossible, and what to do."""
    either, small = "remove one of them", options.quantization != "none"
    if offload != "none" and options.float8:
        yield f"offload '{offload}'", "float8", either
    if offload != "none" and small:
        yield f"offload '{offload}'", f"quantization '{options.quantization}'", either
    if options.float8 and small:
        yield "float8", f"quantization '{options.quantization}'", either
    if options.lora and small and options.lora_fused:
        yield f"quantization '{options.quantization}'", "a fused lora", "set lora_fused: false"
    if options.lora and options.float8 and not options.lora_fused:
        yield "float8", "lora_fused: false", "leave lora_fused out"
    if options.torch_compile and options.step_cache:
        yield "torch_compile", "step_cache, which decides while it paints", either
    if options.torch_compile and options.float8:
        yield "torch_compile", "float8", "use quantization: torchao_float8 instead"
    if options.torch_compile and offload == "sequential":
        yield "torch_compile", "offload 'sequential'", "set offload: model or none"


def check_device(options: SpeedOptions, device: str) -> None:
    """Whether a device can do what is asked.

    Raises:
        PluginError: it takes a GPU, and none is used.
    """
    if device.startswith("cuda"):
        return
    if options.quantization.startswith("bitsandbytes") or options.quantization.endswith("_dynamic"):
        raise PluginError(
            f"quantization '{options.quantization}' needs a CUDA GPU, and none is used; set quantization: torchao_int8"
        )
    if options.attention not in _ON_ANY:
        raise PluginError(f"attention '{options.attention}' needs a CUDA GPU, and none is used; set attention: auto")


def check_scheduler(scheduler: type, options: SpeedOptions) -> None:
    """Whether a scheduler has the settings that are to be changed.

    Raises:
        ParamsError: it has not.
    """
    import inspect

    parameters = [name for name in inspect.signature(scheduler).parameters if name not in ("args", "kwargs")]
    for name in options.scheduler:
        if name not in parameters:
            raise ParamsError(f"scheduler: {scheduler.__name__} has no setting '{name}'; {nearest(name, parameters)}")


def smaller(options: SpeedOptions, bytes_: int, stored_bits: int) -> int:
    """Bytes of a transformer's weights as they will lie in memory, of so many stored with so many bits a weight."""
    return bytes_ * (8 if options.float8 else _BITS.get(options.quantization, stored_bits)) // stored_bits


def quantization(speed: SpeedOptions, dtype: Any) -> Any:
    """diffusers' configuration of the quantization of a pipeline; None where none is asked for.

    Args:
        dtype: torch's type of the other numbers, in which four-bit weights are computed with.
    """
    if speed.quantization == "none":
        return None
    import diffusers

    library: Any = diffusers
    if speed.quantization == "bitsandbytes_8bit":
        config = library.BitsAndBytesConfig(load_in_8bit=True)
    elif speed.quantization == "bitsandbytes_4bit":
        nf4 = {"bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": dtype}
        config = library.BitsAndBytesConfig(load_in_4bit=True, **nf4)
    else:
        torchao = import_module("torchao.quantization")
        kinds = {
            "torchao_int8": "Int8WeightOnlyConfig",
            "torchao_float8": "Float8WeightOnlyConfig",
            "torchao_float8_dynamic": "Float8DynamicActivationFloat8WeightConfig",
        }
        config = library.TorchAoConfig(getattr(torchao, kinds[speed.quantization])())
    return library.PipelineQuantizationConfig(quant_mapping={"transformer": config})


def apply(pipe: Any, speed: SpeedOptions, lora: Lora | None) -> None:
    """Make a loaded pipeline cheaper, in the order in which the parts of torch and diffusers bear it."""
    network = getattr(pipe, "transformer", None) or pipe.unet
    if speed.scheduler:
        pipe.scheduler = type(pipe.scheduler).from_config(pipe.scheduler.config, **speed.scheduler)
    if lora:
        add_adapter(pipe, network, lora)
    if speed.attention != "auto":
        network.set_attention_backend(speed.attention)
    if speed.float8:
        import torch

        network.enable_layerwise_casting(storage_dtype=torch.float8_e4m3fn, compute_dtype=network.dtype)
    if speed.step_cache:
        import diffusers

        first_block: Any = diffusers.FirstBlockCacheConfig
        network.enable_cache(first_block(threshold=speed.step_cache))
    if speed.torch_compile:
        network.compile_repeated_blocks(fullgraph=True)
