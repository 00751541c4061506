"""Images that a server is sent whole once, and by a name after that.

vLLM keeps what it made of an image (`--mm-processor-cache-gb`) under the `uuid` that stands beside it in the request,
and takes `image_url: null` with that `uuid` for the same image (docs.vllm.ai, Multimodal Inputs, Online Serving). It
refuses a name that it does not know, or no longer; then the image is sent again. The name is a hash of the image,
so that a name never stands for another one. What is stored of a call is the same either way.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from cfeval.inference.remote.faults import Fault

# Sends a request; the answer's JSON, or a Fault.
Send = Callable[[Mapping[str, Any]], Awaitable[Any]]
# How a server refuses a name that it does not know; older ones break.
_MISS = ("http_400", "http_404", "http_422", "http_500")
# Misses without a hit after which a server is taken to keep no images.
_IN_VAIN = 8


class ImagesOnce:
    """What a server has been sent."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._hits = self._misses = 0

    async def ask(self, body: Mapping[str, Any], send: Send) -> Any:
        """Send a request, its images that the server holds by their names; what `send` answers."""
        names = {name for _, name in _images(body)}
        if names & self._held and (self._hits or self._misses < _IN_VAIN):
            answer = await send(_worded(body, self._held))
            if not isinstance(answer, Fault):
                self._hits += 1
                self._held |= names
                return answer
            if answer.kind not in _MISS:
                return answer
            self._misses += 1
            self._held -= names
        answer = await send(_worded(body, frozenset()))
        if not isinstance(answer, Fault):
            self._held |= names
        return answer


def _images(body: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The images of a request, each with its name."""
    for message in body.get("messages", ()):
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part.get("type") == "image_url":
                yield part, hashlib.sha256(part["image_url"]["url"].encode()).hexdigest()


def _worded(body: Mapping[str, Any], held: set[str] | frozenset[str]) -> dict[str, Any]:
    """The request with a name beside each image, and without the images that are held."""
    named = {id(part): name for part, name in _images(body)}

    def part(of: Mapping[str, Any]) -> Mapping[str, Any]:
        name = named.get(id(of))
        if name is None:
            return of
        return {**of, "uuid": name, **({"image_url": None} if name in held else {})}

    def message(of: Mapping[str, Any]) -> Mapping[str, Any]:
        content = of["content"]
        return {**of, "content": [part(one) for one in content]} if isinstance(content, list) else of

    return {**body, "messages": [message(one) for one in body["messages"]]}
