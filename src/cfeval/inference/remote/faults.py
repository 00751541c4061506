"""Everything that goes wrong between us and a provider, and the one right reaction to each.

retry    wait as the server says, else with jittered exponential back-off, and send the same again
record   the item ends with this status; it is never retried into an answer
stop     every further call would fail the same way: end the run with one line

Some errors will not pass whatever HTTP status a server gives them: llama.cpp answers an image that its model cannot see
with HTTP 500, LM Studio a wrong address with 200, Ollama an unknown model with 404, vLLM a prompt that is too long with
400. `PHRASES` and `CODES` recognise them; each phrase is of a real server, as its comment says.
"""

import math
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from cfeval.core.records import Status
from cfeval.inference.remote.request import Usage

NO_IMAGES, NO_MODEL, TOO_LONG, BAD_IMAGE = "no_images", "no_model", "too_long", "bad_image"
NO_ENDPOINT, NO_SCHEMA, NO_TEMPLATE = "no_endpoint", "no_schema", "no_template"

# What to do about each kind.
ADVICE: Mapping[str, str] = {
    NO_IMAGES: "name a model that takes images; for llama.cpp start it with its vision part (--mmproj)",
    NO_MODEL: "correct the model's name, or load it on the server",
    TOO_LONG: "start the server with a longer context, or lower max_tokens or max_pixels",
    BAD_IMAGE: "look at the image; large ones are shrunk by max_pixels",
    NO_ENDPOINT: "correct base_url: most end with /v1",
    NO_SCHEMA: "set json_schema: false for this model",
    NO_TEMPLATE: "give the server a chat template, or name a model that is made for chats",
}

# By kind, patterns of what servers say, in lower case.
PHRASES: Mapping[str, tuple[str, ...]] = {
    NO_IMAGES: (
        r"(image|audio) input is not supported",  # llama.cpp
        r"unsupported content part type: .?image_url",  # llama.cpp before it had images
        r"not compiled for multimodal",  # llamafile
        r"is not a multimodal model",  # vLLM
        r"at most 0 image\(?s?\)? may be provided",  # vLLM with --limit-mm-per-prompt
        r"does not support image( input|s|\b)",  # Ollama, LM Studio, LiteLLM
        r"missing data required for image input",  # Ollama, a model without its projector
        r"no endpoints found that support image input",  # OpenRouter
        r"image_url is only supported by certain models",  # OpenAI
        r"image input modality is not enabled",  # Google
    ),
    NO_MODEL: (
        r"the model .{1,200} does not exist",  # OpenAI, vLLM
        r"model .{1,200} not found, try pulling it",  # Ollama
        r"no models? loaded",  # LM Studio
        r"is not a valid model id",  # OpenRouter; `transformers serve` says "is not a valid model identifier"
        r"no endpoints found for ",  # OpenRouter
        r"models/.{1,200} is not found for api version",  # Google
    ),
    TOO_LONG: (
        r"maximum context length is",  # OpenAI, vLLM
        r"longer than the maximum model length",  # vLLM
        r"is too long to fit into the model",  # vLLM
        r"exceeds? the available context size",  # llama.cpp
        r"prompt is too long",  # Anthropic
        r"exceed context limit",  # Anthropic
        r"input token count .{0,80}exceeds the maximum",  # Google
        r"input length exceeds the context length",  # Ollama
        r"greater than the context length",  # LM Studio
    ),
    BAD_IMAGE: (
        r"could not process image",  # Anthropic
        r"unable to process input image",  # Google
        r"provided image is not valid",  # Google
        r"you uploaded an unsupported image",  # OpenAI
        r"invalid image data",  # OpenAI
        r"failed to (load|decode) image",  # llama.cpp
        r"cannot identify image file",  # vLLM and `transformers serve`, by Pillow
        r"field must be a base64 encoded image",  # LM Studio
    ),
    NO_ENDPOINT: (r"unexpected endpoint or method",),  # LM Studio
    NO_SCHEMA: (
        r"invalid schema for response_format",  # OpenAI
        r"failed to parse grammar",  # llama.cpp
        r"error parsing grammar",  # llama.cpp
    ),
    NO_TEMPLATE: (
        r"default chat template is no longer allowed",  # vLLM
        r"tokenizer\.chat_template is not set",  # transformers
        r"conversation roles must alternate",  # templates of Mistral and Gemma
    ),
}

