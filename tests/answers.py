"""What a plugin's method answers to some requests, together as in a stage."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from cfeval.inference.batching import map_requests

Q = TypeVar("Q")
R = TypeVar("R")


def answers(answer: Callable[[Q], Coroutine[Any, Any, R]], requests: Iterable[Q]) -> list[R]:
    """The replies, in order."""
    return [reply for _, reply in map_requests(requests, lambda request: request, answer, 256)]
