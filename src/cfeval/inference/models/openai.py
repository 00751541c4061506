"""Any server of the OpenAI chat protocol: OpenAI, OpenRouter, Gemini, vLLM, llama.cpp, `transformers serve`.

A picture goes along as a PNG in a `data:` URL, shrunk under `max_pixels` where that is set; the stored request names
the picture that was sent by its hash, and where it was shrunk says from what.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from cfeval.core import plugin
from cfeval.core.images import Picture
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Diagnostic, Resources
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.inference.remote.client import RetryLoop, shared_client
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import Endpoint, exchange
from cfeval.inference.remote.images import data_url, under
from cfeval.inference.remote.openai_api import chat_reply
from cfeval.inference.remote.providers import (
    PROVIDERS,
    Provider,
    ProviderName,
    about_model,
    checked_base_url,
    endpoint,
    joined,
    only_further,
)
from cfeval.inference.remote.request import Request, Response, Usage

OWN = ("model", "messages", "stream", "n", "response_format")
"""Parameters that no option may set."""
TOKENS_PER_IMAGE = 1500
"""What an image is taken to cost at most, where a budget has to set something aside."""


class Plugin(plugin.Plugin):
    """How to reach and ask the model."""

    model: str = Field(min_length=1)
    """Its name, as the provider knows it."""
    provider: ProviderName = "other"
    """Whose rules hold for parameters; also gives base_url and key_env where the provider has one address."""
    base_url: Annotated[str, AfterValidator(checked_base_url)] = ""
    """Address up to and including the version, such as http://localhost:8000/v1; empty: the provider's."""
    key_env: str = Field("", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    """Environment variable that holds the key; empty: the provider's."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Of sampling; none: the model's own default."""
    top_p: float | None = Field(None, gt=0, le=1)
    """Nucleus sampling; none: the model's own default."""
    max_tokens: int = Field(2048, ge=1)
    """Of one reply (EDCT 2025, Appendix B: 2048)."""
    max_pixels: int | None = Field(None, ge=1)
    """Larger pictures are shrunk to so many pixels; none: sent as they are."""
    seed: bool | None = None
    """Whether a seed is sent; none: where the provider takes one."""
    json_schema: bool | None = None
    """Whether the server is asked to enforce a schema; none: where the provider does."""
    accept_models: tuple[str, ...] = ()
    """Further names under which the model may be served; any other is the status wrong_model."""
    accept_finish_reasons: tuple[str, ...] = ()
    """Further finish reasons of a whole answer; any other unknown one is the status unparsable."""
    extra: Annotated[dict[str, Any], AfterValidator(partial(only_further, own=OWN))] = {}
    """Further fields of the request, such as {reasoning: {effort: low}}; joined with those of the provider's rules."""

    @model_validator(mode="after")
    def _reachable(self) -> "Plugin":
        if not self.base_url and not PROVIDERS[self.provider].base_url:
            raise ValueError(f"provider '{self.provider}' needs base_url, such as http://localhost:8000/v1")
        return self

    @property
    def rules(self) -> Provider:
        """The provider's rules."""
        return PROVIDERS[self.provider]

    @property
    def address(self) -> str:
        """The base URL."""
        return self.base_url or self.rules.base_url

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key; empty where none is needed."""
        return self.key_env or self.rules.key_env

    def resources(self) -> Resources:
        """A slot among the jobs that call a provider."""
        return Resources(api=True)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Key, address and model, asked of the server itself."""
        address, key, rules = self.address, self.key_variable, self.rules
        yield Diagnostic(*about_model(address, key, self.model, self.accept_models, lists=rules.lists))

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """One a request."""
        return (CallEstimate(self.model, image_tokens=TOKENS_PER_IMAGE, max_tokens=self.max_tokens),)

    def build(self) -> "OpenAIChat":
        """The model behind the server; offline no key is needed."""
        return OpenAIChat(self)


class OpenAIChat:
    """A chat model behind an OpenAI-compatible server."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Answer a request."""
        client = await shared_client()
        shrink = partial(_shrunk, request.turns, self.options.max_pixels)
        turns = await asyncio.to_thread(shrink) if self.options.max_pixels else shrink()
        client.meter.shrunk += sum(turn.original is not None for turn in turns)
        call = self._call(request, turns)

        async def send(attempts: RetryLoop) -> Response | Fault:
            where = endpoint(self.options.address, self.options.key_variable)
            messages = [_message(turn, data_url(turn.picture) if turn.picture else "") for turn in turns]
            body = self._fields(request) | {"messages": messages}
            return await attempts.paid(lambda: self._once(attempts, where, body), lambda reply: reply.usage)

        reply = self._accepted(await client.answer(call, send))
        return ChatReply(reply.text, reply.model, reply.status, reply.reason, (call.key,))

    def _accepted(self, reply: Response) -> Response:
        """A stored answer that the options or the table of finish reasons have come to accept: not paid for again."""
        if reply.status not in (Status.WRONG_MODEL, Status.UNPARSABLE):
            return reply
        again = self._read(reply.raw, self.options.key_variable)
        return again if isinstance(again, Response) else reply

    def _read(self, body: Any, key_env: str) -> Response | Fault:
        options = self.options
        return chat_reply(
            body, options.model, options.accept_models, key_env, finish_reasons=options.accept_finish_reasons
        )

    def _call(self, request: ChatRequest, turns: Sequence["Shown"]) -> Request:
        """What identifies a request: all that is sent, pictures by their hashes."""
        messages = [_message(turn, f"sha256:{turn.picture.sha256}" if turn.picture else "") for turn in turns]
        named = self._fields(request) | {"messages": messages}
        shown = [{"now": t.picture.sha256, "was": t.original.sha256} for t in turns if t.picture and t.original]
        if shown:
            named["shrunk"] = shown
        expected = Usage(_tokens(turns), request.max_tokens or self.options.max_tokens)
        return Request("chat", self.options.address, self.options.model, named, request.seed, request.item, expected)

    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        options, rules = self.options, self.options.rules
        fields: dict[str, Any] = {"model": options.model, rules.limit: request.max_tokens or options.max_tokens}
        fields |= {name: value for name in ("temperature", "top_p") if (value := getattr(options, name)) is not None}
        if rules.seed if options.seed is None else options.seed:
            fields["seed"] = request.seed
        if request.schema and (rules.schema if options.json_schema is None else options.json_schema):
            named = {"name": "reply", "strict": True, "schema": dict(request.schema)}
            fields["response_format"] = {"type": "json_schema", "json_schema": named}
        return {**fields, **joined(rules.body, options.extra)}

    async def _once(self, attempts: RetryLoop, where: Endpoint, body: dict[str, Any]) -> Response | Fault:
        """One attempt: only this sends, and only this and `remote.openai_api` know how the protocol travels."""
        url = f"{where.base_url}/chat/completions"
        content = await exchange(attempts.client, where, "POST", url, attempts.seconds(), json=body)
        if isinstance(content, Fault):
            return content
        return self._read(content, where.key_env)


@dataclass(frozen=True)
class Shown:
    """A turn as it is shown to the model; `original` is the picture before it was shrunk, None where it was not."""

    role: str
    text: str
    picture: Picture | None
    original: Picture | None


def _shrunk(turns: Sequence[ChatMessage], max_pixels: int | None) -> list[Shown]:
    return [_shown(turn, turn.picture and under(turn.picture, max_pixels)) for turn in turns]


def _shown(turn: ChatMessage, picture: Picture | None) -> Shown:
    return Shown(turn.role, turn.text, picture, None if picture is turn.picture else turn.picture)


def _message(turn: Shown, image: str) -> dict[str, Any]:
    if turn.picture is None:
        return {"role": turn.role, "content": turn.text}
    picture = {"type": "image_url", "image_url": {"url": image}}
    return {"role": turn.role, "content": [picture, {"type": "text", "text": turn.text}]}


def _tokens(turns: Sequence[Shown]) -> int:
    """About how many tokens a conversation has, rather too many."""
    return sum(len(turn.text) // 3 + (TOKENS_PER_IMAGE if turn.picture else 0) for turn in turns)
