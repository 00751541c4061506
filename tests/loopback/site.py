"""The server as its routes see it, and the one way in which every request is served."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.loopback import wire
from tests.loopback.bodies import CREDIT_LIMIT, error, google_error, openai_error
from tests.loopback.control import Control, Request
from tests.loopback.desk import Desk
from tests.loopback.effects import Effect, Http, Task
from tests.loopback.fault import Kind
from tests.loopback.faults import FAULTS
from tests.loopback.personas import PERSONAS, Persona

HELD_SECONDS = 0.005
"""A request that is held looks so often whether it still is."""
OWN_HEADERS = ("x-key", "x-goog-api-key", "x-api-key")
"""What carries the key at BFL, Google and Anthropic."""
BFL_MODELS = ("flux-kontext-max", "flux-kontext-pro", "flux-2-max", "flux-2-pro", "flux-2-flex")

Answer = Callable[[Effect | None], Awaitable[web.StreamResponse]]
"""Gets the effect of the fault that was chosen."""


class DeniedError(Exception):
    """A request that is answered by an error of its own making; carries the answer."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status)
        self.answer = wire.as_json(body, status)


@dataclass
class BflTask:
    """An edit that was submitted to BFL."""

    id: str
    model: str
    source: bytes
    prompt: str
    course: Task
    polls: int = 0
    downloads: int = 0
    done: bool = False


@dataclass(frozen=True)
class Settings:
    """How a server is set up; see `loopback`."""

    latency: float = 0.0
    key: str | None = None
    personas: Mapping[str, Persona] = field(default_factory=lambda: PERSONAS)
    models: tuple[str, ...] | None = None
    active_tasks: int | None = None


class Loopback(Control):
    """A running server: what it is set up with, where it is reached, and what steers it."""

    def __init__(self, settings: Settings, origin: str = "") -> None:
        self.settings = settings
        self.latency = settings.latency
        """Seconds every request waits before it is answered; requests wait side by side. May be changed."""
        self.slow_one_in, self.slow = 0, 0.0
        """One in so many requests, by its hash, waits so many seconds; 0: none."""
        self.origin = origin
        """Scheme, host and port."""
        self.defects: list[Exception] = []
        """Errors of the server itself: raised when it stops, because a client would only see a 500 and try again."""
        super().__init__()

    def reset(self) -> None:
        """Forget the log, counts, script, random faults, tasks at BFL and batches; the key has a limit again."""
        super().reset()
        self.desk = Desk()
        self.takes: list[str] | None = None
        """The parameters that every model of the list takes; None: the list does not say."""
        self.key_limit: float | None = CREDIT_LIMIT
        """Of the key at OpenRouter, in USD; None: it has none of its own."""
        self.tasks: dict[str, BflTask] = {}

    def seconds_of(self, digest: str) -> float:
        """How long a request waits."""
        slow = self.slow_one_in and int(digest[:8], 16) % self.slow_one_in == 0
        return self.slow if slow else self.latency

    @property
    def openai(self) -> str:
        """Base URL of the OpenAI protocol."""
        return f"{self.origin}/v1"

    @property
    def openrouter(self) -> str:
        """Base URL of the OpenRouter protocol."""
        return f"{self.origin}/api/v1"

    @property
    def gemini(self) -> str:
        """Base URL of Gemini's OpenAI-compatible path."""
        return f"{self.origin}/v1beta/openai"

    @property
    def bfl(self) -> str:
        """Base URL of the BFL protocol: the host; its paths begin with /v1."""
        return self.origin

    def models_served(self) -> list[str]:
        """The names in the list of models."""
        return list(self.settings.personas if self.settings.models is None else self.settings.models)


LOOPBACK = web.AppKey("loopback", Loopback)


def key_of(request: web.Request) -> str:
    """The key a request carries, or nothing."""
    own = next((request.headers[name] for name in OWN_HEADERS if request.headers.get(name)), None)
    return own or request.headers.get("Authorization", "").removeprefix("Bearer ")


USD = web.RequestKey("usd", float)
"""What a request was charged."""


async def serve(
    request: web.Request, route: str, kind: Kind, digest: str, answer: Answer, *, model: str = "", payload: Any = None
) -> web.StreamResponse:
    """Log a request, let the latency pass, refuse a wrong key, play its fault, or answer."""
    server, key = request.app[LOOPBACK], key_of(request)
    barred = server.settings.key is not None and kind != Kind.DOWNLOAD and key != server.settings.key
    entry = Request(route, kind, request.path, model, digest, bool(key), payload)
    with server.serving(entry, aimed=request.headers.get("X-Fault"), healthy=barred) as place:
        await asyncio.sleep(server.seconds_of(digest))
        while place and server.held(place):
            await asyncio.sleep(HELD_SECONDS)
        try:
            if barred:
                raise denial(route, missing=not key)
            effect = _effect(entry)
            response = wire.as_http(effect, key) if isinstance(effect, Http) else await answer(effect)
        except DeniedError as denied:
            response = denied.answer
        except OSError:  # the client has gone
            raise
        except Exception as defect:
            server.defects.append(defect)
            raise
        finally:
            entry.usd = request.get(USD, 0.0)
        if request.transport is not None and not request.transport.is_closing():
            entry.status = response.status
        return response


def denial(route: str, *, missing: bool) -> DeniedError:
    """How each provider refuses a key. Gemini answers a wrong one with 400, and BFL any with 403."""
    match route.partition(".")[0]:
        case "bfl":
            return DeniedError(
                403, {"detail": "Not authenticated" if missing else "Not authenticated - Invalid Authentication"}
            )
        case "gemini" if not missing:
            reason = {"reason": "API_KEY_INVALID", "domain": "googleapis.com"}
            return DeniedError(400, google_error("API key not valid. Please pass a valid API key.", reason))
        case "openrouter":
            return DeniedError(401, error(401, "No auth credentials found" if missing else "User not found."))
    message = "You didn't provide an API key." if missing else "Incorrect API key provided."
    return DeniedError(401, openai_error(message, "invalid_request_error", "invalid_api_key"))


def _effect(entry: Request) -> Effect | None:
    """The effect of the chosen fault; one that does not fit its request is a mistake in the test, and said so."""
    if entry.fault is None:
        return None
    fault = FAULTS.get(entry.fault)
    if fault is None or entry.kind not in fault.where:
        raise DeniedError(400, error(400, f"the fault {entry.fault} does not fit a request of the kind {entry.kind}"))
    return fault.effect
