"""How an answer goes out: as HTTP says, or as the connection's fault says."""

import asyncio
import email.utils
import gzip
import json
import socket
import struct
import time
from typing import Any

from aiohttp import web

from tests.loopback.effects import Effect, Http, Raw

CLOSING = web.AppKey("closing", asyncio.Event)
"""Set when the server stops, so that no fault outlives it."""
GZIP_HEADER = 10
"""Bytes before the compressed data; what follows here is no deflate block."""
DRIP_SECONDS = 0.05
"""Between two bytes of the slow drip: under any read timeout."""
SETTLE_SECONDS = 0.02
"""Time for the first half of a body to leave, before its connection breaks."""


def as_json(answer: Any, status: int = 200) -> web.Response:
    """An answer as JSON."""
    return web.Response(status=status, body=json.dumps(answer).encode(), content_type="application/json")


def as_http(fault: Http, key: str) -> web.Response:
    """The answer of an HTTP fault; see `Http` for what is filled in."""
    body = fault.body
    if not isinstance(body, bytes):
        body = json.dumps(body).replace("{key}", key).encode()
    headers = {"Content-Type": "application/json", "X-Request-Id": "req-loopback", **fault.headers}
    if headers.get("Retry-After") == "{date+2}":
        headers["Retry-After"] = email.utils.formatdate(time.time() + 2, usegmt=True)
    return web.Response(status=fault.status, body=body, headers=headers)


async def send(request: web.Request, answer: web.Response, effect: Effect | None) -> web.StreamResponse:
    """Send a healthy answer, or what a fault of the connection or the bytes leaves of it."""
    raw = answer.body if isinstance(answer.body, bytes) else b""
    if isinstance(effect, Raw):
        return web.Response(
            status=answer.status, body=effect.change(raw), content_type=effect.content_type or answer.content_type
        )
    match effect:
        case "reset_before_headers":
            return _broken(request, reset=True)
        case "close_before_headers":
            return _broken(request)
        case "not_http":
            if request.transport is not None:
                request.transport.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            return _broken(request)
        case "hang":
            await _hold(request)
            return _broken(request)
        case "gzip_corrupt":
            packed = gzip.compress(raw)[:GZIP_HEADER] + b"\xff" * 64
            return web.Response(body=packed, headers={"Content-Encoding": "gzip"}, content_type=answer.content_type)
        case "slow_drip":
            return await _drip(request, answer, raw)
        case "reset_mid_body" | "close_mid_body" | "chunked_cut" | "stall_mid_body":
            return await _half(request, answer, raw, effect)
    return answer


async def _half(request: web.Request, answer: web.Response, raw: bytes, effect: str) -> web.StreamResponse:
    half = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
    if effect == "chunked_cut":
        half.enable_chunked_encoding()
    else:
        half.content_length = len(raw)
    await half.prepare(request)
    await half.write(raw[: len(raw) // 2])
    await asyncio.sleep(SETTLE_SECONDS)
    if effect == "stall_mid_body":
        await _hold(request)
    return _broken(request, half, reset=effect == "reset_mid_body")


async def _drip(request: web.Request, answer: web.Response, raw: bytes) -> web.StreamResponse:
    dripping = web.StreamResponse(headers={"Content-Type": answer.content_type})
    dripping.content_length = len(raw)
    await dripping.prepare(request)
    for n in range(len(raw)):
        await dripping.write(raw[n : n + 1])
        if await _hold(request, DRIP_SECONDS):
            return _broken(request, dripping)
    return dripping


async def _hold(request: web.Request, seconds: float | None = None) -> bool:
    """Wait, or until the server stops; whether it does."""
    try:
        await asyncio.wait_for(request.app[CLOSING].wait(), seconds)
    except TimeoutError:
        return False
    return True


def _broken(
    request: web.Request, answer: web.StreamResponse | None = None, *, reset: bool = False
) -> web.StreamResponse:
    """Break the connection, by a reset or by closing it; whatever is returned goes nowhere."""
    transport = request.transport
    if transport is not None and reset:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    elif transport is not None:
        transport.close()
    return answer or web.Response()
