"""Claude by Anthropic's own protocol, by the `anthropic` package (extra `anthropic`).

It takes no seed: draws that are to differ are told apart in the cache alone.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, ClassVar, Self

import httpx2
from pydantic import model_validator

from cfeval.core.images import Image
from cfeval.core.registry import Diagnostic
from cfeval.inference.chat import ChatRequest, ToolCall
from cfeval.inference.models.hosted import HostedChat, HostedPlugin, Shown
from cfeval.inference.remote import sdks
from cfeval.inference.remote.batch_account import (
    CANCELLED,
    EXPIRED,
    MISSING,
    SKEW,
    BatchAccount,
    entries,
    size_of,
    submitted,
    unix_time,
    whole,
)
from cfeval.inference.remote.batches import BatchApi, Progress
from cfeval.inference.remote.cache_db import Sought
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault, as_dict
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.openai_api import Completion, count, reply_of, tool_calls
from cfeval.inference.remote.provider_table import PROVIDERS, Provider
from cfeval.inference.remote.request import Response, Usage
from cfeval.inference.remote.sdks import anthropic
from cfeval.inference.thinking import SHORT, Effort, room_for_thoughts, thinks

# What was read, prompt caching included: docs.claude.com/en/api/messages, usage.
READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Plugin(HostedPlugin):
    """How to reach and ask the model."""

    OWN: ClassVar[tuple[str, ...]] = ("model", "messages", "stream", "output_config")
    EFFORTS: ClassVar[tuple[Effort, ...]] = ("low", "medium", "high", "xhigh", "max")

    takes_tools: ClassVar[bool] = True

    json_schema: bool = True
    """Whether the server is asked to enforce a schema."""

    @model_validator(mode="after")
    def _can_think(self) -> Self:
        if self.thinking_tokens and self.thinking_tokens < SHORT:
            raise ValueError(f"thinking_tokens must be 0 or at least {SHORT}, but got {self.thinking_tokens}")
        return self

    @property
    def room(self) -> int:
        """Tokens that are kept for thoughts; before version 5 Claude thinks only with thinking_tokens."""
        if thinks(self.model):
            return room_for_thoughts(self.model, self.effort, self.thinking_tokens)
        return self.thinking_tokens or 0

    def thinking(self) -> dict[str, Any]:
        """How a request says that Claude is to think: within a budget, or as much as it likes.

        Claude 5 thinks unless it is told not to, takes no budget, and some of it refuses to be told not to. See
        platform.claude.com/docs/en/build-with-claude/adaptive-thinking, …/extended-thinking and …/effort.
        """
        adaptive = thinks(self.model)
        if not self.thinking_tokens:
            return {"thinking": {"type": "disabled"}} if adaptive and self.thinking_tokens == 0 else {}
        budget = {"type": "enabled", "budget_tokens": self.thinking_tokens}
        return {"thinking": {"type": "adaptive"} if adaptive or self.effort else budget}

    @property
    def rules(self) -> Provider:
        """The provider's rules."""
        return PROVIDERS["anthropic"]

    def diagnose(self) -> Iterator[Diagnostic]:
        """Package and key."""
        yield Diagnostic(*sdks.ready("anthropic", self.endpoint))

    def build(self) -> "Anthropic":
        """The model; offline neither package nor key is needed."""
        return Anthropic(self)


