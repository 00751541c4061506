"""Editors behind providers: OpenAI's `images/edits`, OpenRouter, and Black Forest Labs.

What they share: the prompt and the image that are sent, and the image that comes back. An editor says what it `Uses` of
an instruction, its positive and negative part (EDCT 2025, Section 3, Stage 2). What it cannot use is told in the
prompt's text, and the details say what was done. Images are shrunk, decoded and encoded in threads, so that a large one
does not hold up the other calls.
"""

import asyncio
import io
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import PIL.Image
from pydantic import AfterValidator, Field, model_validator

from cfeval.core import plugin
from cfeval.core.images import Image, Mask
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Diagnostic, Resources
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval.edct.plugins.masks import MaskOptions, MaskSource, mask_files, mask_source
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.images import JPEG_QUALITY, Encoded, decode, encoded, origin, under
from cfeval.inference.remote.openai_api import chat_reply, images_in, images_reply
from cfeval.inference.remote.provider_table import PROVIDERS, Provider, ProviderName
from cfeval.inference.remote.providers import (
    about_model,
    about_openrouter,
    checked_base_url,
    checked_headers,
    endpoint,
    joined,
    key_variable,
    only_further,
)
from cfeval.inference.remote.request import Request, Response, Usage
from cfeval.inference.remote.sdks import chat, edit_image, generate_image, openrouter_image
from cfeval.inference.remote.sessions import shared_client

# What one edit is taken to use, where a budget has to set something aside.
EXPECTED_USAGE = Usage(input_tokens=2000, images=1, image_tokens=2000)


# By how much an image's shape may differ from the original's and still be given its size.
DISTORTION = 0.02


@dataclass(frozen=True)
class Planned:
    """An edit as a provider is asked for it: `named` identifies it (images by hash), `send` has it made."""

    named: Mapping[str, Any]
    send: Callable[[RetryLoop], Awaitable[Response | Fault]]
    details: dict[str, str]


@dataclass(frozen=True)
class Service:
    """Which provider's interface, where, and which model of it."""

    api: str
    base_url: str
    model: str
    at_most: int = 512
    largest: int | None = None
    """Bytes of an image's file that the provider takes at most, where it says."""


# From a request and the image to send, shrunk where it must be, to the plan, or the reply where none can be made.
Plan = Callable[[EditRequest, Encoded], Planned | EditReply]


async def edit(
    request: EditRequest, service: Service, max_pixels: int | None, plan: Plan, lossless: bool = False
) -> EditReply:
    """Have an edit made; the image that comes back gets the original's size, unless its shape is another.

    An image of many bytes is sent as JPEG unless `lossless`; one that is over the provider's limit is not sent.
    """
    client = await shared_client()
    image = await asyncio.to_thread(under, request.image, max_pixels)
    sent = await asyncio.to_thread(encoded, image, lossless)
    if service.largest is not None and len(sent.content) > service.largest:
        height, width = sent.image.pixels.shape[:2]
        reason = (
            f"not sent: the image ({width} × {height} pixels) would go as {len(sent.content) / 1e6:.1f} MB, and "
            f"{service.model} takes at most {service.largest / 1e6:g} MB; set max_pixels"
        )
        return EditReply(None, {}, Status.REJECTED, reason)
    made = plan(request, sent)
    if isinstance(made, EditReply):
        return made
    named = {**made.named, "image": f"sha256:{image.sha256}"}
    details = made.details
    if sent.media_type == "image/jpeg":
        details = {**details, "sent_as": f"JPEG of quality {JPEG_QUALITY}"}
        named["sent_as"] = details["sent_as"]
    call = Request(
        service.api, service.base_url, service.model, named, request.seed, request.item, EXPECTED_USAGE, service.at_most
    )
    reply = await client.answer(call, made.send)
    return await asyncio.to_thread(_edited, request, reply, call.key, details)


def named_headers(headers: Mapping[str, str]) -> dict[str, Any]:
    """Further headers as a part of what identifies an edit, where there are any."""
    return {"headers": dict(headers)} if headers else {}


