"""Loads a checkpoint, and turns requests into what its model takes.

The model comes on its device, with its tokenizer, and its processor where it takes images. Of a request the chat
template is filled in, images go beside, prompts are padded on the left. Limits on the pixels of an image are the
processor's own where it has them, else kept by resizing beforehand.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import PIL.Image
from pydantic import Field

from cfeval.core.errors import PluginError
from cfeval.core.images import Image
from cfeval.inference.chat import ChatMessage, ChatRequest
from cfeval.inference.local import devices
from cfeval.inference.local.devices import memory_errors
from cfeval.inference.local.hub import Checkpoint, read_json, weights_fault
from cfeval.inference.local.libraries import LocalOptions, Package, check_packages, first_line, quiet
from cfeval.inference.local.pretrained import check_complete

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
            import torch
            import transformers

            library: Any = transformers
            torch.backends.cudnn.benchmark = False
            torch.backends.cudnn.deterministic = True
            config = library.AutoConfig.from_pretrained(folder, **_SAFE)
            takes_images = (
                config.model_type in library.models.auto.modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
            )
            kind = library.AutoModelForImageTextToText if takes_images else library.AutoModelForCausalLM
            processor = library.AutoProcessor.from_pretrained(folder, **_SAFE) if takes_images else None
            tokenizer = processor.tokenizer if processor else library.AutoTokenizer.from_pretrained(folder, **_SAFE)
            # A model without a template of conversations was not made to converse.
            template = (processor or tokenizer).chat_template
            if not template:
                raise PluginError(
                    f"model '{name}' has no chat template; take the instruction-tuned checkpoint, "
                    "or put its chat_template.jinja into the folder"
                )
            for variable in options.template:
                if variable not in str(template):
                    raise PluginError(f"model '{name}': its chat template has no variable '{variable}'; leave it out")
            tokenizer.padding_side = "left"  # prompts of a batch must end together, where the replies begin
            if tokenizer.pad_token is None:
                tokenizer.pad_token = tokenizer.eos_token
            weights = _weights(kind, options, folder, name, device)
            # What ends a reply is kept; what the checkpoint says about sampling is not: the options alone say that.
            own = weights.generation_config.eos_token_id
            ends = sorted({*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id} - {None})
            weights.generation_config = library.GenerationConfig(eos_token_id=ends, pad_token_id=tokenizer.pad_token_id)
            return Loaded(name, weights, tokenizer, processor)
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
    if fault := weights_fault(folder):
        return fault
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        return f"the tokenizer is missing ({', '.join(_TOKENIZERS[:3])}, …)"
    has_processor = any((folder / name).is_file() for name in _PROCESSORS)
    if sees(read_json(folder / INDEX)) and not has_processor:
        return f"the image processor is missing ({' or '.join(_PROCESSORS)})"
    return ""


def _weights(kind: Any, options: LoadingOptions, folder: Path, name: str, device: str) -> Any:
    import torch

    kwargs: dict[str, Any] = {"dtype": options.dtype, "use_safetensors": True, "output_loading_info": True, **_SAFE}
    if options.attention != "auto":
        kwargs["attn_implementation"] = options.attention
    if options.device_map or device != "cpu":
        kwargs["device_map"] = options.device_map or {"": torch.device(device)}
    model, loading_info = kind.from_pretrained(folder, **kwargs)
    check_complete(name, loading_info)
    return model.eval()


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


_PIXELS_A_TOKEN = 28 * 28
_LETTERS_A_TOKEN = 4
_PROBE = (
    ChatMessage("user", "first words"),
    ChatMessage("assistant", "second words"),
    ChatMessage("user", "third words"),
)


@dataclass(frozen=True)
class Limits:
    """How many pixels an image may have, width × height; None leaves it to the processor."""

    fewest: int | None = None
    most: int | None = None

    def __bool__(self) -> bool:
        """Whether there is any limit."""
        return self.fewest is not None or self.most is not None

    def __str__(self) -> str:
        """The limits in words."""
        limits = {"at least": self.fewest, "at most": self.most}
        return "images have " + " and ".join(f"{bound} {n:,} pixels" for bound, n in limits.items() if n is not None)


def obeyed(processor: Any, limits: Limits) -> bool:
    """Hand the limits to an image processor; False where it has none of its own, and nothing was changed.

    Processors of the Qwen-VL kind keep them as the shortest and longest "edge", in pixels of the whole image.
    """
    settings = getattr(getattr(processor, "valid_kwargs", None), "__annotations__", {})
    size = dict(processor.size or {})
    if not {"min_pixels", "max_pixels"} <= set(settings) or not {"shortest_edge", "longest_edge"} <= set(size):
        return False
    fewest = size["shortest_edge"] if limits.fewest is None else limits.fewest
    most = size["longest_edge"] if limits.most is None else limits.most
    processor.size = type(processor.size)(shortest_edge=min(fewest, most), longest_edge=max(fewest, most))
    return True


def fitted(image: PIL.Image.Image, limits: Limits) -> PIL.Image.Image:
    """The image, made smaller or larger where it breaks a limit; its proportions stay, within a pixel."""
    area = image.width * image.height
    if limits.most is not None and area > limits.most:
        scale = math.sqrt(limits.most / area)
        size = max(1, math.floor(image.width * scale)), max(1, math.floor(image.height * scale))
    elif limits.fewest is not None and area < limits.fewest:
        scale = math.sqrt(limits.fewest / area)
        size = math.ceil(image.width * scale), math.ceil(image.height * scale)
    else:
        return image
    return image.resize(size, PIL.Image.Resampling.BICUBIC)


class UnusableRequestError(Exception):
    """A model's template or processor refuses a request; the text says why, in one line."""