class Anthropic(HostedChat):
    """A chat model behind Anthropic's `messages`."""

    api = "anthropic"

    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        options = self.options
        fields: dict[str, Any] = {"model": options.model, "max_tokens": options.limit(request)}
        fields |= {**options.sampling(), **options.thinking()}
        output: dict[str, Any] = {"effort": options.effort} if options.effort else {}
        if request.schema and options.json_schema:
            output["format"] = {"type": "json_schema", "schema": dict(request.schema)}
        if request.tools:
            fields["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
        return {**fields, **({"output_config": output} if output else {}), **options.extra}

    def _messages(self, turns: Sequence[Shown], encode: Callable[[Image], str]) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        for before, turn in zip((None, *turns), turns, strict=False):
            message = _message(turn, encode)
            if turn.role == "tool" and before and before.role == "tool":
                messages[-1]["content"] += message["content"]  # the results of one turn's calls are one message
            else:
                messages.append(message)
        return {"messages": messages}

    async def _ask(self, attempts: RetryLoop, where: Endpoint, body: dict[str, Any]) -> Any:
        return await sdks.anthropic_message(attempts, where, body)

    def _batches(self, attempts: RetryLoop, where: Endpoint) -> BatchApi:
        return AnthropicBatches(attempts, where)

    def _tool_calls(self, body: Any) -> tuple[ToolCall, ...]:
        return tuple(ToolCall(*call) for call in tool_calls({"choices": [_choice(body)]}))

    def _parts(self, body: Any) -> tuple[Any, ...]:
        return tuple(body["content"])

    def _read(self, body: Any, key_env: str, tools: bool = False) -> Response | Fault:
        content = body if isinstance(body, dict) else {}
        used = content["usage"] if isinstance(content.get("usage"), dict) else {}
        usage = Usage(sum(count(used.get(name)) for name in READ), count(used.get("output_tokens")))
        options = self.options
        answer = Completion(content, options.model, options.accept_models, usage, str(content.get("model") or ""))
        return reply_of(answer, _choice(content), key_env, False, options.accept_finish_reasons, tools)


def _choice(content: dict[str, Any]) -> dict[str, Any]:
    """A message as the choice of a chat completion: docs.claude.com/en/api/messages, `content` and `stop_reason`."""
    parts = content.get("content")
    if not isinstance(parts, list):
        return {"finish_reason": content.get("stop_reason"), "message": None}
    calls = [part for part in parts if _is(part, "tool_use")]
    wanted = [
        {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": json.dumps(call.get("input"))}}
        for call in calls
    ]
    message = {"content": [part for part in parts if _is(part, "text")], "tool_calls": wanted}
    return {"finish_reason": content.get("stop_reason"), "message": message}


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, dict) and part.get("type") == kind


def _message(turn: Shown, encode: Callable[[Image], str]) -> dict[str, Any]:
    if turn.role == "tool":
        result = {"type": "tool_result", "tool_use_id": turn.answers, "content": turn.text}
        return {"role": "user", "content": [result]}
    if turn.parts:
        return {"role": "assistant", "content": list(turn.parts)}
    if not turn.images:
        return {"role": turn.role, "content": turn.text}
    sources = [{"type": "base64", "media_type": "image/png", "data": encode(image)} for image in turn.images]
    shown = [{"type": "image", "source": source} for source in sources]
    return {"role": turn.role, "content": [*shown, {"type": "text", "text": turn.text}]}


# The HTTP status of each type of error: platform.claude.com/docs/en/api/errors.
STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
# Characters of a key, 32 bytes, in base64 without its padding; a `custom_id` has 64, letters, digits, - and _.
_KEY = 43
_PAGE = 100


class AnthropicBatches(BatchAccount):
    """The batches of a workspace at Anthropic, for one model.

    All requests go in one body, and their results are read from one file: see
    platform.claude.com/docs/en/build-with-claude/batch-processing. A batch has neither name nor metadata, and does not
    show its requests, but its results tell the `custom_id` of each. So this has our own id beside the key of the call,
    and a batch is found again, once it has ended, among those of as many requests that were made since. Results can be
    read for 29 days.
    """

    def __init__(self, attempts: RetryLoop, where: Endpoint) -> None:
        super().__init__(attempts, where, "/v1/messages")
        self._sdk, self._pause = anthropic(attempts.client, where), attempts.caller.batches.pause

    def line(self, name: str, key: str, body: Mapping[str, Any]) -> bytes:
        """A request as it is in the body of a batch."""
        return json.dumps({"custom_id": custom_id(name, key), "params": body}).encode() + b"\n"

    async def submit(self, _: str, content: IO[bytes]) -> str | Fault:
        """Make the batch."""
        size = size_of(content)
        requests = [json.loads(line) for line in content]
        return submitted(await self._exchange(lambda: self._sdk.messages.batches.create(requests=requests), size), "id")

    async def find(self, sought: Sought) -> str | Fault | None:
        """The batch, by the ids in its results: waits until it ends, or every other that may be it has."""
        others = set(sought.others)
        while True:
            listed = await self._listed(sought)
            if isinstance(listed, Fault):
                return listed
            left = {str(batch.get("id")): batch for batch in listed if batch.get("id") not in others}
            for remote, batch in left.items():
                if batch.get("processing_status") == "ended":
                    mark = await self._mark(remote)
                    if isinstance(mark, Fault):
                        return mark
                    if mark == _mark(sought.name):
                        return remote
                    others.add(remote)
            if others.issuperset(left):
                return None
            await self._pause()

    async def _listed(self, sought: Sought) -> list[dict[str, Any]] | Fault:
        """The batches of as many requests that were made since; Anthropic lists the newest first."""
        matches: list[dict[str, Any]] = []
        after: dict[str, str] = {}
        while True:
            reply = await self._exchange(lambda: _first(self._sdk.messages.batches.list(limit=_PAGE, **after)))  # noqa: B023
            page = entries(reply, "data")
            if isinstance(page, Fault):
                return page
            recent = [batch for batch in page if unix_time(batch.get("created_at")) > sought.since - SKEW]
            matches += [batch for batch in recent if sum(_counts(batch).values()) == sought.calls]
            if not reply.get("has_more") or not recent:
                return matches
            after = {"after_id": str(page[-1].get("id"))}

    async def _mark(self, remote: str) -> str | Fault:
        """What our id left in the results of a batch; nothing where they cannot be read any more."""
        lines = await self._results(remote)
        if isinstance(lines, Fault):
            return "" if lines.kind == "http_404" else lines
        return str(lines[0].get("custom_id"))[_KEY:] if lines else ""

    async def _results(self, remote: str) -> list[dict[str, Any]] | Fault:
        """The results, at the address that they have at the one asked: the key goes nowhere else."""
        path = f"/v1/messages/batches/{remote}/results"
        return await self._lines(lambda: self._sdk.get(path, cast_to=httpx2.Response))

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is; requests count as done when all are."""
        reply = await self._exchange(lambda: self._sdk.messages.batches.retrieve(remote))
        if isinstance(reply, Fault):
            return reply
        state, counts = str(as_dict(reply).get("processing_status")), _counts(as_dict(reply))
        total = sum(counts.values())
        return Progress(state, state == "ended", total - counts.get("processing", 0), total, False, {"id": remote})

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What the results say, whose lines come in any order."""
        lines = await self._results(str(progress.raw["id"]))
        if isinstance(lines, Fault):
            return lines
        return {key_of(str(line.get("custom_id"))): _outcome(as_dict(line.get("result"))) for line in lines}

    def missing(self, _: Progress) -> dict[str, Any]:
        """What came of a call that the results lack."""
        return {"error": {"code": MISSING}}


def custom_id(name: str, key: str) -> str:
    """The key of a call and as much of our id of its batch as there is room for."""
    return base64.urlsafe_b64encode(bytes.fromhex(key)).decode()[:_KEY] + _mark(name)


def key_of(custom: str) -> str:
    """The key in a `custom_id`; another's is no key, and nothing waits for it."""
    try:
        return base64.b64decode(custom[:_KEY] + "=", altchars=b"-_", validate=True).hex()
    except ValueError:
        return ""


def _mark(name: str) -> str:
    return name[: 64 - _KEY]


def _outcome(result: Mapping[str, Any]) -> dict[str, Any]:
    kind = result.get("type")
    if kind == "succeeded":
        return {"status": 200, "body": result.get("message")}
    if kind == "errored":
        error = as_dict(as_dict(result.get("error")).get("error"))
        return {"status": STATUS.get(str(error.get("type")), 500), "body": {"error": error}}
    return {"error": {"code": {"canceled": CANCELLED, "expired": EXPIRED}.get(str(kind), MISSING)}}


def _counts(batch: Mapping[str, Any]) -> dict[str, int]:
    return {state: whole(number) for state, number in as_dict(batch.get("request_counts")).items()}


async def _first(pages: Any) -> None:
    """Ask for a page of a list."""
    await pages