def planned(
    options: "RemoteEditorPlugin",
    named: Mapping[str, Any],
    call: Callable[[RetryLoop, Endpoint], Awaitable[Response | Fault]],
    details: dict[str, str],
) -> Planned:
    """The plan of an edit that one call makes, which is paid for once an image comes back that can be decoded."""

    async def once(attempts: RetryLoop) -> Response | Fault:
        where = endpoint(options.address, options.key_variable, headers=options.headers)
        return await checked_image(await call(attempts, where))

    async def send(attempts: RetryLoop) -> Response | Fault:
        return await attempts.paid(lambda: once(attempts), lambda reply: reply.usage)

    return Planned({**named, **named_headers(options.headers)}, send, details)


async def checked_image(reply: Response | Fault) -> Response | Fault:
    """The reply, or the fault that its image cannot be decoded: known before it is stored, so that it is retried."""
    if isinstance(reply, Fault) or reply.image is None:
        return reply
    image = await asyncio.to_thread(decode, reply.image)
    return image if isinstance(image, Fault) else reply


def _edited(request: EditRequest, reply: Response, key: str, details: dict[str, str]) -> EditReply:
    image = decode(reply.image) if reply.image is not None else None
    if isinstance(image, Fault):
        return EditReply(None, details, image.status, image.reason, (key,))
    if image is None:
        return EditReply(None, details, reply.status, reply.reason, (key,))
    height, width = request.image.pixels.shape[:2]
    came = f"{image.pixels.shape[1]} × {image.pixels.shape[0]}"
    details = {**details, "model": reply.model, "came_as": came, **origin(reply.image or b"")}
    if (images := images_in(reply.raw)) > 1:
        details["images"] = f"last of {images} images taken"
    return EditReply(resized(image, width, height), details, calls=(key,))


def resized(image: Image, width: int, height: int) -> Image:
    """The image at another size (Lanczos); itself where it has that size, or a shape that this would distort."""
    has_height, has_width = image.pixels.shape[:2]
    stretch = (has_width * height) / (has_height * width)
    return image if abs(stretch - 1) > DISTORTION else image.resized(width, height)


@dataclass(frozen=True)
class Uses:
    """What an editor can use beside the image and a prompt."""

    negative_prompt: bool = False
    """A text of what must not be there, apart from the prompt."""
    mask: bool = False
    """A second image, of where the first may change."""
    seed: bool = False


@dataclass(frozen=True)
class Prompted:
    """The texts for an editor; `details` go into `EditReply.details`."""

    prompt: str
    negative_prompt: str
    details: dict[str, str]


def prompt_for(request: EditRequest, uses: Uses) -> Prompted:
    """The prompt and the negative prompt of a request, for an editor that can use so much."""
    positive, negative = request.positive.strip(), request.negative.strip()
    apart = negative if uses.negative_prompt else ""
    prompt = positive if apart or not negative else fold(positive, negative)
    details = {
        "prompt": prompt,
        "negative_prompt": apart,
        "negative_part": ("sent apart" if apart else "folded into the prompt") if negative else "none",
        "seed": str(request.seed) if uses.seed else "not used",
    }
    return Prompted(prompt, apart, details)


def fold(positive: str, negative: str) -> str:
    """Both parts of an instruction as one text."""
    stop = "" if positive.endswith((".", "!", "?")) else "."
    return f"{positive}{stop} Nothing of this must remain: {negative.rstrip('.')}."


