"""Turns requests into what a model takes: the chat template filled in, images beside, prompts padded on the left."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from cfeval.backends.chat.base import ChatRequest, Turn
from cfeval.backends.local_chat.pixels import Limits, fitted
from cfeval.backends.local_chat.quiet import quiet
from cfeval.io.pictures import Picture

_PIXELS_A_TOKEN = 28 * 28
_LETTERS_A_TOKEN = 4


class UnusableRequestError(Exception):
    """A model's template or processor refuses a request; the text says why, in one line."""


class Conversations:
    """Encodes conversations for one model. `processor` is None for a model that reads text only."""

    def __init__(self, tokenizer: Any, processor: Any, limits: Limits, template: Mapping[str, Any]) -> None:
        """`limits` are those that we keep ourselves; `template` holds variables of the chat template."""
        self._tokenizer = tokenizer
        self._processor = processor
        self._limits = limits
        self._template = dict(template)
        with quiet():
            self._sanitizes = self._can_sanitize()

    def encode(self, requests: Sequence[ChatRequest]) -> dict[str, Any]:
        """Tensors for a batch of requests with equally many images each.

        Raises:
            UnusableRequestError: at least one of them cannot be encoded.
        """
        if self._processor is None and any(pictures(request) for request in requests):
            raise UnusableRequestError("this model reads text only, and the conversation holds an image")
        messages = [[self._message(turn) for turn in request.turns] for request in requests]
        try:
            return self._encoded(messages, self._sanitizes)
        except Exception as error:
            raise UnusableRequestError(_one_line(error)) from error

    def _can_sanitize(self) -> bool:
        """Tried out once: some tokenizers and processors of the library cannot."""
        picture = Picture.from_pixels(np.zeros((64, 64, 3), np.uint8)) if self._processor else None
        try:
            self._encoded([[self._message(Turn("user", "?", picture))]], sanitize=True)
        except Exception:
            return False
        return True

    def _encoded(self, messages: list[list[dict[str, Any]]], sanitize: bool) -> dict[str, Any]:
        """`sanitize`: words that look like control tokens, such as a model's mark for an image, are read as words."""
        how = {"add_generation_prompt": True, "sanitize_control_tokens": sanitize, **self._template}
        tensors = {"tokenize": True, "return_dict": True, "return_tensors": "pt"}
        if self._processor is None:
            found = self._tokenizer.apply_chat_template(messages, padding=True, **tensors, **how)
            return {name: found[name] for name in ("input_ids", "attention_mask")}
        padded = {"padding": True, "padding_side": "left"}
        return dict(self._processor.apply_chat_template(messages, processor_kwargs=padded, **tensors, **how))

    def _message(self, turn: Turn) -> dict[str, Any]:
        if self._processor is None:
            return {"role": turn.role, "content": turn.text}
        content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}]
        if turn.picture is not None:
            image = fitted(Image.fromarray(turn.picture.pixels), self._limits)
            content.insert(0, {"type": "image", "image": image})
        return {"role": turn.role, "content": content}


def pictures(request: ChatRequest) -> int:
    """How many images a request holds."""
    return sum(turn.picture is not None for turn in request.turns)


def rough_length(request: ChatRequest) -> int:
    """About how many tokens a request takes; only good for putting like to like."""
    letters = sum(len(turn.text) for turn in request.turns)
    seen = sum(turn.picture.pixels[..., 0].size for turn in request.turns if turn.picture)
    return letters // _LETTERS_A_TOKEN + seen // _PIXELS_A_TOKEN


def _one_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"the model's processor refuses the request: {lines[0] if lines else type(error).__name__}"
