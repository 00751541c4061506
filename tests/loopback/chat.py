"""Chat completions of OpenAI, OpenRouter (images included) and Gemini's compatible path."""

import copy
import json
from typing import Any

from aiohttp import web

from tests.loopback import bodies, sse, wire
from tests.loopback.conversation import Conversation, MalformedError, body_digest, parse
from tests.loopback.effects import Choice, Effect, Images, Pixels, Reply, Stream
from tests.loopback.fault import Kind
from tests.loopback.image_files import NotAnImageError, data_url, drawn, edited
from tests.loopback.personas import persona_of
from tests.loopback.site import LOOPBACK, USD, DeniedError, serve

GEMINI_FIELDS = frozenset(
    {
        *("model", "messages", "temperature", "top_p", "n", "stop", "stream", "stream_options", "max_tokens"),
        *("max_completion_tokens", "response_format", "reasoning_effort", "modalities", "extra_body"),
        *("tools", "tool_choice", "parallel_tool_calls"),
    }
)
"""What Gemini's compatible path takes; anything else, `seed` included, is refused."""


def route_of(provider: str) -> Any:
    """The handler of a provider's chat completions."""

    async def chat(request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        payload = parsed(raw)
        fields = payload if isinstance(payload, dict) else {}
        digest = body_digest(request.path.encode(), raw)
        model, kind = str(fields.get("model", "")), _kind(fields)

        async def answer(effect: Effect | None) -> web.StreamResponse:
            conversation = _conversation(request, provider, payload, digest)
            body = body_of(request, provider, conversation, effect, kind)
            request[USD] = cost_of(body)
            request.app[LOOPBACK].charge(usd=request[USD])
            if kind == Kind.STREAM and not isinstance(effect, str):
                return await sse.stream(request, body, effect if isinstance(effect, Stream) else None)
            return await wire.send(request, wire.as_json(body), effect)

        return await serve(request, f"{provider}.chat", kind, digest, answer, model=model, payload=payload)

    return chat


def parsed(raw: bytes) -> Any:
    """The JSON of a body, or None."""
    try:
        return json.loads(raw)
    except ValueError:
        return None


def cost_of(body: Any) -> float:
    """The cost an answer states, in US dollars."""
    match body:
        case {"usage": {"cost": float(cost)}}:
            return cost
    return 0.0


def _kind(fields: dict[str, Any]) -> Kind:
    if "image" in (fields.get("modalities") or ()):
        return Kind.IMAGE
    return Kind.STREAM if fields.get("stream") else Kind.CHAT


def _conversation(request: web.Request, provider: str, payload: Any, digest: str) -> Conversation:
    """The conversation, if the provider takes the request.

    Raises:
        DeniedError: it does not.
    """
    if provider == "gemini" and isinstance(payload, dict) and (unknown := sorted(set(payload) - GEMINI_FIELDS)):
        words = [f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in unknown]
        raise DeniedError(400, bodies.google_error("\n".join(words)))
    try:
        conversation = parse(payload, digest)
    except (MalformedError, NotAnImageError) as problem:
        raise DeniedError(400, _worded(provider, 400, str(problem))) from None
    served = request.app[LOOPBACK].settings.models
    if served is not None and conversation.model.removeprefix("models/") not in served:
        status = 400 if provider == "openrouter" else 404
        raise DeniedError(status, _worded(provider, status, f"{conversation.model} is not a valid model ID"))
    return conversation


def _worded(provider: str, status: int, message: str) -> Any:
    if provider == "openrouter":
        return bodies.error(status, message)
    if provider == "gemini":
        return bodies.google_error(message, code=status)
    return bodies.openai_error(message, "invalid_request_error", "model_not_found" if status == 404 else None)


def body_of(request: web.Request, provider: str, conversation: Conversation, effect: Effect | None, kind: Kind) -> Any:
    """The completion, with what a fault does to it."""
    images = _images(conversation, effect) if kind == Kind.IMAGE else None
    persona = persona_of(conversation.model, request.app[LOOPBACK].settings.personas)
    body = bodies.completion(conversation, persona(conversation) if images is None else "")
    if provider == "openrouter" or images is not None:
        body = bodies.routed(body, images)
    if isinstance(effect, Choice):
        body["choices"][0].update(effect.fields)
        body["choices"][0]["message"].update(effect.message)
    return effect.change(copy.deepcopy(body)) if isinstance(effect, Reply) else body


def _images(conversation: Conversation, effect: Effect | None) -> list[str]:
    """The edited image as a list of one data URL, with what a fault does to it."""
    told = f"{conversation.text}|{conversation.seed}"
    try:
        source = conversation.images[-1] if conversation.images else drawn(told)
        return painted(source, edited(source, told), effect)
    except NotAnImageError as problem:
        raise DeniedError(400, bodies.error(400, f"Unable to process input image: {problem}")) from None


def painted(source: bytes, made: bytes, effect: Effect | None) -> list[str]:
    """Data URLs of an edited image, with what a fault does to it."""
    urls = [data_url(effect.change(source, made) if isinstance(effect, Pixels) else made)]
    return effect.change(urls) if isinstance(effect, Images) else urls
