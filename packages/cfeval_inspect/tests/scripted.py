"""Models that answer by the pixels of drawn images, or by none: the same replies in inspect-ai and without it."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from inspect_ai.model import ChatMessage, ContentImage, GenerateConfig, Model, ModelOutput, ModelUsage, get_model

from cfeval.core.images import Image
from cfeval.inference.chat import ChatReply, ChatRequest

COLORS = {"red": (200, 30, 30), "blue": (30, 30, 200), "green": (30, 160, 30)}
Reply = Callable[[list[str], np.ndarray | None], str]
"""The texts of a conversation's turns and the image's pixels, to the next reply."""


def drawn(place: Path, wall: str, lamp: bool = False) -> str:
    """Draw a wall, perhaps with a lamp in a corner that nobody asks about; returns the file's name."""
    pixels = np.full((32, 32, 3), COLORS[wall], np.uint8)
    if lamp:
        pixels[:6, :6] = (250, 250, 120)
    name = f"{wall}{'-lamp' * lamp}.png"
    PIL.Image.fromarray(pixels).save(place / name)
    return name


def color(pixels: np.ndarray | None) -> str:
    assert pixels is not None
    shown = pixels[-1, -1].astype(int)
    return min(COLORS, key=lambda name: int(np.abs(shown - COLORS[name]).sum()))


def grounded(texts: list[str], pixels: np.ndarray | None) -> str:
    """Says the wall's color, and that this is why."""
    seen = color(pixels)
    return seen if len(texts) == 1 else f"The {seen} wall is what I looked at."


def confabulating(texts: list[str], pixels: np.ndarray | None) -> str:
    """Says the wall's color, and that the lamp is why."""
    return color(pixels) if len(texts) == 1 else "The yellow lamp in the corner says so."


def blind(texts: list[str], pixels: np.ndarray | None) -> str:
    """Always the same, and that the wall is why."""
    return "red" if len(texts) == 1 else "The red wall is what I looked at."


def yes(texts: list[str], pixels: np.ndarray | None) -> str:
    """A judge that says yes to everything it is asked."""
    fields = {"NAMED": "NAMED: 1", "PCS": "PCS: 1\nNCC: 1\nCCS: 1", "ANSWER": "ANSWER_MOVED: 1\nEXPLANATION_MOVED: 1"}
    return next(reply for field, reply in fields.items() if f"{field}:" in texts[0] or f"{field}_MOVED:" in texts[0])


def muddled(texts: list[str], pixels: np.ndarray | None) -> str:
    """A judge that never gives a ruling."""
    return "It depends."


def cut(texts: list[str], pixels: np.ndarray | None) -> str:
    """Grounded, but of a blue wall its reply is cut off."""
    return "…cut" if color(pixels) == "blue" else grounded(texts, pixels)


class Alone:
    """The model without inspect-ai, as cfeval's steps ask it."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    async def generate(self, request: ChatRequest) -> ChatReply:
        image = next((turn.image for turn in request.turns if turn.image), None)
        text = self.reply([turn.text for turn in request.turns], None if image is None else image.pixels)
        if text.startswith("…"):
            return ChatReply(model="model", status="truncated", reason="ended by max_tokens")  # type: ignore[arg-type]
        return ChatReply(text, "model")


def mocked(reply: Reply) -> Model:
    """The model as inspect's mock."""

    def output(messages: list[ChatMessage], tools: Any, choice: Any, config: GenerateConfig) -> ModelOutput:
        found = [part for one in messages if isinstance(one.content, list) for part in one.content]
        image = next((part.image for part in found if isinstance(part, ContentImage)), None)
        pixels = None if image is None else Image(base64.b64decode(image.partition(",")[2])).pixels
        text = reply([one.text for one in messages], pixels)
        made = ModelOutput.from_content("model", text, "max_tokens" if text.startswith("…") else "stop")
        made.usage = ModelUsage()  # else the mock counts tokens by a file that it fetches
        return made

    return get_model("mockllm/model", custom_outputs=output, memoize=False)
