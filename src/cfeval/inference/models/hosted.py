"""What the chat models behind a provider share: their options, the request that is stored, the images that are sent.

An image goes along as a PNG, shrunk under `max_pixels` where that is set; the stored request names the image that
was sent by its hash, and where it was shrunk says from what. A protocol adds how it words requests and reads answers.
"""

import asyncio
import base64
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from cfeval.core import plugin
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Diagnostic, Resources
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest, ToolCall
from cfeval.inference.remote.batches import BatchApi
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.images import under
from cfeval.inference.remote.openai_api import tool_calls
from cfeval.inference.remote.provider_table import Provider
from cfeval.inference.remote.providers import checked_base_url, checked_headers, endpoint, only_further
from cfeval.inference.remote.request import Request, Response, Usage
from cfeval.inference.remote.sessions import shared_client
from cfeval.inference.thinking import Effort, cut_off, room_for_thoughts

# What an image is taken to cost at most, where a budget has to set something aside.
TOKENS_PER_IMAGE = 1500


class HostedPlugin(plugin.Plugin):
    """How to reach and ask a model behind a provider."""

    OWN: ClassVar[tuple[str, ...]] = ()
    """Fields of the request that no option may set."""
    EFFORTS: ClassVar[tuple[Effort, ...]] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    """How much a model of this protocol can be asked to think."""

    model: str = Field(min_length=1)
    """Its name, as the provider knows it."""
    base_url: Annotated[str, AfterValidator(checked_base_url)] = ""
    """Address up to and including the version, such as http://localhost:8000/v1; empty: the provider's."""
    key_env: str = Field("", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    """Environment variable that holds the key; empty: the provider's."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Of sampling; none: the model's own default."""
    top_p: float | None = Field(None, gt=0, le=1)
    """Nucleus sampling; none: the model's own default."""
    max_tokens: int = Field(2048, ge=1)
    """Of one reply without its thoughts (EDCT 2025, Appendix B: 2048)."""
    effort: Effort | None = None
    """How much the model is to think, in the provider's own words; none: as it likes."""
    thinking_tokens: int | None = Field(None, ge=0)
    """Tokens for its thoughts, beside max_tokens; without `effort` also sent as its budget, where the provider takes
    one. None: 16384 where the model is known to think, else 0."""
    max_pixels: int | None = Field(None, ge=1)
    """Larger images are shrunk to so many pixels; none: sent as they are."""
    batch: bool = False
    """Whether calls go by the provider's batches, at half the price and within a day (`remote.batches`). All that a
    stage can ask goes together, whatever `calls.max_connections`; each second turn goes in the next batch. A killed run
    finds its batches again. `calls.batches: false` asks at once for this run."""
    accept_models: tuple[str, ...] = ()
    """Further names under which the model may be served; any other is the status wrong_model."""
    accept_finish_reasons: tuple[str, ...] = ()
    """Further finish reasons of a whole answer; any other unknown one is the status unparsable."""
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = {}
    """Further headers of the request, such as {anthropic-beta: context-1m-2025-08-07}; no keys."""
    extra: dict[str, Any] = {}
    """Further fields of the request, such as {reasoning: {effort: low}}; joined with those of the provider's rules."""

    @field_validator("extra")
    @classmethod
    def _no_own(cls, extra: dict[str, Any]) -> dict[str, Any]:
        return only_further(extra, cls.OWN)

    @field_validator("effort")
    @classmethod
    def _effort_is_known(cls, effort: Effort | None) -> Effort | None:
        if effort is not None and effort not in cls.EFFORTS:
            raise ValueError(f"must be one of {', '.join(cls.EFFORTS)}")
        return effort

    @model_validator(mode="after")
    def _has_batches(self) -> Self:
        if self.batch and self.batch_share is None:
            raise ValueError("batch: there are no batches of this provider here; leave it out")
        return self

    @property
    @abstractmethod
    def rules(self) -> Provider:
        """The provider's rules."""

    @property
    def batch_share(self) -> float | None:
        """How much of the list price a call by a batch costs; None where the provider has none."""
        return self.rules.batch_share

    @property
    def address(self) -> str:
        """The base URL."""
        return self.base_url or self.rules.base_url

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key; empty where none is needed."""
        return self.key_env or self.rules.key_env

    def sends_to(self) -> str:
        """The base URL."""
        return self.address

    def endpoint(self) -> Endpoint:
        """Where calls go, with the key.

        Raises:
            PluginError: see `remote.providers.endpoint`.
        """
        return endpoint(self.address, self.key_variable, headers=self.headers)

    def resources(self) -> Resources:
        """A slot among the jobs that call a provider."""
        return Resources(api=True)

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """One a request."""
        share = (self.batch and self.batch_share) or 1.0
        estimate = CallEstimate(self.model, image_tokens=TOKENS_PER_IMAGE, max_tokens=self.max_tokens, share=share)
        return (replace(estimate, thinking_tokens=self.room),)

    @property
    def room(self) -> int:
        """Tokens that are kept for thoughts."""
        return room_for_thoughts(self.model, self.effort, self.thinking_tokens)

    def limit(self, request: ChatRequest) -> int:
        """The limit on tokens that is sent: of the reply, and room for thoughts."""
        return (request.max_tokens or self.max_tokens) + self.room

    def about_thoughts(self) -> Iterator[Diagnostic]:
        """A warning where the limit will cut off what the model thinks."""
        if warning := cut_off(self.model, self.effort, self.room):
            yield Diagnostic(True, warning, warns=True)

    @property
    def samples(self) -> bool:
        """Whether it may reply otherwise to another seed."""
        return self.temperature != 0

    def sampling(self) -> dict[str, float]:
        """`temperature` and `top_p`, where they are set."""
        return {name: value for name in ("temperature", "top_p") if (value := getattr(self, name)) is not None}


class HostedChat:
    """A chat model behind a provider; a protocol's class says how requests are worded, sent and answered."""

    api: str
    """The protocol's name, part of what identifies a call."""

    def __init__(self, options: Any) -> None:
        self.options = options

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Answer a request."""
        client, options = await shared_client(), self.options
        shrink = partial(shrunk, request.turns, options.max_pixels)
        turns = await asyncio.to_thread(shrink) if options.max_pixels else shrink()
        client.meter.shrunk += sum(len(turn.shrunk) for turn in turns)
        call = self._call(request, turns)
        if options.batch and client.settings.batches:
            call = replace(call, batched=True, share=options.batch_share)

        def body() -> dict[str, Any]:
            return self._fields(request) | self._messages(turns, self._encoded)

        read = partial(self._read, tools=True) if request.tools else self._read

        async def send(attempts: RetryLoop) -> Response | Fault:
            where = options.endpoint()
            if call.batched:
                return await attempts.batched(
                    self._batches(attempts, where), body, lambda content: read(content, where.key_env)
                )
            sent = body()

            async def once() -> Response | Fault:
                content = await self._ask(attempts, where, sent)
                return content if isinstance(content, Fault) else read(content, where.key_env)

            return await attempts.paid(once, lambda reply: reply.usage)

        reply = await client.answer(call, send)
        if reply.status in (Status.WRONG_MODEL, Status.UNPARSABLE):
            # A stored answer that the options or the table of finish reasons have come to accept: not paid for again.
            again = read(reply.raw, options.key_variable)
            reply = again if isinstance(again, Response) else reply
        chat_reply = ChatReply(reply.text, reply.model, reply.status, reply.reason, (call.key,))
        if request.tools and reply.status == Status.OK and (wanted := self._tool_calls(reply.raw)):
            chat_reply = replace(chat_reply, tool_calls=wanted, parts=self._parts(reply.raw))
        return self._chat_reply(reply, chat_reply)

    def _chat_reply(self, reply: Response, chat_reply: ChatReply) -> ChatReply:
        """The reply with all that the protocol's answer tells."""
        del reply
        return chat_reply

    def _tool_calls(self, body: Any) -> tuple[ToolCall, ...]:
        """The tools that an answer wants called."""
        return tuple(ToolCall(*call) for call in tool_calls(body))

    def _parts(self, body: Any) -> tuple[Any, ...]:
        """What of an answer that calls tools goes back with their results as it came; none: what was read of it."""
        del body
        return ()

    def _call(self, request: ChatRequest, turns: Sequence["Shown"]) -> Request:
        """What identifies a request: all that is sent, images by their hashes."""
        named = self._fields(request) | self._messages(turns, lambda image: f"sha256:{image.sha256}")
        if self.options.headers:
            named["headers"] = self.options.headers
        was = [{"now": now.sha256, "was": before.sha256} for t in turns for now, before in t.shrunk]
        if was:
            named["shrunk"] = was
        of_images = TOKENS_PER_IMAGE * sum(len(turn.images) for turn in turns)
        # Rather too many: what is reserved of the budget must not be less than what is paid.
        input_tokens = sum(len(turn.text) // 3 + TOKENS_PER_IMAGE * len(turn.images) for turn in turns)
        expected_usage = Usage(input_tokens, self.options.limit(request), image_tokens=of_images)
        return Request(
            self.api, self.options.address, self.options.model, named, request.seed, request.item, expected_usage
        )

    def _encoded(self, image: Image) -> str:
        """An image as the protocol carries it: base64 of its PNG."""
        return base64.b64encode(image.png).decode()

    @abstractmethod
    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        """All of a request but the conversation."""

    @abstractmethod
    def _messages(self, turns: Sequence["Shown"], encode: Callable[[Image], str]) -> dict[str, Any]:
        """The conversation, images as `encode` makes them."""

    @abstractmethod
    async def _ask(self, attempts: RetryLoop, where: Endpoint, body: dict[str, Any]) -> Any:
        """Send a request; the answer's JSON, or a Fault."""

    @abstractmethod
    def _batches(self, attempts: RetryLoop, where: Endpoint) -> BatchApi:
        """The provider's batches."""

    @abstractmethod
    def _read(self, body: Any, key_env: str, tools: bool = False) -> Response | Fault:
        """What an answer's JSON says; one may be nothing but calls of `tools`, where the model was given any."""


@dataclass(frozen=True)
class Shown:
    """A turn as it is shown to the model; `shrunk` are those of its images that were, each with what it was before.

    `tool_calls`, `answers` and `parts` are those of the turn.
    """

    role: str
    text: str
    images: tuple[Image, ...]
    shrunk: tuple[tuple[Image, Image], ...]
    tool_calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    parts: tuple[Any, ...] = ()


def shrunk(turns: Sequence[ChatMessage], max_pixels: int | None) -> list[Shown]:
    """The turns with their images under a limit; none: as they are."""
    shown: list[Shown] = []
    for turn in turns:
        images = tuple(under(image, max_pixels) for image in turn.images)
        pairs = tuple((now, was) for now, was in zip(images, turn.images, strict=True) if now is not was)
        shown.append(Shown(turn.role, turn.text, images, pairs, turn.tool_calls, turn.answers, turn.parts))
    return shown