# The same by the codes that servers give.
CODES: Mapping[str, str] = {
    "model_not_found": NO_MODEL,  # OpenAI
    "context_length_exceeded": TOO_LONG,  # OpenAI
    "exceed_context_size_error": TOO_LONG,  # llama.cpp
    "image_parse_error": BAD_IMAGE,  # OpenAI
    "invalid_image_format": BAD_IMAGE,  # OpenAI
    "invalid_base64_image": BAD_IMAGE,  # OpenAI
    "unsupported_image_media_type": BAD_IMAGE,  # OpenAI
}

_PATTERNS = {kind: re.compile("|".join(phrases)) for kind, phrases in PHRASES.items()}


def lasting(message: str, codes: Iterable[str] = ()) -> str:
    """The kind of an error that will not pass, by its codes or what it says; empty for any other."""
    by_code = (CODES[code] for code in codes if code in CODES)
    text = message.lower()
    by_text = (kind for kind, pattern in _PATTERNS.items() if pattern.search(text))
    return next(by_code, "") or next(by_text, "")


# HTTP statuses below 500 that pass; of those from 500 on, all may.
RETRIED = {408, 409, 425, 429}
# HTTP statuses that ask for fewer calls at once.
THROTTLED = {429, 503, 529}
# Codes that mean no credit whatever the HTTP status; OpenAI's comes with 429.
NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "credit_balance_too_low"}
# Codes that mean a wrong key whatever the HTTP status; Gemini's comes with 400.
BAD_KEY = {"API_KEY_INVALID", "invalid_api_key"}
# Codes that mean that the provider's policy refuses the request.
MODERATION = {"content_policy_violation", "moderation_blocked", "content_filter"}

# The kind of fault of an attempt that got no whole answer in time.
TIMEOUT = "timeout"
# How often a call is sent that meets an error without any status.
ERROR_TRIES = 3
# What Anthropic says of both, whose code is that of any bad request (docs.claude.com/en/api/errors).
NO_CREDIT_SAID, MODERATION_SAID = "credit balance is too low", "content filtering policy"


class RetryPolicy(StrEnum):
    """What to do about a fault."""

    RETRY = "retry"
    RECORD = "record"
    STOP = "stop"


@dataclass(frozen=True)
class Fault:
    """Something that went wrong with one attempt.

    `status` and `reason` are what the item ends with if no attempt goes well; `wait` is how many seconds the server
    asks to wait; `tries` bounds the attempts that may end this way; `sent` says that the server may have done the work,
    `usage` what it charged, and `text` what it wrote, where that is kept. `final` says that a later run should not try
    again; `systematic` that it is likely to be no fault of this call: if all the first calls end so, the run does.
    """

    kind: str
    reaction: RetryPolicy
    reason: str
    status: Status = Status.TRANSPORT_ERROR
    wait: float | None = None
    tries: int | None = None
    throttled: bool = False
    sent: bool = False
    final: bool = False
    systematic: bool = False
    usage: Usage | None = None
    text: str = ""
    raw: Any = None


def retry(kind: str, reason: str, **more: Any) -> Fault:
    """A fault that may pass."""
    return Fault(kind, RetryPolicy.RETRY, reason, **more)


def record(kind: str, status: Status, reason: str, **more: Any) -> Fault:
    """A fault that stands; it was paid for, so that no later run tries again unless `final` says otherwise."""
    return Fault(kind, RetryPolicy.RECORD, reason, status, **{"final": True, **more})


def of_status(status: int, headers: Mapping[str, str], body: Any, key_env: str) -> Fault | None:
    """The fault that an HTTP status tells; None for a success. An error that will not pass is not tried again.

    Args:
        status: the HTTP status, also one that stands inside a body that came with 200.
        headers: the response's, in lower case.
        body: the JSON body, or None.
        key_env: the environment variable that holds the key, for the user.
    """
    return None if 200 <= status < 300 else _fault(status, f"HTTP {status}: {message_of(body)}", headers, body, key_env)


