"""A local chat model: any vision-language or text model that the package `transformers` loads.

Llama 3.2 Vision, Pixtral, InternVL3, Qwen2.5-VL, Gemma 3, Qwen3-VL and their like, from a folder or from the Hugging
Face hub; text models serve as writers and judges. A reply depends on its own request only: prompts are padded on the
left and masked, and every row of a batch draws its tokens with its own seed. In exact arithmetic the batch makes no
difference; on a GPU with 16-bit numbers rounding may turn a close call, and `batch: 1` rules that out.
"""

import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Literal

from pydantic import Field, model_validator

from cfeval.backends.chat.base import ChatModel
from cfeval.backends.local_chat import folder
from cfeval.backends.local_chat.devices import DEVICE
from cfeval.backends.local_chat.loading import Loaded, Wanted, load
from cfeval.backends.local_chat.pixels import Limits, obeyed
from cfeval.backends.registry import Finding, Needs, PluginOptions
from cfeval.errors import BackendError


class Options(PluginOptions):
    """Which model, how it is run and how it speaks."""

    model: str = Field(min_length=1)
    """A folder with a checkpoint, or a name on the hub (owner/name)."""
    revision: str | None = None
    """Branch, tag or commit on the hub; a commit never changes."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Type of the weights and of the arithmetic; auto is the type in which they are stored."""
    device: str = Field("auto", pattern=DEVICE)
    """auto (the first GPU, else the processor), cpu, cuda or cuda:N."""
    device_map: Literal["auto", "balanced", "sequential"] | None = None
    """Spreads the layers over all GPUs and, where they do not suffice, the host's memory; instead of `device`."""
    attention: Literal["auto", "sdpa", "eager", "flash_attention_2"] = "auto"
    """Implementation of attention; auto is transformers' choice for the model."""
    batch: int = Field(8, ge=1, le=1024)
    """Requests answered at once; halved when memory runs out."""
    max_tokens: int = Field(2048, ge=1)
    """Longest reply, in tokens; a longer one is cut and has the status `truncated`."""
    temperature: float = Field(0.0, ge=0, le=2)
    """Of sampling; 0 takes the likeliest token. What the checkpoint itself recommends is not used."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Sampling from the likeliest tokens only, those that together have this probability."""
    repetition_penalty: float = Field(1.0, gt=0, le=2)
    """Over 1 makes tokens that the conversation already holds less likely."""
    min_pixels: int | None = Field(None, ge=1)
    """Fewest pixels of an image, width × height; a smaller one is enlarged."""
    max_pixels: int | None = Field(None, ge=1)
    """Most pixels of an image, width × height; a larger one is made smaller."""
    template: dict[str, Any] = {}
    """Variables of the model's chat template, such as enable_thinking: false."""

    @model_validator(mode="after")
    def _consistent(self) -> "Options":
        if self.top_p < 1 and self.temperature == 0:
            raise ValueError("top_p has no effect at temperature 0; set a temperature or leave top_p out")
        if self.min_pixels and self.max_pixels and self.min_pixels > self.max_pixels:
            raise ValueError("min_pixels is more than max_pixels")
        if self.device_map and self.device != "auto":
            raise ValueError("device and device_map exclude each other; leave one out")
        return self

    @property
    def wanted(self) -> Wanted:
        """What is to be loaded."""
        return Wanted(**{field.name: getattr(self, field.name) for field in fields(Wanted)})


def needs(options: Options) -> Needs:
    """A GPU, unless the processor is asked for."""
    return Needs(gpu=0 if options.device == "cpu" else 1)


def files(options: Options) -> tuple[str, ...]:
    """The checkpoint's files where it is a folder here; a model of the hub has none."""
    from pathlib import Path

    return folder.files(Path(options.model).expanduser())


def examine(options: Options) -> Iterator[Finding]:
    """Whether packages, device, checkpoint and memory will do; loads no weights."""
    from cfeval.backends.local_chat.examining import findings

    return findings(options.wanted, Limits(options.min_pixels, options.max_pixels))


def build(options: Options) -> ChatModel:
    """Load the model."""
    from cfeval.backends.local_chat.conversations import Conversations
    from cfeval.backends.local_chat.model import LocalChat, Sampling

    loaded = load(options.wanted)
    limits = _own_limits(loaded, Limits(options.min_pixels, options.max_pixels))
    sampling = Sampling(options.max_tokens, options.temperature, options.top_p, options.repetition_penalty)
    conversations = Conversations(loaded.tokenizer, loaded.processor, limits, options.template)
    return LocalChat(loaded, conversations, sampling, options.batch)


def _own_limits(loaded: Loaded, limits: Limits) -> Limits:
    """The limits that the processor leaves to us, which the user is told."""
    if not limits:
        return limits
    if loaded.processor is None:
        raise BackendError(f"model '{loaded.name}' reads text only; leave min_pixels and max_pixels out")
    if obeyed(loaded.processor.image_processor, limits):
        return Limits()
    print(f"model '{loaded.name}': {limits}; its processor has no such limits, so images are resized", file=sys.stderr)
    return limits
