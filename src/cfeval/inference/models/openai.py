"""Any server of the OpenAI protocol: OpenAI, OpenRouter, Gemini, Groq, Ollama, LM Studio, vLLM, llama.cpp and others.

Chat completions, or OpenAI's Responses (`api: responses`), by the `openai` package.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from cfeval.core.images import Image
from cfeval.core.registry import Diagnostic
from cfeval.inference.chat import MOST, ChatReply, ChatRequest, ToolCall, scored
from cfeval.inference.models.hosted import HostedChat, HostedPlugin, Shown
from cfeval.inference.remote import sdks
from cfeval.inference.remote.batch_account import BatchPath, OpenAIBatches
from cfeval.inference.remote.batches import BatchApi
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.images import data_url
from cfeval.inference.remote.openai_api import chat_reply, responses_choice, responses_reply, token_steps, tool_calls
from cfeval.inference.remote.provider_table import PROVIDERS, Provider, ProviderName
from cfeval.inference.remote.providers import (
    about_openrouter,
    about_server,
    endpoint,
    joined,
    key_variable,
    on_this_machine,
)
from cfeval.inference.remote.request import Response
from cfeval.inference.remote.sdks import ImagesOnce
from cfeval.inference.thinking import LITTLE, thinks


class Plugin(HostedPlugin):
    """How to reach and ask the model."""

    takes_tools: ClassVar[bool] = True
    OWN: ClassVar[tuple[str, ...]] = ("model", "messages", "input", "stream", "n", "response_format", "text")

    provider: ProviderName = "other"
    """Such as openrouter, groq or ollama; docs/guides/own-model.md lists all. It gives base_url and key_env where they
    are left out, and says what a request may hold."""
    api: Literal["chat", "responses"] = "chat"
    """Which of OpenAI's interfaces is asked; only chat completions take a seed."""
    api_version: str = Field("", pattern=r"^[0-9A-Za-z.-]*$")
    """Azure's, such as 2025-04-01-preview, for deployments below base_url; empty where that ends with /openai/v1."""
    seed: bool | None = None
    """Whether a seed is sent; none: where the provider takes one."""
    logprobs: int | None = Field(None, ge=1, le=MOST)
    """How many of the likeliest tokens, with log-probabilities, the first reply of each conversation is asked for: for
    the CCT of given pairs. None: it is not."""
    json_schema: bool | None = None
    """Whether the server is asked to enforce a schema; none: where the provider does."""
    images_once: bool = False
    """vLLM: send an image whole once and by its hash after that, which its cache of images knows
    (`--mm-processor-cache-gb`); calls are stored, and known again, as without it."""

    @model_validator(mode="after")
    def _reachable(self) -> "Plugin":
        if not self.address:
            raise ValueError(f"provider '{self.provider}' needs base_url, such as {self.rules.example}")
        if self.api_version and self.provider != "azure":
            raise ValueError("api_version is Azure's; set provider: azure, or leave it out")
        if self.images_once and (self.provider != "vllm" or self.api != "chat"):
            raise ValueError("images_once is for chat completions of provider vllm, which documents it; leave it out")
        return self

    @property
    def rules(self) -> Provider:
        """The provider's rules."""
        return PROVIDERS[self.provider]

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key; empty where none is needed."""
        return key_variable(self.address, self.key_env, self.rules.key_env)

    def sends_to(self) -> str:
        """The base URL; Ollama passes what its cloud models are asked on to its own."""
        clouded = self.provider == "ollama" and self.model.endswith("cloud") and on_this_machine(self.address)
        return "https://ollama.com" if clouded else self.address

    def endpoint(self) -> Endpoint:
        """Where calls go, with the key; see `HostedPlugin`."""
        return endpoint(self.address, self.key_variable, headers=self.headers, api_version=self.api_version)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Key, address and model, asked of the server itself; of OpenRouter also credit and parameters."""
        address, key, rules = self.address, self.key_variable, self.rules
        if self.provider == "openrouter":
            sent = {rules.limit, *self.extra, *self.sampling(), *self.thinking()}
            sent |= {"seed"} if self.sends_seed else set()
            sent |= {"logprobs", "top_logprobs"} if self.logprobs else set()
            sent |= {"response_format"} if self.sends_schema else set()
            yield from about_openrouter(address, key, self.model, self.accept_models, sent)
        else:
            yield from about_server(address, key, self.model, self.accept_models, lists=rules.lists)
        yield from self.about_thoughts()

    def thinking(self) -> dict[str, Any]:
        """How a request says how much is to be thought; only OpenRouter takes a budget in tokens.

        See openrouter.ai/docs/use-cases/reasoning-tokens and platform.openai.com/docs/guides/reasoning.
        """
        if self.provider == "openrouter":
            if self.effort is None and self.thinking_tokens is None:
                return {}
            budget = {"max_tokens": self.thinking_tokens} if self.thinking_tokens else {"enabled": False}
            return {"reasoning": {"effort": self.effort} if self.effort else budget}
        if self.effort is None:
            return {}
        return {"reasoning": {"effort": self.effort}} if self.api == "responses" else {"reasoning_effort": self.effort}

    @property
    def sends_seed(self) -> bool:
        """Whether requests have a seed."""
        return self.rules.seed if self.seed is None else self.seed

    @property
    def sends_schema(self) -> bool:
        """Whether requests have the schema of their reply, where there is one."""
        return self.rules.schema if self.json_schema is None else self.json_schema

    def build(self) -> "OpenAIChat":
        """The model behind the server; offline no key is needed."""
        return OpenAIResponses(self) if self.api == "responses" else OpenAIChat(self)


