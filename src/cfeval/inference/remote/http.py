"""One HTTP exchange: a deadline of our own, a size limit, and every way a connection breaks named as a fault."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx2

from cfeval.inference.remote.faults import Fault, of_status, retry

MAX_BYTES = 64 * 2**20
"""The largest answer that is read."""
MAX_ERROR = 100_000
"""Characters of an error's body that are looked at."""
DEEPEST = 100
"""How deep the JSON of an honest answer may be nested."""
SHORTEST_KEY = 8
"""Shorter keys, which only servers at home take, are not looked for: they may be words of an answer."""
_CONNECT = 10.0
"""Seconds to connect."""
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Endpoint:
    """Where a provider is and how it knows us; `key_env` names the variable that the key in `headers` came from."""

    base_url: str
    key_env: str = ""
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def scrubbed(self, text: str) -> str:
        """A text without the key, which servers like to repeat."""
        return text.replace(self.key, "[key]") if len(self.key) >= SHORTEST_KEY else text


@asynccontextmanager
async def open_client() -> AsyncIterator[httpx2.AsyncClient]:
    """The client for the calls of one event loop; redirects are not followed, so that no key goes elsewhere."""
    timeout = httpx2.Timeout(None, connect=_CONNECT)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(timeout=timeout, limits=limits, follow_redirects=False, verify=_tls()) as client:
        yield client


@cache
def _tls() -> ssl.SSLContext:  # slow to load, and each batch of calls opens a client
    return httpx2.create_ssl_context()


@dataclass(frozen=True)
class HttpResponse:
    """A whole answer; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def exchange(
    client: httpx2.AsyncClient, endpoint: Endpoint, method: str, url: str, seconds: float, **content: Any
) -> Any:
    """Send a request and read the JSON of a successful answer, or a Fault; the arguments are those of `respond`."""
    response = await respond(client, endpoint, method, url, seconds, **content)
    if isinstance(response, Fault):
        return response
    return fault_of(endpoint, response) or read_json(endpoint, response.body)


def fault_of(endpoint: Endpoint, response: HttpResponse) -> Fault | None:
    """What the status of an answer tells; None for a success."""
    if response.status < 300:
        return None
    text = endpoint.scrubbed(response.body.decode("utf-8", "replace"))[:MAX_ERROR]
    try:
        said = _parsed(endpoint, text)
    except (ValueError, RecursionError):
        said = text[:300]
    return of_status(response.status, response.headers, said, endpoint.key_env)


async def respond(
    client: httpx2.AsyncClient, endpoint: Endpoint, method: str, url: str, seconds: float, **content: Any
) -> HttpResponse | Fault:
    """Send a request and read the whole answer, whatever its status.

    Args:
        client: of `open_client`.
        endpoint: whose key is sent.
        method: HTTP method.
        url: the full address.
        seconds: until when the whole answer must be there.
        content: `json=…`, or `data=…` and `files=…`.
    """
    connected = False
    try:
        async with asyncio.timeout(seconds):
            async with client.stream(method, url, headers=dict(endpoint.headers), **content) as response:
                connected = True
                body = await _whole(response)
    except TimeoutError:
        return retry("timeout", f"no whole answer within {seconds:.0f} s", sent=True)
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        return retry("unreachable", f"{_host(url)} cannot be reached ({_what(error)})", systematic=True)
    except httpx2.DecodingError as error:
        return retry("bad_body", f"the answer cannot be decoded ({_what(error)})", sent=True)
    except httpx2.TransportError as error:
        cut = "cut the answer off" if connected else "dropped the connection"
        return retry("connection", f"{_host(url)} {cut} ({_what(error)})", sent=True)
    except httpx2.InvalidURL as error:
        return retry("bad_body", f"not an address: {_what(error)}", tries=1)
    if isinstance(body, Fault):
        return body
    headers = {name.lower(): value for name, value in response.headers.items()}
    return HttpResponse(response.status_code, headers, body)


async def _whole(response: httpx2.Response) -> bytes | Fault:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BYTES:
            return retry("bad_body", f"the answer is over {MAX_BYTES >> 20} MiB", tries=2, sent=True)
    return bytes(body)


def read_json(endpoint: Endpoint, body: bytes) -> Any:
    """The JSON of an answer without the key, or the fault that it is none."""
    try:
        return _parsed(endpoint, body.decode("utf-8"))
    except (ValueError, RecursionError):
        shown = " ".join(endpoint.scrubbed(body[:1000].decode("utf-8", "replace"))[:60].split())
        what = f"starts with {shown!r}" if shown else "is empty"
        return retry("bad_body", f"the answer is not JSON: it {what}", sent=True)


def _parsed(endpoint: Endpoint, text: str) -> Any:
    """JSON that can be stored, see `_storable`; NaN and the infinities, which are no JSON, become null."""
    return _storable(json.loads(text, parse_constant=lambda _: None), endpoint.scrubbed)


def _storable(content: Any, scrubbed: Callable[[str], str], depth: int = 0) -> Any:
    """Content without the key, however JSON spells it, and without lone surrogates, which UTF-8 cannot hold.

    Raises:
        ValueError: it is nested too deep.
    """
    if isinstance(content, str):
        return scrubbed(content if content.isascii() else _SURROGATES.sub("\ufffd", content))
    if depth > DEEPEST:
        raise ValueError("nested too deep")
    if isinstance(content, dict):
        return {_storable(k, scrubbed): _storable(value, scrubbed, depth + 1) for k, value in content.items()}
    if isinstance(content, list):
        return [_storable(value, scrubbed, depth + 1) for value in content]
    return content


def _host(url: str) -> str:
    return httpx2.URL(url).host


def _what(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
