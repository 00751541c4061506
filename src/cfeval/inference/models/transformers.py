"""A local chat model: any vision-language or text model that the package `transformers` loads.

Llama 3.2 Vision, Pixtral, InternVL3, Qwen2.5-VL, Gemma 3, Qwen3-VL and their like, from a folder or from the Hugging
Face hub; text models serve as writers and judges. A reply depends on its own request only: prompts are padded on the
left and masked, and every row of a batch draws its tokens with its own seed. In exact arithmetic the batch makes no
difference; on a GPU with 16-bit numbers rounding may turn a close call, and `batch: 1` rules that out.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field, model_validator

from cfeval.core.errors import PluginError
from cfeval.core.registry import Diagnostic, Resources
from cfeval.inference.chat import MOST, ChatModel
from cfeval.inference.local import chat_loading, devices, pretrained
from cfeval.inference.local.chat_loading import Limits, obeyed
from cfeval.inference.local.hub import weights_size
from cfeval.inference.thinking import cut_off


class Plugin(pretrained.LocalPlugin, chat_loading.LoadingOptions):
    """Which model, how it is run and how it speaks."""

    batch: int = Field(8, ge=1, le=1024)
    """Requests answered at once; halved when memory runs out."""
    max_tokens: int = Field(2048, ge=1)
    """Longest reply without its thoughts, in tokens; a longer one is cut and has the status `truncated`."""
    thinking_tokens: int = Field(0, ge=0)
    """Tokens for thoughts, beside max_tokens."""
    temperature: float = Field(0.0, ge=0, le=2)
    """Of sampling; 0 takes the likeliest token. What the checkpoint itself recommends is not used."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Sampling from the likeliest tokens only, those that together have this probability."""
    repetition_penalty: float = Field(1.0, gt=0, le=2)
    """Over 1 makes tokens that the conversation already holds less likely."""
    logprobs: int | None = Field(None, ge=1, le=MOST)
    """How many of the likeliest tokens, with log-probabilities, are kept of how a reply begins: for the CCT of given
    pairs. None: none."""
    min_pixels: int | None = Field(None, ge=1)
    """Fewest pixels of an image, width × height; a smaller one is enlarged."""
    max_pixels: int | None = Field(None, ge=1)
    """Most pixels of an image, width × height; a larger one is made smaller."""
    torch_compile: bool = False
    """Compile what writes each further token, for studies of many items on a CUDA GPU. The first batch takes half a
    minute more; batches are always whole, and keys and values lie in memory of a fixed size."""

    @model_validator(mode="after")
    def _consistent(self) -> "Plugin":
        if self.top_p < 1 and self.temperature == 0:
            raise ValueError("top_p has no effect at temperature 0; set a temperature or leave top_p out")
        if self.min_pixels and self.max_pixels and self.min_pixels > self.max_pixels:
            raise ValueError("min_pixels is more than max_pixels")
        if self.device_map and self.device != "auto":
            raise ValueError("device and device_map exclude each other; leave one out")
        if self.gpus > 1 and not self.device_map:
            raise ValueError("a model uses several gpus only where device_map spreads it; set device_map: auto")
        return self

    @property
    def samples(self) -> bool:
        """Whether it may reply otherwise to another seed."""
        return self.temperature > 0

    @property
    def limits(self) -> Limits:
        """On the pixels of an image."""
        return Limits(self.min_pixels, self.max_pixels)

    def resources(self) -> Resources:
        """GPUs, unless the processor is asked for."""
        return Resources(gpu=0 if self.device == "cpu" else self.gpus)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether packages, device, checkpoint and memory will do; loads no weights."""

        def room() -> pretrained.Room:
            device = devices.chosen(self.device)
            if self.device_map:
                return pretrained.Room(device, "the whole machine", devices.memory_together(), chat_loading.SMALLER)
            return pretrained.Room(device, device, devices.memory(device), chat_loading.SMALLER)

        def size(folder: Path) -> int:
            return weights_size(folder, self.dtype)

        checkpoint = chat_loading.checkpoint_of(self)
        if self.torch_compile and not devices.chosen(self.device).startswith("cuda"):
            yield Diagnostic(True, "torch_compile compiles nothing without a CUDA GPU; leave it out", warns=True)
        if self.template.get("enable_thinking", True) and (warning := cut_off(self.model, None, self.thinking_tokens)):
            yield Diagnostic(True, warning, warns=True)
        fine = yield from pretrained.findings(checkpoint, chat_loading.packages(self), room, size)
        if fine and self.limits:
            sees = chat_loading.sees(checkpoint.content())
            kept = f"{self.limits}, by its processor if it can, else by resizing beforehand"
            yield Diagnostic(sees, kept if sees else _reads_text_only(checkpoint.name()))

    def advice(self) -> str:
        """Where a model with many requests is better off, unless a processor is asked for."""
        if self.device == "cpu":
            return ""
        return (
            "on a GPU, vLLM behind `cfeval serve` answers many requests several times faster than this plugin: "
            f"{{plugin: openai, provider: vllm, model: {self.model}, base_url: http://127.0.0.1:8000/v1}}"
        )

    def build(self) -> ChatModel:
        """Load the model."""
        from cfeval.inference.local.chat_loading import Conversations
        from cfeval.inference.local.chat_model import LocalChat, Sampling

        loaded = chat_loading.load(self)
        if self.torch_compile and not loaded.model._can_compile_fullgraph:
            raise PluginError(f"transformers cannot compile model '{loaded.name}'; leave torch_compile out")
        limits = _own_limits(loaded, self.limits)
        sampling = Sampling(
            self.max_tokens,
            self.thinking_tokens,
            self.temperature,
            self.top_p,
            self.repetition_penalty,
            self.logprobs or 0,
        )
        conversations = Conversations(loaded.tokenizer, loaded.processor, limits, self.template)
        return LocalChat(loaded, conversations, sampling, self.batch, self.torch_compile)


def _own_limits(loaded: chat_loading.Loaded, limits: Limits) -> Limits:
    """The limits that the processor leaves to us, which the user is told."""
    if not limits:
        return limits
    if loaded.processor is None:
        raise PluginError(_reads_text_only(loaded.name))
    if obeyed(loaded.processor.image_processor, limits):
        return Limits()
    print(f"model '{loaded.name}': {limits}; its processor has no such limits, so images are resized", file=sys.stderr)
    return limits


def _reads_text_only(name: str) -> str:
    return f"model '{name}' reads text only; leave min_pixels and max_pixels out"
