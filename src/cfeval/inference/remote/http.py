"""One HTTP exchange: a deadline of our own, a size limit, and every way a connection breaks named as a fault.

The vendors' packages send through the same client (`remote.sdks`), so that these hold for them too.
"""

import asyncio
import json
import os
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx2

from cfeval.inference.remote.faults import ERROR_TRIES, TIMEOUT, Fault, of_status, retry

# The largest answer that is read.
MAX_BYTES = 64 * 2**20
# Characters of an error's body that are looked at.
MAX_ERROR = 100_000
# How deep the JSON of an honest answer may be nested.
DEEPEST = 100
# Shorter keys, which only servers at home take, are not looked for: they may be words of an answer.
SHORTEST_KEY = 8
# Seconds to connect.
_CONNECT = 10.0
# Variable of `cfeval serve`: the ports of this machine at which it serves what a study expects at another that was
# taken, such as 8000=43121.
PORTS = "CFEVAL_PORTS"
# The answers of the exchange that is under way, whatever a vendor's package makes of them.
_RESPONSES: ContextVar[list[httpx2.Response] | None] = ContextVar("responses", default=None)
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Endpoint:
    """Where a provider is and how it knows us.

    `key_env` names the variable that the key came from. `header` is the one that carries the key where no vendor's
    package does; `headers` are sent beside. `api_version` is Azure's.
    """

    base_url: str
    key_env: str = ""
    key: str = field(default="", repr=False)
    header: str = "Authorization"
    headers: tuple[tuple[str, str], ...] = ()
    api_version: str = ""

    def scrubbed(self, text: str) -> str:
        """A text without the key, which servers like to repeat."""
        return text.replace(self.key, "[key]") if len(self.key) >= SHORTEST_KEY else text

    def all_headers(self) -> dict[str, str]:
        """All that is sent, the key included."""
        value = f"Bearer {self.key}" if self.header == "Authorization" else self.key
        return {**dict(self.headers), **({self.header: value} if self.key else {})}


class TooLarge(httpx2.TransportError):
    """An answer is over `MAX_BYTES`."""


class CutOff(httpx2.TransportError):
    """The connection broke after an answer had begun."""


class HttpClient(httpx2.AsyncClient):
    """Reads every answer whole, up to `MAX_BYTES`, whoever sends through it; `sdks` are the packages' clients that do.

    Limits, the time to connect and what becomes of redirects are its own, whatever a package asks for.
    """

    def __init__(self) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        timeout = httpx2.Timeout(None, connect=_CONNECT)
        super().__init__(timeout=timeout, limits=limits, follow_redirects=False, verify=_tls())
        self.sdks: dict[Hashable, Any] = {}

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and read the whole answer.

        Raises:
            TooLarge: it is over `MAX_BYTES`.
            CutOff: it does not come whole.
        """
        # An address, with the port at which `cfeval serve` serves what is expected there.
        url = request.url
        served = dict(pair.split("=") for pair in os.environ.get(PORTS, "").split())
        here = str(url.port) in served and url.host in ("localhost", "127.0.0.1", "::1")
        request.url = url.copy_with(port=int(served[str(url.port)])) if here else url
        request.extensions = {**request.extensions, "timeout": self.timeout.as_dict()}
        response = await super().send(request, **{**options, "stream": True, "follow_redirects": False})
        try:
            body = await _whole(response)
        except (httpx2.NetworkError, httpx2.ProtocolError) as error:
            raise CutOff(str(error)) from error
        finally:
            await response.aclose()
        coded = ("content-encoding", "content-length", "transfer-encoding")
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in coded]
        whole = httpx2.Response(response.status_code, headers=headers, content=body, request=request)
        if (responses := _RESPONSES.get()) is not None:
            responses.append(whole)
        return whole


@asynccontextmanager
async def open_client() -> AsyncIterator[HttpClient]:
    """The client for the calls of one event loop; redirects are not followed, so that no key goes elsewhere."""
    async with HttpClient() as client:
        yield client


@cache
def _tls() -> ssl.SSLContext:  # slow to load, and each batch of calls opens a client
    return httpx2.create_ssl_context()


async def _whole(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BYTES:
            raise TooLarge(f"the answer is over {MAX_BYTES >> 20} MiB")
    return bytes(body)


# Sends one request through an `HttpClient`, by itself or by a vendor's package; what it returns does not count.
Send = Callable[[], Awaitable[Any]]


async def exchange(endpoint: Endpoint, seconds: float, send: Send) -> Any:
    """Send a request and read the JSON of a successful answer, or a Fault; the arguments are those of `respond`."""
    response = await respond(endpoint, seconds, send)
    if isinstance(response, Fault):
        return response
    return fault_of(endpoint, response) or read_json(endpoint, response.content)


def request(client: HttpClient, endpoint: Endpoint, method: str, url: str, **content: Any) -> Send:
    """A request without a vendor's package: `json=…`, or nothing."""
    return lambda: client.request(method, url, headers=endpoint.all_headers(), **content)