class RemoteEditorPlugin(plugin.Plugin):
    """How to reach the model: what the plugins of all editors behind providers share."""

    model: str = Field(min_length=1)
    """Its name."""
    base_url: Annotated[str, AfterValidator(checked_base_url)] = ""
    """Address up to and including the version; empty: the provider's."""
    key_env: str = Field("", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    """Environment variable that holds the key; empty: the provider's, and none for a server on this machine."""
    max_pixels: int | None = Field(None, ge=1)
    """Larger images are shrunk to so many pixels; none: sent as they are."""
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = {}
    """Further headers of the request; no keys."""

    @property
    @abstractmethod
    def rules(self) -> Provider:
        """The provider's rules."""

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

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """One an edit."""
        return (CallEstimate(self.model, image_tokens=EXPECTED_USAGE.input_tokens, images=EXPECTED_USAGE.images),)


# Bytes of an image that OpenAI takes (platform.openai.com/docs/api-reference/images/createEdit: 50 MB).
LARGEST = 50_000_000
# Fields that no option may set.
_OPENAI_FIELDS = ("model", "prompt", "n", "seed", "image", "mask", "stream")


class OpenAIImagePlugin(MaskOptions, RemoteEditorPlugin):
    """Image models behind OpenAI's `images/edits`: image, instruction and an optional mask in, image out.

    Servers that edit by `images/generations` take the image in a field of theirs (`reference`).
    """

    model: str = Field("gpt-image-1", min_length=1)
    """Its name."""
    provider: ProviderName | None = None
    """Gives base_url and key_env where they are left out; none: openai, or other where base_url is given, so that no
    other server is sent OpenAI's key."""
    reference: str = Field("", pattern=r"^[a-z_]*$")
    """Field of `images/generations` that takes the image, such as Together's image_url; empty: `images/edits`
    is asked, which alone takes a mask."""
    seed: bool = False
    """Whether the item's seed is sent; for servers that take one, such as vLLM-Omni. OpenAI's own does not."""
    extra: Annotated[dict[str, str], AfterValidator(partial(only_further, own=_OPENAI_FIELDS))] = {}
    """Further fields of the form, such as {quality: high, input_fidelity: high}."""

    @model_validator(mode="after")
    def _one_way(self) -> "OpenAIImagePlugin":
        if self.reference and (self.masks or self.mask_model):
            raise ValueError("reference asks images/generations, which takes no mask; leave one of them out")
        return self

    @model_validator(mode="after")
    def _reachable(self) -> "OpenAIImagePlugin":
        if not self.address:
            raise ValueError(f"provider '{self.provider}' needs base_url, such as {self.rules.example}")
        return self

    @property
    def rules(self) -> Provider:
        """The provider's rules."""
        usual = "other" if self.base_url and self.base_url != PROVIDERS["openai"].base_url else "openai"
        return PROVIDERS[self.provider or usual]

    def dependencies(self) -> tuple[str, ...]:
        """The files that masks come from."""
        return tuple(str(path) for path in mask_files(self))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Key, address and model, asked of the server itself."""
        yield Diagnostic(*about_model(self.address, self.key_variable, self.model))

    def build(self) -> Editor:
        """The editor; offline no key is needed."""
        return OpenAIImage(self, mask_source(self))


class OpenAIImage:
    """Edits by `images/edits`, or by `images/generations`."""

    needs_metadata = False

    def __init__(self, options: OpenAIImagePlugin, mask_of: MaskSource | None) -> None:
        self.options, self.mask_of = options, mask_of

    async def edit(self, request: EditRequest) -> EditReply:
        """Have an image edited."""
        api = "images/generations" if self.options.reference else "images/edits"
        largest = LARGEST if self.options.rules.title in ("OpenAI", "Azure OpenAI") else None
        service = Service(api, self.options.address, self.options.model, largest=largest)
        lossless = self.mask_of is not None  # image and mask must be of one format, and JPEG has no transparency
        return await edit(request, service, self.options.max_pixels, self._plan, lossless)

    def _plan(self, request: EditRequest, image: Encoded) -> Planned | EditReply:
        options = self.options
        prompted = prompt_for(request, Uses(mask=self.mask_of is not None, seed=options.seed))
        seed = {"seed": str(request.seed)} if options.seed else {}
        form = {"model": options.model, "prompt": prompted.prompt, "n": "1", **seed, **options.extra}
        files, details = {"image": image.file}, prompted.details
        named: dict[str, Any] = dict(form)
        if self.mask_of is not None:
            masked = self.mask_of(request)
            if masked.mask is None:
                return EditReply(None, details, Status.EDIT_INVALID, masked.reason)
            details = {**details, **masked.details}
            if masked.mask.any():  # without a hole the interface refuses a mask
                hole = _hole(masked.mask, image.image)
                files["mask"] = ("mask.png", hole, "image/png")
                named["mask"] = f"sha256:{Image(hole).sha256}"

        async def call(attempts: RetryLoop, where: Endpoint) -> Response | Fault:
            if options.reference:
                numbers: dict[str, Any] = {name: int(form[name]) for name in ("n", "seed") if name in form}
                content = await generate_image(attempts, where, {**form, **numbers, options.reference: image.data_url})
            else:
                content = await edit_image(attempts, where, form, files)
            return content if isinstance(content, Fault) else images_reply(content, options.model, where.key_env)

        return planned(options, named, call, details)


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


# What every request holds besides: one host answers all, as for chat.
_ROUTED: dict[str, Any] = {"provider": {"allow_fallbacks": False}}
# Fields that no option may set.
_OPENROUTER_FIELDS = ("model", "messages", "modalities", "prompt", "input_references", "seed", "stream", "n")


class OpenRouterImagePlugin(RemoteEditorPlugin):
    """Image models behind OpenRouter: Gemini 2.5 Flash Image (Nano Banana) and its successors.

    By chat, where the answer holds an image, or by OpenRouter's own endpoint for images (`api: images`), which takes a
    seed and reaches models that do not chat (openrouter.ai/docs, POST /api/v1/images).
    """

    model: str = Field("google/gemini-2.5-flash-image", min_length=1)
    """Its name at OpenRouter."""
    api: Literal["chat", "images"] = "chat"
    """Which of OpenRouter's interfaces is asked."""
    base_url: Annotated[str, AfterValidator(checked_base_url)] = PROVIDERS["openrouter"].base_url
    """Address up to and including the version."""
    accept_models: tuple[str, ...] = ()
    """Further names under which the model may be served."""
    accept_finish_reasons: tuple[str, ...] = ()
    """Further finish reasons of a whole answer; any other unknown one is the status unparsable."""
    extra: Annotated[dict[str, Any], AfterValidator(partial(only_further, own=_OPENROUTER_FIELDS))] = {}
    """Further fields of the request, such as {provider: {only: [google-vertex]}}."""

    @property
    def rules(self) -> Provider:
        """OpenRouter's rules."""
        return PROVIDERS["openrouter"]

    def diagnose(self) -> Iterator[Diagnostic]:
        """Key, credit, model and parameters, asked of the server itself."""
        yield from about_openrouter(self.base_url, self.key_variable, self.model, self.accept_models, self.extra)

    def build(self) -> Editor:
        """The editor; offline no key is needed."""
        return OpenRouterImage(self)


class OpenRouterImage:
    """Edits by chat, image and instruction in, image out; or by the endpoint for images, the image as a reference."""

    needs_metadata = False

    def __init__(self, options: OpenRouterImagePlugin) -> None:
        self.options = options

    async def edit(self, request: EditRequest) -> EditReply:
        """Have an image edited."""
        options = self.options
        service = Service(options.api, options.address, options.model)
        plan = self._by_chat if options.api == "chat" else self._by_images
        return await edit(request, service, options.max_pixels, plan)

    def _by_chat(self, request: EditRequest, image: Encoded) -> Planned:
        prompted, options = prompt_for(request, Uses()), self.options
        fields = {"model": options.model, **joined({"modalities": ["image", "text"], **_ROUTED}, options.extra)}
        shown = {"type": "image_url", "image_url": {"url": image.data_url}}
        turn = {"role": "user", "content": [shown, {"type": "text", "text": prompted.prompt}]}

        async def call(attempts: RetryLoop, where: Endpoint) -> Response | Fault:
            content = await chat(attempts, where, {**fields, "messages": [turn]})
            if isinstance(content, Fault):
                return content
            names, reasons = options.accept_models, options.accept_finish_reasons
            return chat_reply(content, options.model, names, where.key_env, True, reasons)

        return planned(options, {**fields, "prompt": prompted.prompt}, call, prompted.details)

    def _by_images(self, request: EditRequest, image: Encoded) -> Planned:
        prompted, options = prompt_for(request, Uses(seed=True)), self.options
        form = {"model": options.model, "prompt": prompted.prompt, "seed": request.seed}
        fields = {**form, **joined(_ROUTED, options.extra)}
        shown = {"type": "image_url", "image_url": {"url": image.data_url}}

        async def call(attempts: RetryLoop, where: Endpoint) -> Response | Fault:
            content = await openrouter_image(attempts, where, {**fields, "input_references": [shown]})
            return content if isinstance(content, Fault) else images_reply(content, options.model, where.key_env)

        return planned(options, fields, call, prompted.details)