def of_error(body: Any, key_env: str) -> Fault:
    """The fault of an error that came with HTTP 200 and names no status of its own."""
    fault = _fault(500, f"the server answers with an error: {message_of(body)}", {}, body, key_env)
    unnamed = fault.reaction is RetryPolicy.RETRY
    return replace(fault, kind="error", tries=ERROR_TRIES, systematic=True) if unnamed else fault


def _fault(status: int, message: str, headers: Mapping[str, str], body: Any, key_env: str) -> Fault:
    # What an error calls itself: OpenAI's code and type, and the reasons in Google's details.
    error = as_dict(_error(body))
    reasons = [detail.get("reason") for detail in _details(body)]
    codes = {code for code in (error.get("code"), error.get("type"), *reasons) if isinstance(code, str)}
    wait = retry_after(headers)
    if not wait:  # as Google says it: the `retryDelay` of a `RetryInfo`, such as 7.5s (google.rpc, error_details.proto)
        delays = (str(detail.get("retryDelay", "")).removesuffix("s") for detail in _details(body))
        wait = next((seconds for value in delays if (seconds := _seconds(value)) > 0), None)
    if status == 401 or codes & BAD_KEY:
        refused = f"the key in {key_env} is refused ({message}); set {key_env} to a valid one"
        wanted = f"a key is wanted ({message}); name the environment variable that holds it by key_env"
        return Fault("key", RetryPolicy.STOP, refused if key_env else wanted)
    if (status == 402 and wait is None) or codes & NO_CREDIT or NO_CREDIT_SAID in message:
        account = f"the account of {key_env}" if key_env else "the account"
        return Fault("credit", RetryPolicy.STOP, f"no credit left ({message}); add credit to {account}")
    if codes & MODERATION or MODERATION_SAID in message:
        return record("moderated", Status.MODERATED, message, raw=body)
    if status == 403:
        # Moderation where the server names reasons; else the account may not use the model.
        if "reasons" in as_dict(as_dict(_error(body)).get("metadata")):
            return record("moderated", Status.MODERATED, message, raw=body)
        key = f"the key in {key_env}" if key_env else "a client without a key (key_env)"
        return Fault("forbidden", RetryPolicy.STOP, f"not allowed ({message}); check {key} and what it may use")
    if status not in RETRIED | THROTTLED and (kind := lasting(message, codes)):
        return record(kind, Status.REJECTED, f"{message}; {ADVICE[kind]}", final=False, systematic=True, raw=body)
    if status == 402 or status in RETRIED or status >= 500:
        return retry(f"http_{status}", message, wait=wait, throttled=status in THROTTLED)
    if status < 400:
        message = f"HTTP {status}, a redirect, which is not followed; set base_url to where it leads"
    return record(f"http_{status}", Status.REJECTED, message, final=False, systematic=True, raw=body)


def message_of(body: Any) -> str:
    """What an error body says, in one line of at most 300 characters."""
    error = _error(body)
    message = as_dict(error).get("message") or as_dict(body).get("detail") or error
    text = " ".join(str(message).split()) if message else "no reason given"
    return text if len(text) <= 300 else f"{text[:299]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds the server asks to wait, by Retry-After-Ms or Retry-After (seconds or a date), if any."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name, "")) / unit
        if seconds > 0:  # false for NaN, too
            return seconds
    return None


def _seconds(value: str) -> float:
    """A header's number, or how far its date lies ahead; NaN where it is neither."""
    with suppress(ValueError):
        return float(value)
    with suppress(TypeError, ValueError, IndexError, OverflowError):
        return parsedate_to_datetime(value).timestamp() - time.time()
    return math.nan


def _error(body: Any) -> Any:
    """The error in a body; Gemini wraps it in a list."""
    first = body[0] if isinstance(body, list) and body else body
    return as_dict(first).get("error", first)


def _details(body: Any) -> list[dict[str, Any]]:
    details = as_dict(_error(body)).get("details")
    return [as_dict(detail) for detail in details] if isinstance(details, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """An object of JSON; an empty one where it is something else."""
    return value if isinstance(value, dict) else {}
