"""What a fault does to an answer, as data: one class a place where an answer can go wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Body = dict[str, Any]


@dataclass(frozen=True)
class Http:
    """Another HTTP status and body. In a header, `{date+2}` is the time two seconds from now, as an HTTP date.

    In the body, `{key}` is the key as the client sent it.
    """

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


Wire = Literal[
    "reset_before_headers",
    "close_before_headers",
    "not_http",
    "reset_mid_body",
    "close_mid_body",
    "chunked_cut",
    "hang",
    "stall_mid_body",
    "slow_drip",
    "gzip_corrupt",
]
"""The connection misbehaves; wire.py says how."""


@dataclass(frozen=True)
class Raw:
    """The bytes of a healthy body become others, under another content type where one is given."""

    change: Callable[[bytes], bytes]
    content_type: str = ""


@dataclass(frozen=True)
class Reply:
    """A healthy JSON answer becomes another; `change` gets a copy of its own."""

    change: Callable[[Body], Any]


@dataclass(frozen=True)
class Choice:
    """The choice of a chat completion changes: its fields, and those of its message."""

    message: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pixels:
    """The edited file becomes another; gets the input and the edited file."""

    change: Callable[[bytes, bytes], bytes]


@dataclass(frozen=True)
class Images:
    """The list of images in a JSON answer becomes another: data URLs in, URLs out."""

    change: Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class Task:
    """A task at BFL takes another course. Empty: as usual.

    `submit` replaces fields of the answer to the submission (None removes one); `poll` is the course of a poll and
    `link` that of the delivery link, by names that bfl.py knows; `once` confines them to the first time.
    """

    submit: Mapping[str, Any] = field(default_factory=dict)
    poll: str = ""
    link: str = ""
    once: bool = False


@dataclass(frozen=True)
class Stream:
    """A stream of server-sent events goes wrong half-way; sse.py says how."""

    how: Literal["silent_end", "cut", "error", "bad_chunk"]


Effect = Http | Wire | Raw | Reply | Choice | Pixels | Images | Task | Stream
