"""What a client may ask before it spends anything: models, the key, the credit."""

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.loopback import bodies, wire
from tests.loopback.conversation import body_digest
from tests.loopback.effects import Effect
from tests.loopback.fault import Kind
from tests.loopback.site import LOOPBACK, Loopback, serve

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def models_of(provider: str) -> Handler:
    """GET /models. Gemini's names begin with `models/`."""
    prefix = "models/" if provider == "gemini" else ""
    return _told(
        f"{provider}.models", lambda server: bodies.models([prefix + n for n in server.models_served()], server.takes)
    )


def _told(route: str, tell: Callable[[Loopback], Any]) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        async def answer(effect: Effect | None) -> web.StreamResponse:
            return await wire.send(request, wire.as_json(tell(request.app[LOOPBACK])), effect)

        return await serve(request, route, Kind.INFO, body_digest(request.path.encode()), answer)

    return handler


key = _told("openrouter.key", lambda server: bodies.key_info(server.usd, server.key_limit))
credit = _told("openrouter.credits", lambda server: bodies.credit_info(server.usd))
