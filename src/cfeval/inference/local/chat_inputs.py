"""Turns requests into what a model takes: the chat template filled in, images beside, prompts padded on the left.

Limits on the pixels of an image are the processor's own where it has them, else kept by resizing beforehand.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import PIL.Image

from cfeval.core.errors import PluginError
from cfeval.core.images import Image
from cfeval.inference.chat import ChatMessage, ChatRequest
from cfeval.inference.local.libraries import first_line, quiet

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
        """Whether all turns of a conversation appear in the prompt."""
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
