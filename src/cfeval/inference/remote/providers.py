"""How a provider of the OpenAI chat protocol is reached, and what it says before a run.

Each rejects, or silently drops, what others need: Gemini's compatible path refuses `seed` with HTTP 400, newer OpenAI
models know `max_completion_tokens` only, OpenRouter drops what the chosen host does not support unless told not to.
"""

import asyncio
import ipaddress
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cfeval.core.errors import CfevalError, PluginError, nearest
from cfeval.core.registry import Diagnostic
from cfeval.inference.remote.faults import ADVICE, NO_ENDPOINT, NO_IMAGES, Fault, of_error
from cfeval.inference.remote.http import Endpoint, exchange, open_client, request
from cfeval.inference.remote.provider_table import same_model

T = TypeVar("T")
# Addresses that are tried where a server does not answer at its own.
_TRIED = 6
# How long a server may take to answer what is asked before a run.
SECONDS = 8.0


def joined(rules: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's fields and the user's own, which go first; an object that both name is joined, too."""
    both = {name: (rules[name], own[name]) for name in rules.keys() & own.keys()}
    objects = {name: {**a, **b} for name, (a, b) in both.items() if isinstance(a, dict) and isinstance(b, dict)}
    return {**rules, **own, **objects}


def endpoint(
    base_url: str,
    key_env: str,
    header: str = "Authorization",
    headers: Mapping[str, str] | None = None,
    api_version: str = "",
) -> Endpoint:
    """A provider's address and the key from the environment; no key where `key_env` is empty.

    Raises:
        PluginError: the variable is not set, or holds what no header can: the error that sending it makes shows it.
    """
    key = os.environ.get(key_env, "").strip() if key_env else ""
    if key_env and not key:
        raise PluginError(f"{base_url} needs a key: set the environment variable {key_env}")
    if not (key.isascii() and key.isprintable()):
        raise PluginError(f"{key_env} holds a line break or a character that no key has; set it to the key alone")
    return Endpoint(base_url, key_env, key, header, tuple((headers or {}).items()), api_version)


def only_further(extra: dict[str, T], own: Sequence[str]) -> dict[str, T]:
    """Further fields of a request.

    Raises:
        ValueError: some are ones that the plugin sets itself.
    """
    if taken := sorted(set(extra) & set(own)):
        raise ValueError(f"extra may not set {', '.join(taken)}")
    return extra


def checked_headers(headers: dict[str, str]) -> dict[str, str]:
    """Further headers of a request.

    Raises:
        ValueError: one carries a key, or is none.
    """
    for name, value in headers.items():
        if not re.fullmatch(r"[A-Za-z0-9-]+", name) or not (value.isascii() and value.isprintable()):
            raise ValueError(f"'{name}' is no header with a value in one line")
        if re.search("auth|cookie|key|token|secret", name, re.IGNORECASE):
            raise ValueError(f"'{name}' may carry a key; keys come by key_env")
    return headers


_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?", re.ASCII)
_NO_ADDRESS = "base_url must be an address such as http://localhost:8000/v1"
_SECRET = (
    "base_url must hold the address alone, no user, password, key or '?…': put the key into an environment variable "
    "(or .env) and that variable's name into key_env"
)


def checked_base_url(value: str) -> str:
    """A base URL without the last slash.

    Raises:
        ValueError: not an http(s) address, or one that may hold a secret; what was given is never repeated.
    """
    if not value:
        return value
    # Marks of a secret come first: a password with a slash or a space makes an address that reads as another one.
    if any(mark in value for mark in "@?#=\\") or "%" in value.partition("://")[2].partition("/")[0]:
        raise ValueError(_SECRET)
    try:
        parts = urlsplit(value)
        valid = parts.scheme in ("http", "https") and bool(_HOST.fullmatch(parts.netloc)) and bool(parts.hostname)
        _ = parts.port  # raises where it is over 65535
    except ValueError:
        raise ValueError(_NO_ADDRESS) from None
    if not valid or any(map(str.isspace, value)):
        raise ValueError(_NO_ADDRESS)
    return value.rstrip("/")


def get(where: Endpoint, path: str) -> Any | Fault:
    """The JSON that a server answers to a GET request, or what goes wrong."""

    async def do() -> Any | Fault:
        async with open_client() as client:
            return await exchange(where, SECONDS, request(client, where, "GET", f"{where.base_url}{path}"))

    return asyncio.run(do())


def about_model(
    base_url: str, key_env: str, model: str, accepted: Sequence[str] = (), *, lists: bool = False
) -> tuple[bool, str]:
    """Whether a server of the OpenAI protocol is there, takes the key and lists the model; and that in one line.

    Where the server's kind is known to list its models (`lists`), one that has no list is not at this address.
    """
    first = next(about_server(base_url, key_env, model, accepted, lists=lists))
    return first.fine, first.text


def about_server(
    base_url: str, key_env: str, model: str, accepted: Sequence[str] = (), *, lists: bool = False
) -> Iterator[Diagnostic]:
    """The same, and whether the server says that the model takes no images."""
    try:
        where = endpoint(base_url, key_env)
    except CfevalError as error:
        yield Diagnostic(False, str(error))
        return
    listing = _models_of(where)
    if isinstance(listing, Fault):
        yield _no_list(where, model, listing, lists)
        return
    entries = [entry for entry in _entries(listing) if isinstance(entry, dict)]
    match = next((entry for entry in entries if same_model(model, str(entry.get("id")), accepted)), None)
    yield Diagnostic(*_listed(base_url, model, [str(entry.get("id")) for entry in entries], match is not None))
    yield from _blind(model, match)


def is_served(base_url: str) -> bool:
    """Whether `cfeval serve` listens at an address."""
    listing = get(Endpoint(base_url), "/models")
    entries = [] if isinstance(listing, Fault) else _entries(listing)
    return any(isinstance(entry, dict) and entry.get("owned_by") == "cfeval" for entry in entries)


def _models_of(where: Endpoint) -> Any | Fault:
    """A server's list of its models, or what goes wrong; some answer a wrong path with an error and HTTP 200."""
    listing = get(where, "/models")
    return of_error(listing, where.key_env) if isinstance(listing, dict) and listing.get("error") else listing


def _no_list(where: Endpoint, model: str, fault: Fault, lists: bool) -> Diagnostic:
    base_url, absent = where.base_url, fault.kind in ("http_404", "http_405", "http_501")
    if absent or fault.kind in ("bad_body", "error", NO_ENDPOINT):
        for other in _other_addresses(base_url):
            if not isinstance(_models_of(replace(where, base_url=other)), Fault):
                return Diagnostic(False, f"{base_url} is not the model server's address; set base_url: {other}")
    if absent and lists:
        reason = f"{base_url} has no list of models ({fault.reason})"
        return Diagnostic(False, f"{reason}; correct base_url: it ends with the version, mostly /v1")
    if absent:
        return Diagnostic(True, f"{base_url} answers, but does not list its models; {model} is not checked")
    return Diagnostic(False, f"{base_url}: {fault.reason}")


def _other_addresses(base_url: str) -> list[str]:
    """Where a server may be instead: below the address with the usual version, or higher up, the nearest first."""
    parts = urlsplit(base_url)
    names = parts.path.strip("/").split("/") if parts.path.strip("/") else []
    above = ["/".join((f"{parts.scheme}://{parts.netloc}", *names[:depth])) for depth in range(len(names), -1, -1)]
    addresses = dict.fromkeys(other for place in above for other in (place, f"{place}/v1"))
    return [other for other in addresses if other != base_url][:_TRIED]


def _blind(model: str, entry: Mapping[str, Any] | None) -> Iterator[Diagnostic]:
    """A fault where a server's list says that a model takes texts alone, as llama.cpp's and OpenRouter's do."""
    architecture = (entry or {}).get("architecture")
    takes = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    if isinstance(takes, list) and takes and "image" not in takes:
        yield Diagnostic(
            False, f"{model} takes no images, only {', '.join(map(str, takes))}; {ADVICE[NO_IMAGES]}", of_images=True
        )


def _listed(base_url: str, model: str, names: Sequence[str], is_listed: bool) -> tuple[bool, str]:
    if is_listed:
        return True, f"{base_url} answers and has {model}"
    if not names:
        return True, f"{base_url} answers, but lists no model; {model} is not checked"
    return False, f"{base_url} does not list the model {model}; {_some(nearest(model, names))}"


# What OpenRouter says of each model whether it is taken; other fields of a request are OpenRouter's own.
OPENROUTER_PARAMETERS = frozenset(
    {
        *("temperature", "top_p", "top_k", "top_a", "min_p", "frequency_penalty", "presence_penalty", "seed", "stop"),
        *("repetition_penalty", "max_tokens", "max_completion_tokens", "logit_bias", "logprobs", "top_logprobs"),
        *("response_format", "structured_outputs", "tools", "tool_choice", "parallel_tool_calls", "verbosity"),
        *("reasoning", "reasoning_effort", "include_reasoning", "web_search_options"),
    }
)
# A model that takes one of these takes the others.
_ALIKE = ({"max_tokens", "max_completion_tokens"}, {"response_format", "structured_outputs"})
_REMEDIES = {"seed": "set seed: false", "response_format": "set json_schema: false"}


def about_openrouter(
    base_url: str, key_env: str, model: str, accepted: Sequence[str], sent: Collection[str]
) -> Iterator[Diagnostic]:
    """What OpenRouter says of the key, of the credit that is left, of a model and of the parameters `sent` to it.

    With `require_parameters` a parameter that no host of the model takes makes every call an HTTP 404.
    See https://openrouter.ai/docs/api/api-reference/api-keys/get-current-key.
    """
    try:
        where = endpoint(base_url, key_env)
    except CfevalError as error:
        yield Diagnostic(False, str(error))
        return
    credit = _credit(where)
    yield credit
    reply = get(where, "/models") if credit.fine else None
    if isinstance(reply, Fault):
        yield Diagnostic(False, f"{base_url}: {reply.reason}")
    elif reply is not None:
        entries = [entry for entry in _entries(reply) if isinstance(entry, dict)]
        names = [str(entry.get("id")) for entry in entries]
        alike = [name == model for name in names] if model in names else [same_model(model, n, accepted) for n in names]
        match = next((entry for entry, is_it in zip(entries, alike, strict=True) if is_it), None)
        yield Diagnostic(*_listed(base_url, model, names, match is not None))
        yield from _blind(model, match)
        for name in _not_taken((match or {}).get("supported_parameters"), sent):
            remedy = _REMEDIES.get(name, f"leave {name} out")
            of_form = name == "response_format"
            yield Diagnostic(False, f"{model} does not take {name}, and calls would be refused; {remedy}", of_form)


def _not_taken(takes: Any, sent: Collection[str]) -> list[str]:
    if not isinstance(takes, list):
        return []
    names = {str(name) for name in takes}
    names |= {name for alike in _ALIKE if alike & names for name in alike}
    return sorted(name for name in sent if name in OPENROUTER_PARAMETERS - names)


def _credit(where: Endpoint) -> Diagnostic:
    """Whether OpenRouter takes the key, and what credit is left: of the key's own limit, else of the account."""
    reply = get(where, "/key")
    if isinstance(reply, Fault):
        return Diagnostic(False, f"{where.base_url}: {reply.reason}")
    left = _number(reply, "limit_remaining")
    if left is None:  # a key without a limit; what the account has left is told to some keys only
        account = get(where, "/credits")
        total, used = (_number(account, name) for name in ("total_credits", "total_usage"))
        left = None if total is None or used is None else total - used
    if left is None:
        return Diagnostic(True, f"{where.base_url} takes the key; it does not say what credit is left")
    if left <= 0:
        return Diagnostic(
            False, f"{where.base_url} takes the key, but no credit is left; add credit or raise its limit"
        )
    return Diagnostic(True, f"{where.base_url} takes the key, {left:.2f} USD of credit are left")


def _number(reply: Any, name: str) -> float | None:
    data = reply.get("data") if isinstance(reply, dict) else None
    value = data.get(name) if isinstance(data, dict) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def key_variable(base_url: str, named: str, usual: str) -> str:
    """The variable with the key of a server: the one that is named, else the usual one of its provider.

    A server on this machine needs none, unless one is named.
    """
    return named or ("" if on_this_machine(base_url) else usual)


def on_this_machine(base_url: str) -> bool:
    """Whether an address is of the loopback interface."""
    host = urlsplit(base_url).hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def on_own_network(base_url: str) -> bool:
    """Whether an address is of this machine or of a private network: 192.168.…, `cellar`, `cellar.local`."""
    host = urlsplit(base_url).hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_private
    return bool(host) and (
        "." not in host or on_this_machine(base_url) or host.endswith((".local", ".lan", ".internal"))
    )


def _entries(reply: Any) -> list[Any]:
    entries = reply.get("data") if isinstance(reply, dict) else reply
    return entries if isinstance(entries, list) else []


def _some(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"
