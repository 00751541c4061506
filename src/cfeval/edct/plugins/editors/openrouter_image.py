"""Image models behind OpenRouter: Gemini 2.5 Flash Image (Nano Banana) and its successors.

By chat, where the answer holds an image, or by OpenRouter's own endpoint for images (`api: images`), which takes a
seed and reaches models that do not chat (openrouter.ai/docs, POST /api/v1/images).
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from cfeval.core import plugin
from cfeval.core.registry import CallEstimate, Diagnostic, Resources
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval.edct.plugins.remote_editor import (
    Planned,
    Service,
    Uses,
    checked_image,
    edit,
    expected,
    named_headers,
    prompt_for,
)
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.images import Encoded
from cfeval.inference.remote.openai_api import chat_reply, images_reply
from cfeval.inference.remote.provider_table import PROVIDERS
from cfeval.inference.remote.providers import (
    about_openrouter,
    checked_base_url,
    checked_headers,
    endpoint,
    joined,
    key_variable,
    only_further,
)
from cfeval.inference.remote.request import Response
from cfeval.inference.remote.sdks import chat, openrouter_image

OPENROUTER = PROVIDERS["openrouter"]
CHAT, IMAGES = Uses(), Uses(seed=True)
ROUTED: dict[str, Any] = {"provider": {"allow_fallbacks": False}}
"""What every request holds beside; that one host answers all, as for chat."""
BY_CHAT = {"modalities": ["image", "text"], **ROUTED}

OWN = ("model", "messages", "modalities", "prompt", "input_references", "seed", "stream", "n")
"""Fields that no option may set."""


class Plugin(plugin.Plugin):
    """How to reach the model."""

    model: str = Field("google/gemini-2.5-flash-image", min_length=1)
    """Its name at OpenRouter."""
    api: Literal["chat", "images"] = "chat"
    """Which of OpenRouter's interfaces is asked."""
    base_url: Annotated[str, AfterValidator(checked_base_url)] = OPENROUTER.base_url
    """Address up to and including the version."""
    key_env: str = Field("", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    """Environment variable that holds the key; empty: the provider's, and none for a server on this machine."""
    max_pixels: int | None = Field(None, ge=1)
    """Larger images are shrunk to so many pixels; none: sent as they are."""
    accept_models: tuple[str, ...] = ()
    """Further names under which the model may be served."""
    accept_finish_reasons: tuple[str, ...] = ()
    """Further finish reasons of a whole answer; any other unknown one is the status unparsable."""
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = {}
    """Further headers of the request; no keys."""
    extra: Annotated[dict[str, Any], AfterValidator(partial(only_further, own=OWN))] = {}
    """Further fields of the request, such as {provider: {only: [google-vertex]}}."""

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key; empty where none is needed."""
        return key_variable(self.base_url, self.key_env, OPENROUTER.key_env)

    def sends_to(self) -> str:
        """The base URL."""
        return self.base_url

    def resources(self) -> Resources:
        """A slot among the jobs that call a provider."""
        return Resources(api=True)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Key, credit, model and parameters, asked of the server itself."""
        yield from about_openrouter(self.base_url, self.key_variable, self.model, self.accept_models, self.extra)

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """One an edit."""
        return (expected(self.model),)

    def build(self) -> Editor:
        """The editor; offline no key is needed."""
        return OpenRouterImages(self) if self.api == "images" else OpenRouterChat(self)


class OpenRouterChat:
    """Edits by chat: image and instruction in, image out."""

    needs_metadata = False

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def edit(self, request: EditRequest) -> EditReply:
        """Have an image edited."""
        service = Service("chat", self.options.base_url, self.options.model)
        return await edit(request, service, self.options.max_pixels, self._plan)

    def _plan(self, request: EditRequest, image: Encoded) -> Planned:
        prompted = prompt_for(request, CHAT)
        options = self.options
        fields = {"model": options.model, **joined(BY_CHAT, options.extra)}

        async def send(attempts: RetryLoop) -> Response | Fault:
            body = {**fields, "messages": _messages(prompted.prompt, image.data_url)}
            return await attempts.paid(lambda: self._once(attempts, body), lambda reply: reply.usage)

        named = {**fields, "prompt": prompted.prompt, **named_headers(options.headers)}
        return Planned(named, send, prompted.details)

    async def _once(self, attempts: RetryLoop, body: dict[str, Any]) -> Response | Fault:
        options = self.options
        where = endpoint(options.base_url, options.key_variable, headers=options.headers)
        content = await chat(attempts, where, body)
        if isinstance(content, Fault):
            return content
        reply = chat_reply(
            content, options.model, options.accept_models, where.key_env, True, options.accept_finish_reasons
        )
        return await checked_image(reply)


class OpenRouterImages:
    """Edits by the endpoint for images: the image is a reference."""

    needs_metadata = False

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def edit(self, request: EditRequest) -> EditReply:
        """Have an image edited."""
        service = Service("images", self.options.base_url, self.options.model)
        return await edit(request, service, self.options.max_pixels, self._plan)

    def _plan(self, request: EditRequest, image: Encoded) -> Planned:
        prompted = prompt_for(request, IMAGES)
        options = self.options
        asked = {"model": options.model, "prompt": prompted.prompt, "seed": request.seed}
        fields = {**asked, **joined(ROUTED, options.extra)}

        async def send(attempts: RetryLoop) -> Response | Fault:
            shown = {"type": "image_url", "image_url": {"url": image.data_url}}
            body = {**fields, "input_references": [shown]}
            return await attempts.paid(lambda: self._once(attempts, body), lambda reply: reply.usage)

        return Planned({**fields, **named_headers(options.headers)}, send, prompted.details)

    async def _once(self, attempts: RetryLoop, body: dict[str, Any]) -> Response | Fault:
        options = self.options
        where = endpoint(options.base_url, options.key_variable, headers=options.headers)
        content = await openrouter_image(attempts, where, body)
        if isinstance(content, Fault):
            return content
        return await checked_image(images_reply(content, options.model, where.key_env))


def _messages(prompt: str, image: str) -> list[dict[str, Any]]:
    parts = [{"type": "image_url", "image_url": {"url": image}}, {"type": "text", "text": prompt}]
    return [{"role": "user", "content": parts}]
