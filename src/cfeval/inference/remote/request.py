"""What is asked of a model outside, and what came back."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cfeval.core.records import Status


@dataclass(frozen=True)
class Request:
    """One question to a model outside.

    `request` is the whole request, images by their SHA-256 (`sha256:…`); `sample_index` tells apart calls that ask
    the same and are to be drawn anew. `item` is for messages only. `expected` is what it will use at most, and
    `at_most` how many such calls the provider bears at once. `batched` says that it goes by a batch, and `share` how
    much of the list price it then costs.
    """

    api: str
    base_url: str
    model: str
    request: Mapping[str, Any]
    sample_index: int
    item: str = ""
    expected: "Usage" = field(default_factory=lambda: Usage())
    at_most: int = 512
    batched: bool = False
    share: float = 1.0

    @cached_property
    def key(self) -> str:
        """The hash of what identifies the call."""
        return key_of(self.api, self.base_url, self.model, self.request, self.sample_index)


def key_of(api: str, base_url: str, model: str, request: Mapping[str, Any], sample_index: int) -> str:
    """The key of a call: SHA-256 of its canonical JSON."""
    identity = {"api": api, "base_url": base_url, "model": model, "request": request, "draw": sample_index}
    return hashlib.sha256(canonical(identity).encode()).hexdigest()


def canonical(content: Any) -> str:
    """The one JSON text of some content."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Usage:
    """What a call used: tokens, images made, and the cost in USD as the provider reports it, None where it does not.

    `image_tokens` are those of the tokens read that images took, where the provider tells them apart.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0
    cost_usd: float | None = None
    image_tokens: int = 0


@dataclass(frozen=True)
class Response:
    """What came back. Only with status `ok` is it an answer.

    `final` is False for a failure that another run may be spared: it is replayed offline, and tried again online.
    `raw` is the server's own JSON, images left out.
    """

    status: Status = Status.OK
    text: str = ""
    model: str = ""
    reason: str = ""
    image: bytes | None = None
    usage: Usage = Usage()
    final: bool = True
    raw: Any = None
    __pydantic_config__ = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}  # how a cache server sends the image

    def as_json(self) -> str:
        """All but the image, as JSON."""
        fields = {name: value for name, value in vars(self).items() if name != "image"}
        return canonical({**fields, "usage": vars(self.usage)})

    @classmethod
    def from_json(cls, text: str, image: bytes | None) -> "Response":
        """The reply that `as_json` made text of."""
        content = json.loads(text)
        usage = Usage(**content.pop("usage"))
        return cls(**{**content, "status": Status(content["status"]), "usage": usage, "image": image})