async def respond(endpoint: Endpoint, seconds: float, send: Send) -> httpx2.Response | Fault:
    """Send a request and read the whole answer, whatever its status.

    Args:
        endpoint: who is asked.
        seconds: until when the whole answer must be there.
        send: what a vendor's package makes of an answer, an exception perhaps, does not count.
    """
    responses: list[httpx2.Response] = []
    token = _RESPONSES.set(responses)
    try:
        async with asyncio.timeout(seconds):
            await send()
    except TimeoutError:
        return retry(TIMEOUT, f"no whole answer within {seconds:.0f} s", sent=True)
    except Exception as error:
        fault = None if responses else _broken(endpoint, error) or _broken(endpoint, error.__cause__)
        if fault is not None:
            return fault
        if not responses:
            raise
    finally:
        _RESPONSES.reset(token)
    return responses[-1]


def _broken(endpoint: Endpoint, error: BaseException | None) -> Fault | None:
    """What an exception of the connection says; None for any other."""
    from anyio import EndOfStream

    if isinstance(error, httpx2.InvalidURL):
        return retry("bad_body", f"not an address: {_what(error)}", tries=1)
    host = httpx2.URL(endpoint.base_url).host
    if isinstance(error, TooLarge):
        return retry("bad_body", str(error), tries=2, sent=True)
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return retry("unreachable", f"{host} cannot be reached ({_what(error)})", systematic=True)
    if isinstance(error, httpx2.DecodingError):
        return retry("bad_body", f"the answer cannot be decoded ({_what(error)})", sent=True)
    if isinstance(error, CutOff):
        return retry("connection", f"{host} cut the answer off ({_what(error.__cause__)})", sent=True)
    if isinstance(error, httpx2.TransportError | ssl.SSLError | EndOfStream):
        return retry("connection", f"{host} dropped the connection ({_what(error)})", sent=True)
    return None


def fault_of(endpoint: Endpoint, response: httpx2.Response) -> Fault | None:
    """What the status of an answer tells; None for a success."""
    if response.status_code < 300:
        return None
    text = endpoint.scrubbed(response.content.decode("utf-8", "replace"))[:MAX_ERROR]
    try:
        body = _parsed(endpoint, text)
    except (ValueError, RecursionError):
        body = text[:300]
    return of_status(response.status_code, response.headers, body, endpoint.key_env)


def read_json(endpoint: Endpoint, body: bytes) -> Any:
    """The JSON of an answer without the key, or the fault that it is none."""
    try:
        return _parsed(endpoint, body.decode("utf-8"))
    except (ValueError, RecursionError):
        shown = " ".join(endpoint.scrubbed(body[:1000].decode("utf-8", "replace"))[:60].split())
        if shown and shown[0] not in "{[":  # no JSON that was cut off, but a page: mostly of another address
            reason = f"the answer is not JSON: it starts with {shown!r}; look at base_url: most end with /v1"
            return retry("bad_body", reason, sent=True, tries=ERROR_TRIES, systematic=True)
        what = f"starts with {shown!r}" if shown else "is empty"
        return retry("bad_body", f"the answer is not JSON: it {what}", sent=True)


def _parsed(endpoint: Endpoint, text: str) -> Any:
    """JSON that can be stored; NaN and the infinities, which are no JSON, become null."""
    return storable(json.loads(text, parse_constant=lambda _: None), endpoint.scrubbed)


def storable(content: Any, scrubbed: Callable[[str], str], depth: int = 0) -> Any:
    """Content without the key, however JSON spells it, and without lone surrogates, which UTF-8 cannot hold.

    Raises:
        ValueError: it is nested too deep.
    """
    if isinstance(content, str):
        return scrubbed(content if content.isascii() else _SURROGATES.sub("\ufffd", content))
    if depth > DEEPEST:
        raise ValueError("nested too deep")
    if isinstance(content, dict):
        return {storable(k, scrubbed): storable(value, scrubbed, depth + 1) for k, value in content.items()}
    if isinstance(content, list):
        return [storable(value, scrubbed, depth + 1) for value in content]
    return content


def _what(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
