"""A chat request as the personas see it: who said what, with which images."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.loopback.image_files import from_base64


class MalformedError(Exception):
    """A request that the real servers answer with 400."""


@dataclass(frozen=True)
class Turn:
    """One message: its text, and its images as files."""

    role: str
    text: str
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Conversation:
    """A chat request, parsed. `schema` is the JSON schema it asks for; `digest` the hash of its body, in hex."""

    model: str
    turns: tuple[Turn, ...]
    digest: str
    schema: Mapping[str, Any] | None = None
    seed: int | None = None
    top_logprobs: int = 0
    """Of how many tokens log-probabilities are wanted; 0: of none."""

    @property
    def text(self) -> str:
        """All that was said, roles included."""
        return "\n".join(f"{turn.role}: {turn.text}" for turn in self.turns)

    @property
    def prompt(self) -> str:
        """What the user said last."""
        return next((turn.text for turn in reversed(self.turns) if turn.role == "user"), "")

    @property
    def images(self) -> tuple[bytes, ...]:
        """The images of all turns, in order."""
        return tuple(image for turn in self.turns for image in turn.images)

    @property
    def replies(self) -> int:
        """How many turns of the assistant the conversation holds already."""
        return sum(turn.role == "assistant" for turn in self.turns)


def parse(payload: Any, digest: str) -> Conversation:
    """Read the body of a chat request.

    Raises:
        MalformedError: no model, no messages, or a message or response format of another shape.
        NotAnImageError: an image part is not base64.
    """
    if not isinstance(payload, dict) or not isinstance(payload.get("model"), str):
        raise MalformedError("you must provide a model parameter")
    messages = payload.get("messages")
    if not isinstance(messages, list) or not messages:
        raise MalformedError("Missing required parameter: 'messages'")
    turns = tuple(_turn(message) for message in messages)
    schema, top = _schema(payload.get("response_format")), payload.get("top_logprobs") or 0
    if top not in range(21) or (top and payload.get("logprobs") is not True):
        raise MalformedError("Invalid value for 'top_logprobs': at most 20, and only with 'logprobs': true")
    return Conversation(payload["model"], turns, digest, schema, payload.get("seed"), top)


def _turn(message: Any) -> Turn:
    role, content = (message.get("role"), message.get("content")) if isinstance(message, dict) else (None, None)
    if role not in ("system", "developer", "user", "assistant"):
        raise MalformedError(f"Invalid value for 'role': {json.dumps(role)}")
    if isinstance(content, str):
        return Turn(role, content)
    if not isinstance(content, list):
        raise MalformedError("Invalid type for 'content': expected a string or a list of parts")
    texts, images = [], []
    for part in content:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image_url", "image_url": {"url": str(url)}} if url.startswith("data:image/"):
                images.append(from_base64(url))
            case _:
                raise MalformedError("Invalid content part: expected text, or image_url with a data:image/ URL")
    return Turn(role, "\n".join(texts), tuple(images))


def _schema(response_format: Any) -> Mapping[str, Any] | None:
    match response_format:
        case None | {"type": "text" | "json_object"}:
            return None
        case {"type": "json_schema", "json_schema": {"name": str(), "schema": dict(schema)}}:
            return schema
    raise MalformedError("Invalid 'response_format': expected json_schema with a name and a schema")


def body_digest(*parts: bytes) -> str:
    """The hash of a request's body, in hex."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
