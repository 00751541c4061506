"""The images endpoints: OpenAI's /images/edits (a form) and OpenRouter's /images (JSON)."""

import hashlib
from typing import Any

from aiohttp import web

from tests.loopback import wire
from tests.loopback.bodies import error, images_reply, openai_error
from tests.loopback.chat import cost_of, painted, parsed
from tests.loopback.conversation import body_digest
from tests.loopback.effects import Effect, Reply
from tests.loopback.fault import Kind
from tests.loopback.image_files import NotAnImageError, edited, from_base64
from tests.loopback.site import LOOPBACK, USD, DeniedError, serve

_FILES = ("image", "image[]", "mask")


async def openai_edits(request: web.Request) -> web.StreamResponse:
    """POST /v1/images/edits: image(s), mask and prompt as a form.

    The boundary between its parts differs each time, the digest does not.
    """
    form = await request.post()
    fields = [(n, _content(v)) for n, v in form.items()]
    told = {n: hashlib.sha256(v).hexdigest() if n in _FILES else v.decode() for n, v in fields}
    parts = [part for n, v in sorted(fields) for part in (n.encode(), v)]

    async def answer(effect: Effect | None) -> web.StreamResponse:
        sources = [v for n, v in fields if n in ("image", "image[]")]
        if not sources or "prompt" not in told:
            raise DeniedError(400, openai_error("image and prompt are required", "invalid_request_error"))
        return await _reply(request, sources[0], told["prompt"] + told.get("mask", ""), effect, priced=False)

    model = told.get("model", "")
    digest = body_digest(request.path.encode(), *parts)
    return await serve(request, "openai.images", Kind.EDIT, digest, answer, model=model, payload=told)


async def openrouter_images(request: web.Request) -> web.StreamResponse:
    """POST /api/v1/images: prompt, seed and input_references (data URLs) as JSON."""
    raw = await request.read()
    payload = parsed(raw)

    async def answer(effect: Effect | None) -> web.StreamResponse:
        match payload:
            case {"prompt": str(prompt), "input_references": [reference, *_]}:
                told = f"{prompt}|{payload.get('seed')}"
                return await _reply(request, _source(reference), told, effect, priced=True)
        raise DeniedError(400, error(400, "prompt and input_references are required"))

    model = str(payload.get("model", "")) if isinstance(payload, dict) else ""
    digest = body_digest(request.path.encode(), raw)
    return await serve(request, "openrouter.images", Kind.EDIT, digest, answer, model=model, payload=payload)


def _content(value: str | bytes | bytearray | web.FileField) -> bytes:
    if isinstance(value, web.FileField):
        with value.file as file:
            return file.read()
    return value.encode() if isinstance(value, str) else bytes(value)


def _source(reference: Any) -> bytes:
    """The image of a reference: a data URL, bare or as an image_url part."""
    url = reference["image_url"]["url"] if isinstance(reference, dict) else str(reference)
    try:
        return from_base64(url)
    except NotAnImageError as problem:
        raise DeniedError(400, error(400, f"Unable to process input image: {problem}")) from None


async def _reply(
    request: web.Request, source: bytes, told: str, effect: Effect | None, *, priced: bool
) -> web.StreamResponse:
    try:
        urls = painted(source, edited(source, told), effect)
    except NotAnImageError as problem:
        raise DeniedError(400, openai_error(f"Invalid image file: {problem}", "image_generation_user_error")) from None
    body = images_reply([url.partition(",")[2] for url in urls if url.startswith("data:")], priced=priced)
    body["data"] += [{"url": url} for url in urls if not url.startswith("data:")]
    body = effect.change(body) if isinstance(effect, Reply) else body
    request[USD] = cost_of(body)
    request.app[LOOPBACK].charge(usd=request[USD])
    return await wire.send(request, wire.as_json(body), effect)
