"""The client of a stage: opened with its first call, closed after its last."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path

from cfeval.inference.batching import shared
from cfeval.inference.remote.cache_server import open_cache
from cfeval.inference.remote.client import Client
from cfeval.inference.remote.http import open_client
from cfeval.inference.remote.prices import load_prices
from cfeval.inference.remote.settings import settings
from cfeval.inference.remote.stops import stop_on_signals


async def shared_client() -> Client:
    """The client of all requests that are answered together (`cfeval.inference.batching.map_requests`).

    Raises:
        CfevalError: settings, cache or price list cannot be used.
    """
    return await shared(_opened)


@asynccontextmanager
async def _opened() -> AsyncIterator[Client]:
    calls = settings()
    prices = load_prices(calls.prices)
    with closing(open_cache(Path(calls.cache))) as cache, ThreadPoolExecutor(1, "cache") as disk:
        async with open_client() as http:
            client = Client(calls, cache, prices, http, disk)
            with client.meter.shown(), stop_on_signals(client.stop_politely):
                try:
                    yield client
                except asyncio.CancelledError:  # Ctrl-C before anybody listened
                    await client.end(broken_off=True)
                    raise
                await client.end(broken_off=False)
