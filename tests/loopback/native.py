"""Anthropic's and Gemini's own protocols: the personas behind other words; no faults but those of HTTP."""

from typing import Any

from aiohttp import web

from tests.loopback import wire
from tests.loopback.bodies import openai_error
from tests.loopback.chat import parsed
from tests.loopback.conversation import MalformedError, body_digest, parse
from tests.loopback.effects import Effect
from tests.loopback.fault import Kind
from tests.loopback.personas import persona_of
from tests.loopback.pictures import NotAnImageError
from tests.loopback.site import LOOPBACK, DeniedError, serve


async def anthropic(request: web.Request) -> web.StreamResponse:
    """POST /v1/messages."""
    raw = await request.read()
    payload = parsed(raw)
    messages = [{**said, "content": _parts(said["content"])} for said in payload["messages"]]

    def worded(text: str) -> dict[str, Any]:
        usage = {"input_tokens": 20, "output_tokens": 10}
        content = [{"type": "text", "text": text}]
        said = {"type": "message", "model": payload["model"], "content": content, "usage": usage}
        return {**said, "stop_reason": "end_turn"}

    return await _answer(request, raw, "anthropic", {"model": payload["model"], "messages": messages}, worded)


async def google(request: web.Request) -> web.StreamResponse:
    """POST /v1beta/models/<model>:generateContent."""
    raw = await request.read()
    payload, model = parsed(raw), request.match_info["model"]
    roles = {"user": "user", "model": "assistant"}
    messages = [{"role": roles[said["role"]], "content": _parts(said["parts"])} for said in payload["contents"]]
    fields = {"model": model, "messages": messages, "seed": payload["generationConfig"].get("seed")}

    def worded(text: str) -> dict[str, Any]:
        usage = {"promptTokenCount": 20, "candidatesTokenCount": 10}
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}

    return await _answer(request, raw, "google", fields, worded)


async def _answer(
    request: web.Request, raw: bytes, provider: str, fields: dict[str, Any], worded: Any
) -> web.StreamResponse:
    digest = body_digest(request.path.encode(), raw)

    async def answer(effect: Effect | None) -> web.StreamResponse:
        try:
            said = parse(fields, digest)
        except (MalformedError, NotAnImageError) as problem:
            raise DeniedError(400, openai_error(str(problem), "invalid_request_error")) from None
        persona = persona_of(said.model, request.app[LOOPBACK].settings.personas)
        return await wire.send(request, wire.as_json(worded(persona(said))), effect)

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
