"""The address that a study names: passes each request on to a server, those of one conversation to the same.

HTTP/1.1 with one request a connection. What identifies a conversation is its text and images up to the first turn of
the user's, which both turns of an item share; other requests, such as edits of images, go to whom has least to do.
"""

import asyncio
import hashlib
import json
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from cfeval.inference.serving.replicas import Replica, Replicas, ServerError

# Header of a response: the number of the server that answered.
REPLICA = b"x-cfeval-replica"
_HEAD = 2**16
# Bytes of a request's head and body at most.
_BODY = 2**28


def conversation(body: bytes) -> str:
    """What identifies a conversation: a hash of its messages up to the first of the user's; empty where it is none."""
    try:
        messages = json.loads(body)["messages"]
        first = next(place for place, message in enumerate(messages) if message["role"] == "user")
    except (ValueError, KeyError, TypeError, StopIteration):
        return ""
    start = [_without_named_images(message) for message in messages[: first + 1]]
    return hashlib.sha256(json.dumps(start, sort_keys=True).encode()).hexdigest()


def _without_named_images(message: Any) -> Any:
    """A message in which an image with a name is its name: both turns have that, the first alone the image."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    named = [part.get("uuid") if isinstance(part, dict) else None for part in content]
    return {**message, "content": [name or part for name, part in zip(named, content, strict=True)]}


class Router:
    """Takes requests at a port of this machine for the servers of one model."""

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def open(self, port: int) -> int:
        """Listen on a port of the loopback interface, or on any for 0; which one it is.

        Raises:
            OSError: something else listens there.
        """
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port, limit=_HEAD)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self, seconds: float) -> None:
        """Take no more connections, answer what is under way within so many seconds, end the servers."""
        if self._server is not None:
            self._server.close()
        await self.replicas.drain(seconds)
        if self._open:  # what is answered may not be on its way yet
            await asyncio.wait(self._open, timeout=1.0)

    def _about(self) -> dict[str, Any]:
        """The model as a list of models has it; told without starting a server."""
        return {"id": self.replicas.served.model, "object": "model", "created": 0, "owned_by": "cfeval"}

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._connection(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await self._answer(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, headers = _parsed(await reader.readuntil(b"\r\n\r\n"))
        length = headers.get(b"content-length", b"0")
        if b"transfer-encoding" in headers or not length.isdigit() or int(length) > _BODY:
            await _say(writer, 411, f"a request needs a length, of {_BODY} bytes at most")
            return
        body = await reader.readexactly(int(length))
        method, path, _ = (*first.split(b" "), b"", b"", b"")[:3]
        if method == b"GET" and path.endswith(b"/models"):
            await _send(writer, 200, {"object": "list", "data": [self._about()]})
            return
        try:
            async with self.replicas.chosen(conversation(body)) as replica:
                await _pass_on(first, headers, body, replica, writer)
        except ServerError as error:
            await _say(writer, 503, str(error))


async def _pass_on(
    first: bytes, headers: dict[bytes, bytes], body: bytes, replica: Replica, writer: asyncio.StreamWriter
) -> None:
    """Send a request to a server and its response back, as it comes."""
    sent = {**headers, b"host": b"127.0.0.1:%d" % replica.port, b"connection": b"close"}
    try:
        reader, server = await asyncio.open_connection("127.0.0.1", replica.port, limit=_HEAD)
    except OSError:
        await _say(writer, 503, f"the server at port {replica.port} has ended; ask again")
        return
    try:
        server.write(_head(first, sent) + body)
        await server.drain()
        try:
            status, response_headers = _parsed(await reader.readuntil(b"\r\n\r\n"))
        except (ConnectionError, asyncio.IncompleteReadError):
            await _say(writer, 503, f"the server at port {replica.port} ended before it answered; ask again")
            return
        writer.write(_head(status, {**response_headers, b"connection": b"close", REPLICA: b"%d" % replica.number}))
        while part := await reader.read(_HEAD):
            writer.write(part)
            await writer.drain()
    finally:
        server.close()


def _parsed(head: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    first, *lines = head.rstrip(b"\r\n").split(b"\r\n")
    pairs = (line.partition(b":") for line in lines)
    return first, {name.strip().lower(): value.strip() for name, _, value in pairs}


def _head(first: bytes, headers: dict[bytes, bytes]) -> bytes:
    return b"\r\n".join([first, *(name + b": " + value for name, value in headers.items()), b"", b""])


async def _say(writer: asyncio.StreamWriter, status: int, message: str) -> None:
    await _send(writer, status, {"error": {"message": message, "type": "server_error", "code": status}})


async def _send(writer: asyncio.StreamWriter, status: int, content: dict[str, Any]) -> None:
    body = json.dumps(content).encode()
    headers = {b"content-type": b"application/json", b"content-length": b"%d" % len(body), b"connection": b"close"}
    if status == 503:
        headers[b"retry-after"] = b"1"
    writer.write(_head(b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode()), headers) + body)
    await writer.drain()
