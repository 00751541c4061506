"""The loopback server: its routes, and how it is started in a thread of the test or in a process of its own."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager

from aiohttp import web

from tests.loopback import batches, bfl, chat, images, info, native, native_batches, steering
from tests.loopback.personas import PERSONAS, Persona
from tests.loopback.site import LOOPBACK, Loopback, Settings
from tests.loopback.wire import CLOSING

MAX_BODY = 64 * 2**20
"""The largest request, bytes."""
START_SECONDS = 10.0
STOP_SECONDS = 0.5
"""How long a request may go on once the server stops; faults end at once."""


def application(server: Loopback) -> web.Application:
    """The routes of every provider, and the control endpoints."""
    app = web.Application(client_max_size=MAX_BODY)
    app[LOOPBACK] = server
    app[CLOSING] = asyncio.Event()
    for provider, base in (("openai", "/v1"), ("openrouter", "/api/v1"), ("gemini", "/v1beta/openai")):
        app.router.add_post(f"{base}/chat/completions", chat.route_of(provider))
        app.router.add_get(f"{base}/models", info.models_of(provider))
    app.router.add_post("/v1/messages", native.anthropic)
    app.router.add_post(r"/v1beta/models/{model}:generateContent", native.google)
    batches.routes(app)
    native_batches.routes(app)
    app.router.add_post("/v1/images/edits", images.openai_edits)
    app.router.add_post("/api/v1/images", images.openrouter_images)
    app.router.add_get("/api/v1/key", info.key)
    app.router.add_get("/api/v1/credits", info.credit)
    app.router.add_get("/v1/credits", bfl.credits)
    app.router.add_post(r"/v1/{model:flux-[a-z0-9.-]+}", bfl.submit)
    app.router.add_get("/v1/get_result", bfl.poll)
    app.router.add_get(r"/delivery/{task}/{link:\d+}.png", bfl.download)
    app.router.add_post("/_ctl/{action}", steering.steer)
    app.router.add_get("/_ctl/{action}", steering.show)
    return app


@asynccontextmanager
async def running(server: Loopback, port: int = 0) -> AsyncIterator[None]:
    """Serve on 127.0.0.1 while the block runs; port 0 takes a free one."""
    app = application(server)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=STOP_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port, backlog=512)
        await site.start()
        server.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield
    finally:
        app[CLOSING].set()
        await runner.cleanup()


@contextmanager
def loopback(
    *,
    latency: float = 0.0,
    key: str | None = None,
    personas: Mapping[str, Persona] = PERSONAS,
    models: Sequence[str] | None = None,
    active_tasks: int | None = None,
) -> Iterator[Loopback]:
    """A loopback server in a thread of this process, with an event loop of its own.

    Args:
        latency: seconds every request waits before it is answered.
        key: the only key that is accepted; None accepts any, and none.
        personas: who answers, by a word of the model's name.
        models: the only chat models that are known; None knows any.
        active_tasks: how many edits BFL works on at a time; None sets no limit.
    """
    settings = Settings(latency, key, personas, None if models is None else tuple(models), active_tasks)
    server = Loopback(settings)
    thread = _Thread(server)
    thread.start()
    try:
        thread.wait()
        yield server
    finally:
        server.held = lambda _: False
        thread.stop()
    if server.defects:
        raise server.defects[0]


class _Thread(threading.Thread):
    """Runs a server until it is told to stop."""

    def __init__(self, server: Loopback) -> None:
        super().__init__(name="loopback", daemon=True)
        self._server = server
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._halt: asyncio.Event | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as failure:
            self._failure = failure
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._halt = asyncio.get_running_loop(), asyncio.Event()
        async with running(self._server):
            self._ready.set()
            await self._halt.wait()

    def wait(self) -> None:
        """Until the server listens; raises what kept it from that."""
        started = self._ready.wait(START_SECONDS)
        if self._failure is not None:
            raise self._failure
        if not started:
            raise TimeoutError("the loopback server did not start")

    def stop(self) -> None:
        """Stop, and raise what went wrong in the thread."""
        if self._loop is not None and self._halt is not None and self.is_alive():
            self._loop.call_soon_threadsafe(self._halt.set)
        self.join(START_SECONDS)
        if self.is_alive():
            raise TimeoutError("the loopback server did not stop")
        if self._failure is not None:
            raise self._failure
