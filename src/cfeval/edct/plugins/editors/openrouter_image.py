"""Image models behind OpenRouter's chat protocol: Gemini 2.5 Flash Image (Nano Banana) and its successors."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from cfeval.core import plugin
from cfeval.core.images import Picture
from cfeval.core.registry import CallEstimate, Diagnostic, Resources
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval.edct.plugins.remote_editor import Planned, Service, Uses, edit, expected, prompt_for, sound
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import exchange
from cfeval.inference.remote.images import data_url
from cfeval.inference.remote.openai_api import chat_reply
from cfeval.inference.remote.providers import PROVIDERS, about_model, checked_base_url, endpoint, joined, only_further
from cfeval.inference.remote.request import Response

OPENROUTER = PROVIDERS["openrouter"]
USES = Uses()
ASKED = {"modalities": ["image", "text"], "provider": {"allow_fallbacks": False}}
"""What every request holds beside; that one host answers all, as for chat."""

OWN = ("model", "messages", "modalities", "stream", "n")
"""Fields that no option may set."""


class Plugin(plugin.Plugin):
    """How to reach the model."""

    model: str = Field("google/gemini-2.5-flash-image", min_length=1)
    """Its name at OpenRouter."""
    base_url: Annotated[str, AfterValidator(checked_base_url)] = OPENROUTER.base_url
    """Address up to and including the version."""
    key_env: str = Field(OPENROUTER.key_env, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Environment variable that holds the key."""
    max_pixels: int | None = Field(None, ge=1)
    """Larger pictures are shrunk to so many pixels; none: sent as they are."""
    accept_models: tuple[str, ...] = ()
    """Further names under which the model may be served."""
    accept_finish_reasons: tuple[str, ...] = ()
    """Further finish reasons of a whole answer; any other unknown one is the status unparsable."""
    extra: Annotated[dict[str, Any], AfterValidator(partial(only_further, own=OWN))] = {}
    """Further fields of the request, such as {provider: {only: [google-vertex]}}."""

    def resources(self) -> Resources:
        """A slot among the jobs that call a provider."""
        return Resources(api=True)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Key, address and model, asked of the server itself."""
        yield Diagnostic(*about_model(self.base_url, self.key_env, self.model, self.accept_models))

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """One an edit."""
        return (expected(self.model),)

    def build(self) -> Editor:
        """The editor; offline no key is needed."""
        return OpenRouterImage(self)


class OpenRouterImage:
    """Edits by chat: picture and instruction in, picture out."""

    needs_metadata = False

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def edit(self, request: EditRequest) -> EditReply:
        """Have a picture edited."""
        service = Service("chat", self.options.base_url, self.options.model)
        return await edit(request, service, self.options.max_pixels, self._plan)

    def _plan(self, request: EditRequest, picture: Picture) -> Planned:
        prompted = prompt_for(request, USES)
        fields = {"model": self.options.model, **joined(ASKED, self.options.extra)}

        async def send(attempts: RetryLoop) -> Response | Fault:
            body = {**fields, "messages": _messages(prompted.prompt, data_url(picture))}
            return await attempts.paid(lambda: self._once(attempts, body), lambda reply: reply.usage)

        return Planned({**fields, "prompt": prompted.prompt}, send, prompted.details)

    async def _once(self, attempts: RetryLoop, body: dict[str, Any]) -> Response | Fault:
        where = endpoint(self.options.base_url, self.options.key_env)
        url = f"{where.base_url}/chat/completions"
        content = await exchange(attempts.client, where, "POST", url, attempts.seconds(), json=body)
        if isinstance(content, Fault):
            return content
        options = self.options
        reply = chat_reply(
            content, options.model, options.accept_models, where.key_env, True, options.accept_finish_reasons
        )
        return await sound(reply)


def _messages(prompt: str, image: str) -> list[dict[str, Any]]:
    parts = [{"type": "image_url", "image_url": {"url": image}}, {"type": "text", "text": prompt}]
    return [{"role": "user", "content": parts}]