class Conversations:
    """Encodes conversations for one model. `processor` is None for a model that reads text only.

    What differs between models is tried out once, so that it cannot differ between requests: whether the template
    takes an answer as a list of parts or as a string, and whether words can be kept apart from control tokens.
    """

    def __init__(self, tokenizer: Any, processor: Any, limits: Limits, template: Mapping[str, Any]) -> None:
        """`limits` are those that we keep ourselves; `template` holds variables of the chat template.

        Raises:
            PluginError: the template loses turns of a conversation.
        """
        self._speaker = processor or tokenizer
        self._sees = processor is not None
        self._limits = limits
        self._template = {"add_generation_prompt": True, **template}
        with quiet("transformers"):
            self._answers_in_parts = self._sees and self._passes_on(answers_in_parts=True)
            if not self._answers_in_parts and not self._passes_on(answers_in_parts=False):
                raise PluginError(
                    "the model's chat template does not pass on every turn of a conversation; "
                    "take the instruction-tuned checkpoint, or put a whole chat_template.jinja into its folder"
                )
            self._sanitizes = self._can_sanitize()

    def encode(self, requests: Sequence[ChatRequest]) -> dict[str, Any]:
        """Tensors for a batch of requests with equally many images each.

        Raises:
            UnusableRequestError: at least one of them cannot be encoded.
        """
        if not self._sees and any(images(request) for request in requests):
            raise UnusableRequestError("this model reads text only, and the conversation holds an image")
        messages = [[self._message(turn, self._answers_in_parts) for turn in request.turns] for request in requests]
        try:
            return self._encoded(messages, self._sanitizes)
        except Exception as error:
            raise UnusableRequestError(f"the model's processor refuses the request: {first_line(error)}") from error

    def _passes_on(self, answers_in_parts: bool) -> bool:
        messages = [self._message(turn, answers_in_parts) for turn in _PROBE]
        try:
            prompt = self._speaker.apply_chat_template(messages, tokenize=False, **self._template)
        except Exception:
            return False
        return all(turn.text in prompt for turn in _PROBE)

    def _can_sanitize(self) -> bool:
        """Some tokenizers and processors of the library cannot."""
        image = Image.from_pixels(np.zeros((64, 64, 3), np.uint8)) if self._sees else None
        try:
            self._encoded([[self._message(ChatMessage("user", "?", image), self._answers_in_parts)]], sanitize=True)
        except Exception:
            return False
        return True

    def _encoded(self, messages: list[list[dict[str, Any]]], sanitize: bool) -> dict[str, Any]:
        """`sanitize`: words that look like control tokens, such as a model's mark for an image, are read as words."""
        tensors = {"tokenize": True, "return_dict": True, "return_tensors": "pt", "sanitize_control_tokens": sanitize}
        kwargs = {**tensors, **self._template}
        if self._sees:
            padded = {"padding": True, "padding_side": "left"}
            return dict(self._speaker.apply_chat_template(messages, processor_kwargs=padded, **kwargs))
        inputs = self._speaker.apply_chat_template(messages, padding=True, **kwargs)
        return {name: inputs[name] for name in ("input_ids", "attention_mask")}

    def _message(self, turn: ChatMessage, answers_in_parts: bool) -> dict[str, Any]:
        if not self._sees or (turn.role == "assistant" and not answers_in_parts):
            return {"role": turn.role, "content": turn.text}
        parts: list[dict[str, Any]] = [
            {"type": "text", "text": turn.text, "content": turn.text}
        ]  # older templates call it content
        fitting = [fitted(PIL.Image.fromarray(image.pixels), self._limits) for image in turn.images]
        return {"role": turn.role, "content": [*({"type": "image", "image": image} for image in fitting), *parts]}


def images(request: ChatRequest) -> int:
    """How many images a request holds."""
    return sum(len(turn.images) for turn in request.turns)


def rough_length(request: ChatRequest) -> int:
    """About how many tokens a request takes; only good for putting like to like."""
    letters = sum(len(turn.text) for turn in request.turns)
    seen = sum(image.pixels[..., 0].size for turn in request.turns for image in turn.images)
    return letters // _LETTERS_A_TOKEN + seen // _PIXELS_A_TOKEN
