"""Log-probabilities of how a reply begins: the likeliest tokens in the place of its first one.

Only the beginning is told: of a short answer (a word, a number, yes or no) it decides which answer it is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.inference.chat import ChatReply

Tokens = tuple[tuple[str, float], ...]
"""Tokens with their natural log-probabilities, the likeliest first."""
Step = tuple[str, Tokens]
"""The token that was said, and the likeliest in its place."""
MOST = 20
"""As many as OpenAI and vLLM give at most."""


@dataclass(frozen=True)
class ScoredReply(ChatReply):
    """A reply of a model that was asked for log-probabilities; empty where it gave none."""

    first_token: str = ""
    """The token with which the text begins."""
    beginnings: Tokens = ()
    """The likeliest tokens in its place."""


def is_logprob(value: Any) -> bool:
    """Whether it is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def scored(reply: ChatReply, steps: Sequence[Step], text: str) -> ScoredReply:
    """A reply with the log-probabilities of how it could have begun; for the arguments see `beginnings`."""
    first, likeliest = beginnings(steps, text)
    return ScoredReply(**vars(reply), first_token=first, beginnings=likeliest)


def beginnings(steps: Sequence[Step], text: str) -> Step:
    """The first token of a text, and the likeliest in its place.

    Args:
        steps: all that the model said, token by token; thoughts may stand before the text, a sign of the end behind it.
        text: the reply, without thoughts.

    Returns:
        The token that was said is among the likeliest; nothing where the tokens do not hold the text, blanks aside.
    """
    said = [_bare(token) for token, _ in steps]
    wanted = _bare(text)
    start = "".join(said).rfind(wanted) if wanted else -1
    if start < 0:
        return "", ()
    before = 0
    for place, piece in enumerate(said):
        if piece and before + len(piece) > start:
            return steps[place][0], _ranked(steps[place][1])
        before += len(piece)
    return "", ()


def _ranked(tokens: Tokens) -> Tokens:
    """Each token once, the likeliest first."""
    best: dict[str, float] = {}
    for token, logprob in tokens:
        best[token] = max(logprob, best.get(token, logprob))
    return tuple(sorted(best.items(), key=lambda one: (-one[1], one[0])))


def _bare(text: str) -> str:
    return "".join(text.split())
