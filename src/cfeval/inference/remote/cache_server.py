"""The response cache for jobs that share no disk: one process has the file, jobs call its methods by HTTP.

A job's connection has a `ResponseCache` of its own at the server, so that budget, ledger and claims hold for all jobs
as they do for processes of one machine, and a reply is stored the moment it is there. When a job dies its connection
ends, and with it its claims. Requests are numbered: one whose answer was lost on the way is repeated, not done twice.
"""

import functools
import hmac
import http.client
import inspect
import json
import os
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cfeval.core.errors import CfevalError, InputError, OutputError
from cfeval.inference.remote.cache import BudgetError, ResponseCache
from cfeval.inference.remote.cache_db import PATIENCE, BatchTables, StoredCall

# The environment variable that holds the server's address and key: http://:KEY@HOST:PORT.
VARIABLE = "CFEVAL_CACHE_SERVER"
# How long a job tries to reach the server before it fails: paid replies wait for it meanwhile.
RETRY_SECONDS = 300.0
_PAUSE = 0.5
# Stored calls that are fetched at a time.
_CALLS = 100
_BATCHES = "batches."
_LOOPBACK = ("localhost", "127.0.0.1")
_ERRORS: dict[str, type[CfevalError]] = {kind.__name__: kind for kind in (BudgetError, InputError, OutputError)}
_BYTES = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")


@dataclass(frozen=True)
class Address:
    """Where the server is, and the key that it wants."""

    host: str
    port: int
    key: str = field(repr=False)

    @property
    def url(self) -> str:
        """The address without the key."""
        return f"http://{self.host}:{self.port}"

    @property
    def variable(self) -> str:
        """What the environment variable holds."""
        return f"http://:{self.key}@{self.host}:{self.port}"


def address_of(text: str) -> Address:
    """The address in the environment variable.

    Raises:
        InputError: it is none.
    """
    try:
        parts = urlsplit(text)
        host, port, key = parts.hostname, parts.port, parts.password
    except ValueError:
        host = port = key = None
    if not text.startswith("http://") or not host or port is None or not key:
        raise InputError(
            f"{VARIABLE} holds no address of a cache server; run the line that `cfeval cache serve` prints"
        )
    return Address(host, port, key)


def new_address(text: str) -> Address:
    """The address `HOST:PORT` with a new key.

    Raises:
        InputError: it is none.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"{text!r} is no address; write HOST:PORT, such as 10.0.0.5:8900, as jobs reach this machine")
    return Address(host, int(port), secrets.token_urlsafe(24))


@functools.cache
def _types(method: str) -> tuple[inspect.Signature, TypeAdapter[Any], TypeAdapter[Any]]:
    """A method's signature, and how its arguments and its result become JSON; KeyError where there is no such one."""
    kind: type = BatchTables if method.startswith(_BATCHES) else ResponseCache
    name = method.removeprefix(_BATCHES)
    if name.startswith("_"):
        raise KeyError(method)
    function = vars(kind)[name]
    hints = get_type_hints(function)
    result = hints.pop("return")
    if get_origin(result) is Iterator:
        result = list.__class_getitem__(get_args(result))
    return inspect.signature(function), _adapter(hints.values()), _adapter([result])


def _adapter(types: Iterable[Any]) -> TypeAdapter[Any]:
    values: Any = tuple.__class_getitem__(tuple(types))
    return TypeAdapter(values, config=_BYTES)


@dataclass
class _Session:
    """A job at the server: its last request by number, and the answer to it."""

    number: str = ""
    answer: tuple[int, bytes] = (200, b"")
    lock: threading.Lock = field(default_factory=threading.Lock)


