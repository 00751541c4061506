"""Which parameters a provider of the OpenAI chat protocol takes, and where it is.

Each rejects, or silently drops, what others need: Gemini's compatible path refuses `seed` with HTTP 400, newer OpenAI
models know `max_completion_tokens` only, OpenRouter drops what the chosen host does not support unless told not to.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from cfeval.calls.transport import Endpoint
from cfeval.errors import BackendError

T = TypeVar("T")
ProviderName = Literal["openai", "openrouter", "gemini", "vllm", "llama_cpp", "transformers", "other"]


@dataclass(frozen=True)
class Provider:
    """A provider's rules.

    `seed`: takes a seed. `schema`: enforces a JSON schema. `lists`: lists its models. `limit`: the name of its limit on
    tokens. `body`: what every request holds beside. An empty `base_url` is for the user to give; an empty `key_env`
    means that no key is needed.
    """

    base_url: str = ""
    key_env: str = ""
    seed: bool = True
    schema: bool = True
    lists: bool = True
    limit: str = "max_tokens"
    body: Mapping[str, Any] = field(default_factory=dict)


PROVIDERS: dict[ProviderName, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", limit="max_completion_tokens"),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        body={"provider": {"require_parameters": True, "allow_fallbacks": False}},
    ),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", seed=False),
    "vllm": Provider(),
    "llama_cpp": Provider(),
    "transformers": Provider(schema=False),
    "other": Provider(seed=False, schema=False, lists=False),
}


def joined(rules: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's fields and the user's own, which go first; an object that both name is joined, too."""
    both = {name: (rules[name], own[name]) for name in rules.keys() & own.keys()}
    objects = {name: {**a, **b} for name, (a, b) in both.items() if isinstance(a, dict) and isinstance(b, dict)}
    return {**rules, **own, **objects}


def endpoint(base_url: str, key_env: str, header: str = "Authorization") -> Endpoint:
    """A provider's address and the key from the environment; no key where `key_env` is empty.

    Raises:
        BackendError: the variable is not set, or holds what no header can: the error that sending it makes shows it.
    """
    key = os.environ.get(key_env, "").strip() if key_env else ""
    if key_env and not key:
        raise BackendError(f"{base_url} needs a key: set the environment variable {key_env}")
    if not (key.isascii() and key.isprintable()):
        raise BackendError(f"{key_env} holds a line break or a character that no key has; set it to the key alone")
    value = f"Bearer {key}" if header == "Authorization" else key
    return Endpoint(base_url, key_env, key, {header: value} if key else {})


def only_further(extra: dict[str, T], own: Sequence[str]) -> dict[str, T]:
    """Further fields of a request.

    Raises:
        ValueError: some are ones that the backend sets itself.
    """
    if taken := sorted(set(extra) & set(own)):
        raise ValueError(f"extra may not set {', '.join(taken)}")
    return extra


def checked_base_url(value: str) -> str:
    """A base URL without the last slash.

    Raises:
        ValueError: not an http(s) address, or one that holds a secret.
    """
    wrong = "base_url must be an address such as http://localhost:8000/v1"
    try:
        parts = urlsplit(value)
        _ = parts.port  # read so that one over 65535 is told here
    except ValueError as error:
        raise ValueError(f"{wrong} ({error})") from None
    if value and (parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, value))):
        raise ValueError(wrong)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("base_url must hold no user, password, query or fragment; keys come by key_env")
    return value.rstrip("/")
