"""Image models behind OpenAI's `images/edits`: image, instruction and an optional mask in, image out.

Servers that edit by `images/generations` take the image in a field of theirs (`reference`).
"""

import io
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import numpy as np
import PIL.Image
from pydantic import AfterValidator, Field, model_validator

from cfeval.core import plugin
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Diagnostic, Resources
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval.edct.plugins.masks import Mask, MaskOptions, Segmenter, mask_files, segmenter
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
from cfeval.inference.remote.openai_api import images_reply
from cfeval.inference.remote.provider_table import PROVIDERS, Provider, ProviderName
from cfeval.inference.remote.providers import (
    about_model,
    checked_base_url,
    checked_headers,
    endpoint,
    key_variable,
    only_further,
)
from cfeval.inference.remote.request import Response
from cfeval.inference.remote.sdks import edit_image, generate_image

LARGEST = 50_000_000
"""Bytes of an image that OpenAI takes (platform.openai.com/docs/api-reference/images/createEdit: 50 MB)."""
OWN = ("model", "prompt", "n", "seed", "image", "mask", "stream")
"""Fields that no option may set."""


class Plugin(MaskOptions, plugin.Plugin):
    """How to reach the model, and where masks come from, if any."""

    model: str = Field("gpt-image-1", min_length=1)
    """Its name."""
    provider: ProviderName | None = None
    """Gives base_url and key_env where they are left out; none: openai, or other where base_url is given, so that no
    other server is sent OpenAI's key."""
    base_url: Annotated[str, AfterValidator(checked_base_url)] = ""
    """Address up to and including the version; empty: the provider's."""
    key_env: str = Field("", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    """Environment variable that holds the key; empty: the provider's, and none for a server on this machine."""
    max_pixels: int | None = Field(None, ge=1)
    """Larger images are shrunk to so many pixels; none: sent as they are."""
    reference: str = Field("", pattern=r"^[a-z_]*$")
    """Field of `images/generations` that takes the image, such as Together's image_url; empty: `images/edits`
    is asked, which alone takes a mask."""
    seed: bool = False
    """Whether the item's seed is sent; for servers that take one, such as vLLM-Omni. OpenAI's own does not."""
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = {}
    """Further headers of the request; no keys."""
    extra: Annotated[dict[str, str], AfterValidator(partial(only_further, own=OWN))] = {}
    """Further fields of the form, such as {quality: high, input_fidelity: high}."""

    @model_validator(mode="after")
    def _one_way(self) -> "Plugin":
        if self.reference and (self.masks or self.mask_model):
            raise ValueError("reference asks images/generations, which takes no mask; leave one of them out")
        return self

    @model_validator(mode="after")
    def _reachable(self) -> "Plugin":
        if not self.address:
            raise ValueError(f"provider '{self.provider}' needs base_url, such as {self.rules.example}")
        return self

    @property
    def rules(self) -> Provider:
        """The provider's rules."""
        usual = "other" if self.base_url and self.base_url != PROVIDERS["openai"].base_url else "openai"
        return PROVIDERS[self.provider or usual]

    @property
    def address(self) -> str:
        """The base URL."""
        return self.base_url or self.rules.base_url

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key; empty where none is needed."""
        return key_variable(self.address, self.key_env, self.rules.key_env)

    def sends_to(self) -> str:
        """The base URL."""
        return self.address

    def resources(self) -> Resources:
        """A slot among the jobs that call a provider."""
        return Resources(api=True)

    def dependencies(self) -> tuple[str, ...]:
        """The files that masks come from."""
        return tuple(str(path) for path in mask_files(self))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Key, address and model, asked of the server itself."""
        yield Diagnostic(*about_model(self.address, self.key_variable, self.model))

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """One an edit."""
        return (expected(self.model),)

    def build(self) -> Editor:
        """The editor; offline no key is needed."""
        return OpenAIImage(self, segmenter(self))


class OpenAIImage:
    """Edits by `images/edits`, or by `images/generations`."""

    needs_metadata = False

    def __init__(self, options: Plugin, mask_of: Segmenter | None) -> None:
        self.options, self.mask_of = options, mask_of

    async def edit(self, request: EditRequest) -> EditReply:
        """Have an image edited."""
        api = "images/generations" if self.options.reference else "images/edits"
        largest = LARGEST if self.options.rules.title in ("OpenAI", "Azure OpenAI") else None
        service = Service(api, self.options.address, self.options.model, largest=largest)
        lossless = self.mask_of is not None  # image and mask must be of one format, and JPEG has no transparency
        return await edit(request, service, self.options.max_pixels, self._plan, lossless)

    def _plan(self, request: EditRequest, image: Encoded) -> Planned | EditReply:
        prompted = prompt_for(request, Uses(mask=self.mask_of is not None, seed=self.options.seed))
        seed = {"seed": str(request.seed)} if self.options.seed else {}
        form: dict[str, str] = {"model": self.options.model, "prompt": prompted.prompt, "n": "1"}
        form |= seed | self.options.extra
        files, details = {"image": image.file}, prompted.details
        named: dict[str, Any] = {**form, **named_headers(self.options.headers)}
        if self.mask_of is not None:
            masked = self.mask_of(request)
            if masked.mask is None:
                return EditReply(None, details, Status.EDIT_INVALID, masked.reason)
            details = {**details, **masked.details}
            if masked.mask.any():  # without a hole the interface refuses a mask
                hole = _hole(masked.mask, image.image)
                files["mask"] = ("mask.png", hole, "image/png")
                named["mask"] = f"sha256:{Image(hole).sha256}"

        async def send(attempts: RetryLoop) -> Response | Fault:
            return await attempts.paid(lambda: self._once(attempts, form, files, image), lambda reply: reply.usage)

        return Planned(named, send, details)

    async def _once(
        self, attempts: RetryLoop, form: dict[str, str], files: dict[str, Any], image: Encoded
    ) -> Response | Fault:
        where = endpoint(self.options.address, self.options.key_variable, headers=self.options.headers)
        if self.options.reference:
            numbers: dict[str, int] = {name: int(form[name]) for name in ("n", "seed") if name in form}
            body: dict[str, Any] = {**form, **numbers, self.options.reference: image.data_url}
            content = await generate_image(attempts, where, body)
        else:
            content = await edit_image(attempts, where, form, files)
        if isinstance(content, Fault):
            return content
        return await checked_image(images_reply(content, self.options.model, where.key_env))


def _hole(mask: Mask, image: Image) -> bytes:
    """The mask as the protocol wants it: the image's size, transparent where it may change."""
    height, width = image.pixels.shape[:2]
    alpha = PIL.Image.fromarray(np.where(mask, 0, 255).astype(np.uint8)).resize(
        (width, height), PIL.Image.Resampling.NEAREST
    )
    layer = PIL.Image.fromarray(image.pixels).convert("RGBA")
    layer.putalpha(alpha)
    buffer = io.BytesIO()
    layer.save(buffer, format="PNG")
    return buffer.getvalue()
