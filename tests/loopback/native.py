"""Anthropic's and Gemini's own protocols: the personas behind other words; no faults but those of HTTP."""

from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.loopback import wire
from tests.loopback.bodies import openai_error
from tests.loopback.chat import parsed
from tests.loopback.conversation import MalformedError, body_digest, parse
from tests.loopback.effects import Effect
from tests.loopback.fault import Kind
from tests.loopback.image_files import NotAnImageError
from tests.loopback.personas import persona_of
from tests.loopback.site import LOOPBACK, DeniedError, serve

Said = tuple[dict[str, Any], Callable[[str], dict[str, Any]]]
"""A request as chat completions have it, and how the answer is worded."""


async def anthropic(request: web.Request) -> web.StreamResponse:
    """POST /v1/messages."""
    raw = await request.read()
    return await _answer(request, raw, "anthropic", *anthropic_said(parsed(raw)))


def anthropic_said(payload: dict[str, Any]) -> Said:
    """A request of Anthropic's Messages."""
    messages = [{**said, "content": _parts(said["content"])} for said in payload["messages"]]

    def worded(text: str) -> dict[str, Any]:
        usage = {"input_tokens": 20, "output_tokens": 10}
        content = [{"type": "text", "text": text}]
        said = {"type": "message", "model": payload["model"], "content": content, "usage": usage}
        return {**said, "stop_reason": "end_turn"}

    return {"model": payload["model"], "messages": messages}, worded


async def google(request: web.Request) -> web.StreamResponse:
    """POST /v1beta/models/<model>:generateContent."""
    raw = await request.read()
    return await _answer(request, raw, "google", *google_said(parsed(raw), request.match_info["model"]))


def google_said(payload: dict[str, Any], model: str) -> Said:
    """A request of Gemini's generateContent."""
    roles = {"user": "user", "model": "assistant"}
    messages = [{"role": roles[said["role"]], "content": _parts(said["parts"])} for said in payload["contents"]]
    fields = {"model": model, "messages": messages, "seed": payload["generationConfig"].get("seed")}

    def worded(text: str) -> dict[str, Any]:
        usage = {"promptTokenCount": 20, "candidatesTokenCount": 10}
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}

    return fields, worded


def completed(request: web.Request, said: Said, digest: str) -> dict[str, Any]:
    """What a persona answers."""
    fields, worded = said
    conversation = parse(fields, digest)
    return worded(persona_of(conversation.model, request.app[LOOPBACK].settings.personas)(conversation))


async def _answer(
    request: web.Request, raw: bytes, provider: str, fields: dict[str, Any], worded: Any
) -> web.StreamResponse:
    digest = body_digest(request.path.encode(), raw)

    async def answer(effect: Effect | None) -> web.StreamResponse:
        try:
            body = completed(request, (fields, worded), digest)
        except (MalformedError, NotAnImageError) as problem:
            raise DeniedError(400, openai_error(str(problem), "invalid_request_error")) from None
        return await wire.send(request, wire.as_json(body), effect)

    return await serve(request, f"{provider}.chat", Kind.CHAT, digest, answer, model=fields["model"], payload=fields)


def _parts(content: Any) -> Any:
    """Parts of a message as chat completions have them."""
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    match part:
        case {"source": {"data": str(data)}} | {"inlineData": {"data": str(data)}}:
            plain = data.replace("-", "+").replace("_", "/")
            return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{plain}"}}
    return {"type": "text", "text": part["text"]}
