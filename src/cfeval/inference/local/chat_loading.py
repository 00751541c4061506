"""Loads a checkpoint: the model on its device, its tokenizer, and its processor where it takes images."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from cfeval.core.errors import PluginError
from cfeval.inference.local import devices
from cfeval.inference.local.devices import memory_errors
from cfeval.inference.local.hub import Checkpoint, read_json, weights_fault
from cfeval.inference.local.libraries import LocalOptions, Package, check_packages, first_line, quiet

INDEX = "config.json"
# What to do where the weights do not fit.
SMALLER = "set dtype: bfloat16, device_map: auto, or take a smaller model"
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "vocab.txt", "tekken.json")
_PROCESSORS = ("processor_config.json", "preprocessor_config.json")
_SAFE = {"local_files_only": True, "trust_remote_code": False}


class LoadingOptions(LocalOptions):
    """Which checkpoint, and how it is loaded."""

    dtype: devices.Dtype = "auto"
    """Type of the weights and of the arithmetic; auto is the type in which they are stored."""
    device_map: Literal["auto", "balanced", "sequential"] | None = None
    """Spreads the layers over the GPUs of the job and, where they do not suffice, the host's memory; instead of
    `device`."""
    gpus: int = Field(1, ge=1, le=64)
    """GPUs that the job holds; more than one with `device_map`."""
    attention: Literal["auto", "sdpa", "eager", "flash_attention_2"] = "auto"
    """Implementation of attention; auto is transformers' choice for the model."""
    template: dict[str, Any] = {}
    """Variables of the model's chat template, such as enable_thinking: false."""


@dataclass(frozen=True)
class Loaded:
    """A model, ready to be asked. `processor` is None where the model reads text only."""

    name: str
    model: Any
    tokenizer: Any
    processor: Any


def load(options: LoadingOptions) -> Loaded:
    """Load a checkpoint.

    Raises:
        PluginError: one line: it is incomplete or cannot be fetched, or this machine lacks what it needs.
    """
    check_packages(packages(options))
    device = devices.chosen(options.device)
    checkpoint = checkpoint_of(options)
    folder = checkpoint.whole()
    name = checkpoint.name(folder)
    try:
        with quiet("transformers"), memory_errors(f"loading model '{name}'", SMALLER):
            return _load(options, folder, name, device)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(_explained(name, folder, error)) from error


def checkpoint_of(options: LocalOptions) -> Checkpoint:
    """The checkpoint that options name."""
    return Checkpoint(options.model, options.revision, INDEX, _fault)


def packages(options: LoadingOptions) -> Iterator[Package]:
    """What the options need beside transformers."""
    if options.attention == "flash_attention_2":
        yield Package("flash_attn", f"attention: {options.attention}", "attention: sdpa")
    if options.device_map:
        yield Package("accelerate", f"device_map: {options.device_map}", "device instead")


def sees(config: Mapping[str, Any]) -> bool:
    """Whether a configuration is that of a model that takes images."""
    return "vision_config" in config


def _fault(folder: Path) -> str:
    """What a folder lacks of a whole checkpoint: one line, or empty."""
    if fault := weights_fault(folder):
        return fault
    if not _any(folder, _TOKENIZERS):
        return f"the tokenizer is missing ({', '.join(_TOKENIZERS[:3])}, …)"
    if sees(read_json(folder / INDEX)) and not _any(folder, _PROCESSORS):
        return f"the image processor is missing ({' or '.join(_PROCESSORS)})"
    return ""


def _any(folder: Path, names: tuple[str, ...]) -> bool:
    return any((folder / name).is_file() for name in names)


def _load(options: LoadingOptions, folder: Path, name: str, device: str) -> Loaded:
    import torch
    import transformers

    library: Any = transformers
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    config = library.AutoConfig.from_pretrained(folder, **_SAFE)
    kind, takes_images = _model_class(config)
    processor = library.AutoProcessor.from_pretrained(folder, **_SAFE) if takes_images else None
    tokenizer = processor.tokenizer if processor else library.AutoTokenizer.from_pretrained(folder, **_SAFE)
    _check_template(name, (processor or tokenizer).chat_template, options.template)
    tokenizer.padding_side = "left"  # prompts of a batch must end together, where the replies begin
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    weights = _weights(kind, options, folder, name, device)
    _forget_sampling_habits(weights, tokenizer)
    return Loaded(name, weights, tokenizer, processor)


def _model_class(config: Any) -> tuple[Any, bool]:
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as SEEING

    takes_images = config.model_type in SEEING
    return (AutoModelForImageTextToText if takes_images else AutoModelForCausalLM), takes_images


def _weights(kind: Any, options: LoadingOptions, folder: Path, name: str, device: str) -> Any:
    import torch

    kwargs: dict[str, Any] = {"dtype": options.dtype, "use_safetensors": True, "output_loading_info": True, **_SAFE}
    if options.attention != "auto":
        kwargs["attn_implementation"] = options.attention
    if options.device_map or device != "cpu":
        kwargs["device_map"] = options.device_map or {"": torch.device(device)}
    model, loading_info = kind.from_pretrained(folder, **kwargs)
    if absent := sorted(loading_info["missing_keys"]):
        raise PluginError(
            f"model '{name}' is incomplete: {len(absent)} weights of its architecture are in no file "
            f"({absent[0]}, …); copy or download it again"
        )
    return model.eval()


def _check_template(name: str, template: Any, variables: Mapping[str, Any]) -> None:
    """A model without a template of conversations was not made to converse."""
    if not template:
        raise PluginError(
            f"model '{name}' has no chat template; take the instruction-tuned checkpoint, "
            "or put its chat_template.jinja into the folder"
        )
    for variable in variables:
        if variable not in str(template):
            raise PluginError(f"model '{name}': its chat template has no variable '{variable}'; leave it out")


def _forget_sampling_habits(model: Any, tokenizer: Any) -> None:
    """Keep what ends a reply, and drop what the checkpoint says about sampling: the options alone say that."""
    import transformers

    library: Any = transformers
    own = model.generation_config.eos_token_id
    ends = {*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id} - {None}
    model.generation_config = library.GenerationConfig(eos_token_id=sorted(ends), pad_token_id=tokenizer.pad_token_id)


def _explained(name: str, folder: Path, error: Exception) -> str:
    """One line about what a library raised while it read a checkpoint, without the folder's path."""
    import transformers

    first = first_line(error, folder, name)
    if isinstance(error, ImportError):
        return f"model '{name}' needs a package that is not installed: {first}"
    if "auto_map" in read_json(folder / INDEX):
        return (
            f"model '{name}' brings Python code of its own, which is never run; take the checkpoint in the format of "
            "transformers itself (its name often ends in -hf)"
        )
    return f"model '{name}' cannot be loaded by transformers {transformers.__version__} ({first}); check its model card"
