"""The models of a new study: what the command line calls them, and who writes, edits, checks and judges by default."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from cfeval.core.errors import InputError, nearest
from cfeval.inference.remote.providers import PROVIDERS, ProviderName

Spec = dict[str, Any]
MAX_PIXELS = 1_000_000
"""Photographs of a phone are shrunk to so many pixels: no provider takes more than some megabytes a request."""


@dataclass(frozen=True)
class Model:
    """A model at a provider, as `PROVIDER/MODEL` or `PROVIDER/MODEL@URL` names it."""

    provider: str
    model: str
    base_url: str = ""

    @property
    def name(self) -> str:
        """What tables call it: the last part of its name, of characters that a name may have."""
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", self.model.rpartition("/")[2]).lstrip("_.-")[:50] or "model"

    @property
    def key_env(self) -> str:
        """The environment variable that holds the key; empty where none is needed."""
        return "BFL_API_KEY" if self.provider == "bfl" else PROVIDERS[self.provider].key_env  # type: ignore[index]

    def chat(self, **more: Any) -> Spec:
        """What params.yaml says of it as a chat model."""
        where = {"base_url": self.base_url} if self.base_url else {}
        return {"plugin": "openai", "provider": self.provider, "model": self.model, **where, **more}

    def editor(self) -> Spec:
        """What params.yaml says of it as an editor of images."""
        if self.provider == "bfl":
            return {"plugin": "bfl", "model": self.model}
        plugin = "openrouter_image" if self.provider == "openrouter" else "openai_image"
        where = {"base_url": self.base_url, "key_env": self.key_env} if self.base_url else {}
        return {"plugin": plugin, "model": self.model, **where, "max_pixels": MAX_PIXELS}


@dataclass(frozen=True)
class Roles:
    """Who does what beside the models under test."""

    writer: Model
    editor: Model
    gate: Model
    verifier: Model
    judge: Model


DEFAULTS: dict[str, dict[str, str]] = {
    "openrouter": {
        "writer": "openrouter/qwen/qwen3-vl-235b-a22b-instruct",
        "editor": "openrouter/google/gemini-2.5-flash-image",
        "gate": "openrouter/google/gemini-2.5-flash",
        "verifier": "openrouter/qwen/qwen3-vl-235b-a22b-instruct",
        "judge": "openrouter/google/gemini-2.5-pro",
    },
    "openai": {
        "writer": "openai/gpt-4o",
        "editor": "openai/gpt-image-1",
        "gate": "openai/gpt-4o",
        "verifier": "openai/gpt-5.2",
        "judge": "openai/gpt-5.2",
    },
}
"""By the provider of the models under test; others take those of OpenRouter. The verifier is not the gate's model."""


def model(text: str, provider: str = "", base_url: str = "", editor: bool = False) -> Model:
    """The model that a text names; `provider` and `base_url` hold where it names none.

    Raises:
        InputError: no provider, an unknown one, or one whose address must be given.
    """
    known = (*get_args(ProviderName), *(["bfl"] if editor else []))
    named, _, url = text.partition("@http")
    first, _, rest = named.partition("/")
    if first in known and rest and provider in ("", first):
        provider, named = first, rest
    if provider not in known:
        what = f"--provider {provider}" if provider else f"{text}: whose model is it? Write PROVIDER/MODEL"
        raise InputError(f"{what}; {nearest(provider or first, known)}")
    found = Model(provider, named, f"http{url}" if url else base_url)
    if not (found.base_url or provider == "bfl" or PROVIDERS[provider].base_url):  # type: ignore[index]
        raise InputError(f"{text}: {provider} has no address of its own; give --base-url, or write {text}@http://…/v1")
    return found


def roles(targets: Sequence[Model], given: Mapping[str, str]) -> Roles:
    """Who writes, edits, gates, verifies and judges: whom the user named, else the defaults of the targets' provider.

    A user's writer is the gate too, and a user's judge the verifier, so that whoever names both needs no other model
    but the editor. A model of the targets' provider is asked where the targets are, so that a gateway serves all.
    """
    first = targets[0]
    named = {role: text for role, text in given.items() if text}
    named |= {
        role: named[by] for role, by in (("gate", "writer"), ("verifier", "judge")) if by in named and role not in named
    }
    wanted = {**DEFAULTS.get(first.provider, DEFAULTS["openrouter"]), **named}
    found: dict[str, Model] = {}
    for role, text in wanted.items():
        shared = text.partition("/")[0] == first.provider and "@http" not in text
        found[role] = model(text, base_url=first.base_url if shared else "", editor=role == "editor")
    return Roles(**found)
