"""What is at a provider's batches, and what is to go wrong there."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Batch:
    """A batch, by what was asked for it."""

    id: str
    file: str
    metadata: dict[str, Any]
    requests: list[dict[str, Any]]
    created_at: int
    ending: str
    results: list[tuple[str, str, Any]] | None = None
    """Of Anthropic's and Google's, once it is over: each call's id, how it ended, and the answer or error."""
    looks: int = 0
    asked: int = 0
    """How often anybody looked, also while it stayed as it was."""


@dataclass
class Desk:
    """The files and batches of an account, and what is to go wrong; `calls` counts how often each call was made."""

    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    uploads: int = 0
    submissions: int = 0
    made: dict[str, int] = field(default_factory=dict)
    stay: str = ""
    """Batches stay in this state until it is cleared."""
    endings: list[str] = field(default_factory=list)
    """How the next batches end, other than `completed`: `failed`, `expired`, `cancelled`."""
    unanswered: int = 0
    """So many calls of such a batch were not made."""
    bad: dict[str, tuple[int, Any]] = field(default_factory=dict)
    """Status and body of a call whose text holds a word, once."""
    at_most: int = 10**6
    """More calls in all open batches are over the account's limit."""
    refused: int = 0
    """So many submissions end by a server's error, and nothing is made."""
    broken: int = 0
    """So many looks at a batch fail."""
    lost: list[str] = field(default_factory=list)
    """`files` or `batches`: the next such request is done, and its reply is lost."""
    held: list[str] = field(default_factory=list)
    """The same, but the reply does not come for a while."""
