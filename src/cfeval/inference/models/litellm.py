"""Any model that LiteLLM reaches: Bedrock, Vertex, Mistral, Cohere … by the `litellm` package (extra `litellm`).

LiteLLM finds keys that are not named by key_env in the environment itself, as its documentation says for each provider.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field

from cfeval.core.registry import Diagnostic
from cfeval.inference.chat import MOST, ChatRequest
from cfeval.inference.models.hosted import HostedPlugin
from cfeval.inference.models.openai import OpenAIChat
from cfeval.inference.remote import sdks
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.openai_api import chat_reply
from cfeval.inference.remote.provider_table import PROVIDERS, Provider
from cfeval.inference.remote.request import Response


class Plugin(HostedPlugin):
    """How to reach and ask the model."""

    OWN: ClassVar[tuple[str, ...]] = ("model", "messages", "stream", "n", "num_retries", "max_retries", "fallbacks")

    model: str = Field(pattern=r"^[^/]+/.+$")
    """The provider and the model as LiteLLM names them: bedrock/anthropic.claude-…, vertex_ai/…, mistral/…"""
    seed: bool = False
    """Whether a seed is sent."""
    logprobs: int | None = Field(None, ge=1, le=MOST)
    """See the plugin `openai`; LiteLLM names the providers that give log-probabilities in its table of parameters."""

    @property
    def rules(self) -> Provider:
        """Those of what LiteLLM carries: without base_url and key_env it finds address and key itself."""
        return PROVIDERS["litellm"]

    def sends_to(self) -> str:
        """The base URL, else whose address LiteLLM takes."""
        return self.base_url or f"{self.model.partition('/')[0]} (through LiteLLM)"

    def diagnose(self) -> Iterator[Diagnostic]:
        """Package and key; a room for thoughts that is too small."""
        yield Diagnostic(*sdks.ready("litellm", self.endpoint))
        yield from self.about_thoughts()

    def thinking(self) -> dict[str, Any]:
        """How a request says how much is to be thought; LiteLLM translates it.

        See docs.litellm.ai/docs/reasoning_content.
        """
        if self.effort:
            return {"reasoning_effort": self.effort}
        budget = {"type": "enabled", "budget_tokens": self.thinking_tokens}
        return {"thinking": budget} if self.thinking_tokens else {}

    def build(self) -> "LiteLLM":
        """The model; offline neither package nor key is needed."""
        return LiteLLM(self)


class LiteLLM(OpenAIChat):
    """A chat model behind LiteLLM, which words requests and answers as chat completions."""

    api = "litellm"

    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        options = self.options
        fields: dict[str, Any] = {"model": options.model, "max_tokens": options.limit(request), **options.thinking()}
        fields |= {**options.sampling(), **({"seed": request.seed} if options.seed else {})}
        if options.logprobs and len(request.turns) == 1:
            fields |= {"logprobs": True, "top_logprobs": options.logprobs}
        return {**fields, **options.extra}

    async def _ask(self, attempts: RetryLoop, where: Endpoint, body: dict[str, Any]) -> Any:
        return await sdks.litellm(attempts, where, body)

    def _read(self, body: Any, key_env: str, tools: bool = False) -> Response | Fault:
        del tools  # none are sent
        options = self.options
        accepted = (options.model.partition("/")[2], *options.accept_models)
        return chat_reply(_native(body), options.model, accepted, key_env, finish_reasons=options.accept_finish_reasons)


def _native(body: Any) -> Any:
    """A completion that names the provider's own finish reason, where LiteLLM has put one in its place."""
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return body
    own = (choices[0].get("provider_specific_fields") or {}).get("native_finish_reason")
    return {**body, "choices": [{**choices[0], "native_finish_reason": own}]} if own else body
