"""Loads a checkpoint: the model on its device, its tokenizer, and its processor where it takes images."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cfeval.backends.local_chat import devices, folder, hub
from cfeval.backends.local_chat.memory import out_of_memory
from cfeval.backends.local_chat.quiet import quiet
from cfeval.errors import BackendError


@dataclass(frozen=True)
class Wanted:
    """Which checkpoint to load and how; the options of the same names say what they mean."""

    model: str
    revision: str | None
    dtype: str
    device: str
    device_map: str | None
    attention: str
    template: Mapping[str, Any]


@dataclass(frozen=True)
class Loaded:
    """A model, ready to be asked. `processor` is None where the model reads text only."""

    name: str
    model: Any
    tokenizer: Any
    processor: Any


def load(wanted: Wanted) -> Loaded:
    """Load a checkpoint.

    Raises:
        BackendError: one line: it is incomplete or cannot be fetched, or this machine lacks what it needs.
    """
    if lacking := packages(wanted):
        raise BackendError(lacking)
    device = devices.chosen(wanted.device)
    path = located(wanted)
    if fault := folder.fault(path):
        raise BackendError(f"model '{wanted.model}' is incomplete: {fault}; copy or download it again")
    name = named(wanted, path)
    try:
        with quiet():
            return _load(wanted, path, name, device)
    except BackendError:
        raise
    except Exception as error:
        raise BackendError(_explained(name, path, error)) from error


def located(wanted: Wanted) -> Path:
    """The checkpoint's folder: the user's own, or the hub's copy on this machine, fetched if need be."""
    path = Path(wanted.model).expanduser()
    if not path.is_dir():
        return hub.fetched(wanted.model, wanted.revision)
    if wanted.revision:
        raise BackendError(f"model '{wanted.model}' is a folder here, and a folder has no `revision`; leave it out")
    return path


def named(wanted: Wanted, path: Path) -> str:
    """What records call the model: its folder's name, or its name on the hub and the commit; never a path."""
    if Path(wanted.model).expanduser().is_dir():
        return path.resolve().name
    return f"{wanted.model}@{path.name[:12]}"


def packages(wanted: Wanted) -> str:
    """Which package is lacking: one line, or empty."""
    if wanted.attention == "flash_attention_2" and find_spec("flash_attn") is None:
        return "attention: flash_attention_2 needs the package 'flash-attn'; install it, or set attention: sdpa"
    if wanted.device_map and find_spec("accelerate") is None:
        return f"device_map: {wanted.device_map} needs the package 'accelerate'; install it, or set device instead"
    return ""


def _load(wanted: Wanted, path: Path, name: str, device: Any) -> Loaded:
    import torch
    import transformers

    library: Any = transformers
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    safe = {"local_files_only": True, "trust_remote_code": False}
    config = library.AutoConfig.from_pretrained(path, **safe)
    kind, takes_images = _model_class(config)
    processor = library.AutoProcessor.from_pretrained(path, **safe) if takes_images else None
    tokenizer = processor.tokenizer if processor else library.AutoTokenizer.from_pretrained(path, **safe)
    _check_template(name, (processor or tokenizer).chat_template, wanted.template)
    _pad_on_the_left(tokenizer)
    weights = _weights(kind, wanted, path, name, device, safe)
    _forget_sampling_habits(weights, tokenizer)
    return Loaded(name, weights, tokenizer, processor)


def _model_class(config: Any) -> tuple[Any, bool]:
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as SEEING

    takes_images = config.model_type in SEEING
    return (AutoModelForImageTextToText if takes_images else AutoModelForCausalLM), takes_images


def _weights(kind: Any, wanted: Wanted, path: Path, name: str, device: Any, safe: dict[str, bool]) -> Any:
    how: dict[str, Any] = {"dtype": wanted.dtype, "use_safetensors": True, "output_loading_info": True, **safe}
    if wanted.attention != "auto":
        how["attn_implementation"] = wanted.attention
    if wanted.device_map or (device.type != "cpu" and find_spec("accelerate")):
        how["device_map"] = wanted.device_map or {"": device}
    model, found = kind.from_pretrained(path, **how)
    if absent := sorted(found["missing_keys"]):
        raise BackendError(
            f"model '{name}' is incomplete: {len(absent)} weights of its architecture are in no file "
            f"({absent[0]}, …); copy or download it again"
        )
    return model.eval() if "device_map" in how else model.eval().to(device)


def _check_template(name: str, template: Any, variables: Mapping[str, Any]) -> None:
    """A model without a template of conversations was not made to converse."""
    if not template:
        raise BackendError(
            f"model '{name}' has no chat template; take the instruction-tuned checkpoint, "
            "or put its chat_template.jinja into the folder"
        )
    for variable in variables:
        if variable not in str(template):
            raise BackendError(f"model '{name}': its chat template has no variable '{variable}'; leave it out")


def _pad_on_the_left(tokenizer: Any) -> None:
    """Prompts of a batch must end together, where the replies begin."""
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token


def _forget_sampling_habits(model: Any, tokenizer: Any) -> None:
    """Keep what ends a reply, and drop what the checkpoint says about sampling: the options alone say that."""
    import transformers

    library: Any = transformers
    own = model.generation_config.eos_token_id
    ends = {*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id} - {None}
    model.generation_config = library.GenerationConfig(eos_token_id=sorted(ends), pad_token_id=tokenizer.pad_token_id)


def _explained(name: str, path: Path, error: Exception) -> str:
    """One line about what a library raised while it read a checkpoint, without the folder's path."""
    import transformers

    if out_of_memory(error):
        return f"model '{name}' does not fit into memory; set dtype: bfloat16, a smaller model, or device_map: auto"
    lines = str(error).replace(str(path), name).split("\n")
    first = next((line.strip() for line in lines if line.strip()), type(error).__name__)
    if isinstance(error, ImportError):
        return f"model '{name}' needs a package that is not installed: {first}"
    if "auto_map" in folder.config(path):
        return (
            f"model '{name}' brings Python code of its own, which is never run; take the checkpoint in the format of "
            "transformers itself (its name often ends in -hf)"
        )
    return f"model '{name}' cannot be loaded by transformers {transformers.__version__} ({first}); check its model card"