class CacheServer(ThreadingHTTPServer):
    """Serves the cache in a file; it listens on all interfaces, or on the loopback alone where that is its address."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: Path, address: Address) -> None:
        ResponseCache(path).close()  # a file that cannot be used is reported before any job starts
        try:
            super().__init__((address.host if address.host in _LOOPBACK else "", address.port), _Handler)
        except OSError as error:
            raise InputError(
                f"{address.host}:{address.port}: cannot listen ({error.strerror}); name another port"
            ) from None
        self.path, self.address = path, Address(address.host, self.server_port, address.key)
        self.authorization = f"Bearer {address.key}".encode()
        self.sessions: dict[str, _Session] = {}
        self.lock = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: CacheServer

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.cache: ResponseCache | None = None

    def finish(self) -> None:
        super().finish()
        if self.cache is not None:
            self.cache.close()

    def do_POST(self) -> None:
        """Call a method, or give the answer of a request that is repeated."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not hmac.compare_digest(self.headers.get("Authorization", "").encode(), self.server.authorization):
            self._reply(403, b"")
            return
        name, number = self.headers.get("Session", ""), self.headers.get("Number", "")
        with self.server.lock:
            session = self.server.sessions.setdefault(name, _Session())
        with session.lock:
            if number != session.number:
                session.answer = self._answer(self.path.removeprefix("/"), body)
                session.number = number
            self._reply(*session.answer)
        if self.path == "/close":
            self.server.sessions.pop(name, None)

    def _answer(self, method: str, body: bytes) -> tuple[int, bytes]:
        try:
            _, arguments, result = _types(method)
            values = arguments.validate_json(body)
        except (KeyError, ValidationError):
            return 400, b""
        try:
            if self.cache is None:
                self.cache = ResponseCache(self.server.path)
            owner = self.cache.batches if method.startswith(_BATCHES) else self.cache
            value = getattr(owner, method.removeprefix(_BATCHES))(*values)
            if method == "close":
                self.cache = None
            value = list(value) if isinstance(value, Iterator) else value
        except CfevalError as error:
            return 409, json.dumps({"kind": type(error).__name__, "text": str(error)}).encode()
        return 200, result.dump_json((value,), warnings=False)

    def _reply(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a line for each request would bury what matters."""


class _Methods:
    """Methods of the cache, by name, each a request."""

    def __init__(self, call: Callable[..., Any], prefix: str = "") -> None:
        self._call, self._prefix = call, prefix

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._call, f"{self._prefix}{name}")


class _ServedCache(_Methods):
    """The cache behind a server, used as `ResponseCache` is."""

    def __init__(self, address: Address) -> None:
        super().__init__(self._request)
        self.path, self.batches = address.url, _Methods(self._request, _BATCHES)
        self._address, self._session, self._number = address, uuid.uuid4().hex, 0
        self._http = http.client.HTTPConnection(address.host, address.port, timeout=PATIENCE + 30)
        self._lost = False

    def calls(self, keys: Iterable[str] | None = None) -> Iterator[StoredCall]:
        """The rows of these keys, or all, in the order of their keys."""
        wanted = self._request("stored_keys") if keys is None else sorted(set(keys))
        for start in range(0, len(wanted), _CALLS):
            yield from self._request("calls", wanted[start : start + _CALLS])

    def close(self) -> None:
        """End the session, and with it every claim of this job."""
        with suppress(CfevalError):
            if self._number:
                self._request("close")
        self._http.close()

    def _request(self, method: str, *values: Any) -> Any:
        signature, arguments, result = _types(method)
        bound = signature.bind(self, *values)
        bound.apply_defaults()
        self._number += 1
        body = arguments.dump_json(tuple(map(_listed, bound.args[1:])), warnings=False)
        status, content = self._exchanged(method, body)
        if status == 409:
            error = json.loads(content)
            raise _ERRORS.get(error["kind"], OutputError)(error["text"])
        if status == 403:
            raise InputError(
                f"{self.path} refuses the key in {VARIABLE}; take the line that `cfeval cache serve` prints"
            )
        if status != 200:
            raise InputError(f"{self.path} is no response cache of this version; serve it by the cfeval that jobs run")
        (value,) = result.validate_json(content)
        return value

    def _exchanged(self, method: str, body: bytes) -> tuple[int, bytes]:
        head = {"Authorization": f"Bearer {self._address.key}", "Session": self._session, "Number": str(self._number)}
        end = time.monotonic() + RETRY_SECONDS
        while True:
            try:
                self._http.request("POST", f"/{method}", body, head)
                answer = self._http.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException) as error:
                self._http.close()
                if self._lost or time.monotonic() > end:
                    self._lost = True  # what else is to be stored need not wait as long
                    raise OutputError(
                        f"{self.path}: the response cache cannot be reached ({error}); see that `cfeval cache serve` "
                        "runs there and lets jobs in, then run again"
                    ) from None
                time.sleep(_PAUSE)


def _listed(value: Any) -> Any:
    """A value, or a list of what an iterable yields."""
    plain = not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping | Sequence)
    return value if plain else list(value)


def open_cache(path: Path) -> ResponseCache:
    """The cache of this process: behind the server where the environment names one, else the file at `path`.

    Raises:
        InputError: what the environment names is no address, or the file is no cache.
        OutputError: the file cannot be written.
    """
    server = os.environ.get(VARIABLE)
    return cast(ResponseCache, _ServedCache(address_of(server))) if server else ResponseCache(path)