class OpenAIChat(HostedChat):
    """A chat model behind chat completions, which may be given tools to call."""

    api = "chat"
    path: ClassVar[BatchPath] = "/v1/chat/completions"

    def __init__(self, options: HostedPlugin) -> None:
        super().__init__(options)
        self._once_each = ImagesOnce() if isinstance(options, Plugin) and options.images_once else None

    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        options, rules = self.options, self.options.rules
        fields: dict[str, Any] = {"model": options.model, rules.limit: options.limit(request)}
        fields |= {**options.sampling(), **options.thinking()}
        if options.sends_seed:
            fields["seed"] = request.seed
        if schema := self._schema(request):
            named = {name: value for name, value in schema.items() if name != "type"}
            fields["response_format"] = {"type": "json_schema", "json_schema": named}
        if options.logprobs and len(request.turns) == 1:
            fields |= {"logprobs": True, "top_logprobs": options.logprobs}
        if request.tools:
            fields["tools"] = [{"type": "function", "function": vars(tool)} for tool in request.tools]
        return joined({**fields, **rules.body}, options.extra)

    def _schema(self, request: ChatRequest) -> dict[str, Any] | None:
        if request.schema and self.options.sends_schema:
            return {"type": "json_schema", "name": "reply", "strict": True, "schema": dict(request.schema)}
        return None

    def _messages(self, turns: Sequence[Shown], encode: Callable[[Image], str]) -> dict[str, Any]:
        return {"messages": [_message(turn, encode) for turn in turns]}

    def _encoded(self, image: Image) -> str:
        return data_url(image)

    async def _ask(self, attempts: RetryLoop, where: Endpoint, body: dict[str, Any]) -> Any:
        if self._once_each is None:
            return await sdks.chat(attempts, where, body)
        return await self._once_each.ask(body, partial(sdks.chat, attempts, where))

    def _batches(self, attempts: RetryLoop, where: Endpoint) -> BatchApi:
        return OpenAIBatches(attempts, where, self.path)

    def _chat_reply(self, reply: Response, chat_reply: ChatReply) -> ChatReply:
        if not self.options.logprobs:
            return chat_reply
        return scored(chat_reply, token_steps(reply.raw), chat_reply.text)

    def _read(self, body: Any, key_env: str, tools: bool = False) -> Response | Fault:
        options = self.options
        accepted = options.accept_finish_reasons
        return chat_reply(body, options.model, options.accept_models, key_env, finish_reasons=accepted, tools=tools)


class OpenAIResponses(OpenAIChat):
    """A chat model behind Responses; nothing is kept at OpenAI."""

    api = "responses"
    path: ClassVar[BatchPath] = "/v1/responses"

    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        options = self.options
        fields: dict[str, Any] = {"model": options.model, "max_output_tokens": options.limit(request), "store": False}
        fields |= {**options.sampling(), **options.thinking()}
        if schema := self._schema(request):
            fields["text"] = {"format": schema}
        if options.logprobs and len(request.turns) == 1:
            fields |= {"include": ["message.output_text.logprobs"], "top_logprobs": options.logprobs}
        if request.tools:
            fields["tools"] = [{"type": "function", "strict": False, **vars(tool)} for tool in request.tools]
            if options.effort not in LITTLE and (options.effort or thinks(options.model)):
                fields["include"] = [*fields.get("include", ()), "reasoning.encrypted_content"]
        return joined({**fields, **options.rules.body}, options.extra)

    def _messages(self, turns: Sequence[Shown], encode: Callable[[Image], str]) -> dict[str, Any]:
        return {"input": [item for turn in turns for item in _input(turn, encode)]}

    async def _ask(self, attempts: RetryLoop, where: Endpoint, body: dict[str, Any]) -> Any:
        return await sdks.responses(attempts, where, body)

    def _read(self, body: Any, key_env: str, tools: bool = False) -> Response | Fault:
        options = self.options
        accepted = options.accept_finish_reasons
        return responses_reply(body, options.model, options.accept_models, key_env, accepted, tools)

    def _tool_calls(self, body: Any) -> tuple[ToolCall, ...]:
        return tuple(ToolCall(*call) for call in tool_calls({"choices": [responses_choice(body)]}))

    def _parts(self, body: Any) -> tuple[Any, ...]:
        return tuple(body["output"])


def _message(turn: Shown, encode: Callable[[Image], str]) -> dict[str, Any]:
    if turn.role == "tool":
        return {"role": "tool", "tool_call_id": turn.answers, "content": turn.text}
    if turn.tool_calls:
        wanted = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.tool_calls
        ]
        return {"role": turn.role, "content": turn.text or None, "tool_calls": wanted}
    if not turn.images:
        return {"role": turn.role, "content": turn.text}
    shown = [{"type": "image_url", "image_url": {"url": encode(image)}} for image in turn.images]
    return {"role": turn.role, "content": [*shown, {"type": "text", "text": turn.text}]}


def _input(turn: Shown, encode: Callable[[Image], str]) -> list[Any]:
    if turn.role == "tool":
        return [{"type": "function_call_output", "call_id": turn.answers, "output": turn.text}]
    if turn.parts:
        return list(turn.parts)
    if not turn.images:
        return [{"role": turn.role, "content": turn.text}]
    shown = [{"type": "input_image", "image_url": encode(image)} for image in turn.images]
    return [{"role": turn.role, "content": [*shown, {"type": "input_text", "text": turn.text}]}]
