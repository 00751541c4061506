"""Claude by Anthropic's own protocol, by the `anthropic` package (extra `anthropic`).

It takes no seed: draws that are to differ are told apart in the cache alone.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

from pydantic import model_validator

from cfeval.core.images import Image
from cfeval.core.registry import Diagnostic
from cfeval.inference.chat import ChatRequest, ToolCall
from cfeval.inference.models.hosted import HostedChat, HostedPlugin, Shown
from cfeval.inference.remote import sdks
from cfeval.inference.remote.anthropic_batches import AnthropicBatches
from cfeval.inference.remote.batch_api import BatchApi
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.openai_api import Completion, count, reply_of, tool_calls
from cfeval.inference.remote.provider_table import PROVIDERS
from cfeval.inference.remote.request import Response, Usage
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
    def batch_share(self) -> float:
        """What a call by a batch costs of the list price.

        See platform.claude.com/docs/en/build-with-claude/batch-processing.
        """
        return 0.5

    @property
    def address(self) -> str:
        """The base URL."""
        return self.base_url or PROVIDERS["anthropic"].base_url

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key."""
        return self.key_env or PROVIDERS["anthropic"].key_env

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
