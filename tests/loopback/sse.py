"""A chat completion as a stream of server-sent events, whole or broken off half-way."""

import json
from typing import Any

from aiohttp import web

from tests.loopback.bodies import error
from tests.loopback.effects import Stream

PIECE = 6
"""Characters an event carries."""


async def stream(request: web.Request, body: dict[str, Any], fault: Stream | None) -> web.StreamResponse:
    """Send a completion piece by piece, then finish_reason and usage, then [DONE]."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    head = {"id": body["id"], "object": "chat.completion.chunk", "created": body["created"], "model": body["model"]}
    text = body["choices"][0]["message"]["content"]
    pieces = [text[n : n + PIECE] for n in range(0, len(text), PIECE)]
    for piece in pieces if fault is None else pieces[: len(pieces) // 2]:
        await _event(response, {**head, "choices": [_choice(piece)]})
    if fault is None:
        await _event(response, {**head, "choices": [_choice("", "stop")], "usage": body["usage"]})
        await response.write(b"data: [DONE]\n\n")
        return response
    return await _break_off(request, response, head, fault)


async def _break_off(
    request: web.Request, response: web.StreamResponse, head: dict[str, Any], fault: Stream
) -> web.StreamResponse:
    if fault.how == "error":
        failure = error(502, "Provider disconnected")
        await _event(response, {**head, **failure, "choices": [_choice("", "error")]})
    elif fault.how == "bad_chunk":
        await response.write(b'data: {"id": "gen\n\n')
    elif fault.how == "cut" and request.transport is not None:
        request.transport.close()
    return response


def _choice(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": finish}


async def _event(response: web.StreamResponse, event: dict[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
