"""What a server says about address, key and model before anything is spent; for `cfeval doctor`."""

import asyncio
from collections.abc import Sequence
from typing import Any

from cfeval.calls.bodies import same_model
from cfeval.calls.faults import Fault
from cfeval.calls.providers import endpoint
from cfeval.calls.transport import Endpoint, exchange, open_client
from cfeval.errors import CfevalError, nearest

SECONDS = 8.0
"""How long a server may take to answer."""


def get(where: Endpoint, path: str) -> Any | Fault:
    """The JSON that a server answers to a GET request, or what goes wrong."""

    async def do() -> Any | Fault:
        async with open_client() as client:
            return await exchange(client, where, "GET", f"{where.base_url}{path}", SECONDS)

    return asyncio.run(do())


def about_model(
    base_url: str, key_env: str, model: str, accepted: Sequence[str] = (), *, lists: bool = False
) -> tuple[bool, str]:
    """Whether a server of the OpenAI protocol is there, takes the key and lists the model; and that in one line.

    Where the server's kind is known to list its models (`lists`), one that has no list is not at this address.
    """
    try:
        said = get(endpoint(base_url, key_env), "/models")
    except CfevalError as error:
        return False, str(error)
    if isinstance(said, Fault):
        if said.kind in ("http_404", "http_405", "http_501"):
            if lists:
                return (
                    False,
                    f"{base_url} has no list of models ({said.reason}); correct base_url: it ends with the version",
                )
            return True, f"{base_url} answers, but does not list its models; {model} is not checked"
        return False, f"{base_url}: {said.reason}"
    names = [str(entry.get("id")) for entry in _entries(said) if isinstance(entry, dict)]
    if any(same_model(model, name, accepted) for name in names):
        return True, f"{base_url} answers and has {model}"
    if not names:
        return True, f"{base_url} answers, but lists no model; {model} is not checked"
    return False, f"{base_url} does not list the model {model}; {_some(nearest(model, names))}"


def _entries(said: Any) -> list[Any]:
    entries = said.get("data") if isinstance(said, dict) else said
    return entries if isinstance(entries, list) else []


def _some(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"
