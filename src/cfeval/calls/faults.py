"""Everything that goes wrong between us and a provider, and the one right reaction to each.

retry    wait as the server says, else with jittered exponential back-off, and send the same again
record   the item ends with this status; it is never retried into an answer
stop     every further call would fail the same way: end the run with one line
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from cfeval.calls.call import Usage
from cfeval.records.common import Status

RETRIED = {408, 409, 425, 429}
"""HTTP statuses below 500 that pass; of those from 500 on, all may."""
THROTTLED = {429, 503, 529}
"""HTTP statuses that ask for fewer calls at once."""


class Reaction(StrEnum):
    """What to do about a fault."""

    RETRY = "retry"
    RECORD = "record"
    STOP = "stop"


@dataclass(frozen=True)
class Fault:
    """Something that went wrong with one attempt.

    `status` and `reason` are what the item ends with if no attempt goes well; `wait` is how many seconds the server
    asks to wait; `tries` bounds the attempts that may end this way; `sent` says that the server may have done the work,
    and `usage` what it charged. `final` says that a later run should not try again; `systematic` that it is likely to
    be no fault of this call: if all the first calls end so, the run does.
    """

    kind: str
    reaction: Reaction
    reason: str
    status: Status = Status.TRANSPORT_ERROR
    wait: float | None = None
    tries: int | None = None
    throttled: bool = False
    sent: bool = False
    final: bool = False
    systematic: bool = False
    usage: Usage | None = None
    raw: Any = None


def retry(kind: str, reason: str, **more: Any) -> Fault:
    """A fault that may pass."""
    return Fault(kind, Reaction.RETRY, reason, **more)


def record(kind: str, status: Status, reason: str, **more: Any) -> Fault:
    """A fault that stands; it was paid for, so that no later run tries again unless `final` says otherwise."""
    return Fault(kind, Reaction.RECORD, reason, status, **{"final": True, **more})


def of_status(status: int, headers: Mapping[str, str], body: Any, key_env: str) -> Fault | None:
    """The fault that an HTTP status tells; None for a success.

    Args:
        status: the HTTP status, also one that stands inside a body that came with 200.
        headers: the response's, in lower case.
        body: the JSON body, or None.
        key_env: the environment variable that holds the key, for the user.
    """
    if 200 <= status < 300:
        return None
    said = f"HTTP {status}: {message_of(body)}"
    wait = retry_after(headers)
    if status == 401:
        return Fault("key", Reaction.STOP, f"the key in {key_env} is refused ({said}); set {key_env} to a valid one")
    if status == 402 and wait is None:
        return Fault("credit", Reaction.STOP, f"no credit left ({said}); add credit to the account of {key_env}")
    if status == 403:
        return _forbidden(said, body, key_env)
    if status == 402 or status in RETRIED or status >= 500:
        return retry(f"http_{status}", said, wait=wait, throttled=status in THROTTLED)
    return record(f"http_{status}", Status.REJECTED, said, final=False, systematic=True, raw=body)


def _forbidden(said: str, body: Any, key_env: str) -> Fault:
    """Moderation where the server names reasons; else the account may not use the model."""
    if "reasons" in _metadata(body):
        return record("moderated", Status.MODERATED, said, raw=body)
    return Fault("forbidden", Reaction.STOP, f"not allowed ({said}); check what the key in {key_env} may use")


def message_of(body: Any) -> str:
    """What an error body says, in one line of at most 300 characters; Gemini wraps it in a list."""
    if isinstance(body, list) and body:
        body = body[0]
    error = _dict(body).get("error", body)
    said = _dict(error).get("message") or _dict(body).get("detail") or error
    text = " ".join(str(said).split()) if said else "no reason given"
    return text if len(text) <= 300 else f"{text[:299]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds the server asks to wait, from Retry-After-Ms or Retry-After (seconds or a date)."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) / unit)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except (TypeError, ValueError):
            continue
    return None


def _metadata(body: Any) -> dict[str, Any]:
    return _dict(_dict(_dict(body).get("error")).get("metadata"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
