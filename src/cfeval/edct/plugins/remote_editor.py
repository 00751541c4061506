"""What the editors behind a provider share: the prompt and the image that are sent, and the image that comes back.

An editor says what it `Uses` of an instruction, its positive and negative part (EDCT 2025, Section 3, Stage 2). What it
cannot use is told in the prompt's text, and the details say what was done. Images are shrunk, decoded and encoded in
threads, so that a large one does not hold up the other calls.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate
from cfeval.edct.interfaces import EditReply, EditRequest
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.credentials import origin
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.images import JPEG_QUALITY, Encoded, decode, encoded, under
from cfeval.inference.remote.openai_api import images_in
from cfeval.inference.remote.request import Request, Response, Usage
from cfeval.inference.remote.sessions import shared_client

EXPECTED = Usage(input_tokens=2000, images=1, image_tokens=2000)
"""What one edit is taken to use, where a budget has to set something aside."""


DISTORTION = 0.02
"""By how much an image's shape may differ from the original's and still be given its size."""


def expected(model: str) -> CallEstimate:
    """The one call of an edit, for `cfeval estimate`."""
    return CallEstimate(model, image_tokens=EXPECTED.input_tokens, images=EXPECTED.images)


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


Plan = Callable[[EditRequest, Encoded], Planned | EditReply]
"""From a request and the image to send, shrunk where it must be, to the plan, or the reply where none can be made."""


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
        return EditReply(None, {}, Status.REJECTED, _over_limit(sent, service))
    planned = plan(request, sent)
    if isinstance(planned, EditReply):
        return planned
    named = {**planned.named, "image": f"sha256:{image.sha256}"}
    details = planned.details
    if sent.media_type == "image/jpeg":
        details = {**details, "sent_as": f"JPEG of quality {JPEG_QUALITY}"}
        named["sent_as"] = details["sent_as"]
    call = Request(
        service.api, service.base_url, service.model, named, request.seed, request.item, EXPECTED, service.at_most
    )
    reply = await client.answer(call, planned.send)
    return await asyncio.to_thread(_edited, request, reply, call.key, details)


def _over_limit(sent: Encoded, service: Service) -> str:
    height, width = sent.image.pixels.shape[:2]
    return (
        f"not sent: the image ({width} × {height} pixels) would go as {len(sent.content) / 1e6:.1f} MB, and "
        f"{service.model} takes at most {(service.largest or 0) / 1e6:g} MB; set max_pixels"
    )


def named_headers(headers: Mapping[str, str]) -> dict[str, Any]:
    """Further headers as a part of what identifies an edit, where there are any."""
    return {"headers": dict(headers)} if headers else {}


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
