"""What the batches of every provider here share: sizes, how their answers are read, what is said of a call without one.

What came of a call is kept as `{"status", "body"}`, those of the HTTP answer that it would have had if it had been
asked at once, or as `{"error": {"code"}}` where the batch holds no answer: `CANCELLED`, `EXPIRED`, `MISSING`, or
another, with a message.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import IO, Any

from cfeval.core.records import Status
from cfeval.inference.remote.batch_api import REFUSED
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault, RetryPolicy, of_status, record, retry
from cfeval.inference.remote.http import Endpoint, Send, exchange, fault_of, read_json, respond

# Calls of one batch: providers take more, but an answer is read up to `http.MAX_BYTES`, 32 kB a call.
MAX_REQUESTS = 2_000
# Bytes of all requests of a batch: OpenAI takes so many, Anthropic 256 MB, Google 2 GB.
MAX_BYTES = 200_000_000
# Bytes a second that an upload makes at least: it has the longer for it.
SLOWEST = 125_000
# Seconds that the clocks of a provider and of this machine may differ.
SKEW = 3600.0
# How often a call is asked by batches that expire: each takes a day.
EXPIRED_TRIES = 2
# Why a batch holds no answer to a call; the first two are OpenAI's words.
CANCELLED, EXPIRED, MISSING = "batch_cancelled", "batch_expired", "missing"


class BatchAccount:
    """The batches of an account at an address, for one model; a provider's class says how they are made and found."""

    max_requests = MAX_REQUESTS
    max_bytes = MAX_BYTES

    def __init__(self, attempts: RetryLoop, where: Endpoint, path: str) -> None:
        """`path` tells apart what cannot go in one batch."""
        self.lane = f"{where.base_url} {where.key_env} {path} {attempts.call.model}"
        self._where, self._seconds = where, attempts.caller.settings.timeout

    async def _exchange(self, send: Send, size: int = 0) -> Any:
        """The JSON of an answer, or a Fault; `size` bytes are sent."""
        return await exchange(self._where, self._seconds + size / SLOWEST, send)

    async def _lines(self, send: Send) -> list[dict[str, Any]] | Fault:
        """The objects of a file of JSON lines."""
        response = await respond(self._where, self._seconds, send)
        if isinstance(response, Fault):
            return response
        return fault_of(self._where, response) or read_lines(self._where, response.content)

    def read(self, outcome: Mapping[str, Any]) -> Any | Fault:
        """The answer of the server to the call, or what became of it instead."""
        error = outcome.get("error")
        if error:
            return _unanswered(as_dict(error))
        fault = of_status(whole(outcome.get("status")), {}, outcome.get("body"), self._where.key_env)
        return outcome.get("body") if fault is None else fault


def read_lines(where: Endpoint, content: bytes) -> list[dict[str, Any]] | Fault:
    """The objects of a file of JSON lines, or the fault that one is none."""
    lines = [read_json(where, line) for line in content.split(b"\n") if line.strip()]
    bad = next((line for line in lines if not isinstance(line, dict)), None)
    if bad is None:
        return lines
    return bad if isinstance(bad, Fault) else retry("bad_body", "a line of the answers is no object")


def size_of(content: IO[bytes]) -> int:
    """How many bytes a file has, which is at its beginning afterwards."""
    size = content.seek(0, 2)
    content.seek(0)
    return size


def submitted(said: Any, field: str, file: str = "") -> str | Fault:
    """The provider's name of a batch that is to be made, or why there is none: `REFUSED` for a limit of the account."""
    if isinstance(said, Fault) and said.kind == "http_429":
        return replace(said, kind=REFUSED)
    if isinstance(said, Fault) and file and said.reaction is RetryPolicy.RECORD and file in said.reason:
        return retry("batch_file", said.reason)  # for a moment after the upload the file may not be found
    return named(said, field)


def named(said: Any, field: str) -> str | Fault:
    """The name in an answer that tells it by `field`."""
    if isinstance(said, Fault):
        return said
    found = as_dict(said).get(field)
    return found if isinstance(found, str) and found else retry("bad_body", f"the answer names no {field}", sent=True)


def entries(said: Any, field: str) -> list[dict[str, Any]] | Fault:
    """The entries of a page of a list, or the fault that it is none."""
    if isinstance(said, Fault):
        return said
    page = as_dict(said).get(field, [])
    return [as_dict(entry) for entry in page] if isinstance(page, list) else retry("bad_body", "the answer is no list")


def unix_time(said: Any) -> float:
    """The Unix time of an RFC 3339 date; 0 where it is none."""
    try:
        return datetime.fromisoformat(str(said)).timestamp()
    except ValueError:
        return 0.0


def whole(value: Any) -> int:
    """A whole number, also one that Google writes as a text; 0 where it is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def as_dict(value: Any) -> dict[str, Any]:
    """An object of JSON; an empty one where it is something else."""
    return value if isinstance(value, dict) else {}


def _unanswered(error: Mapping[str, Any]) -> Fault:
    """Why a batch holds no answer to a call; see BatchRequestOutputError in OpenAI's specification."""
    code = str(error.get("code"))
    said = f"{error.get('message') or code}"
    if code == CANCELLED:
        reason = "the batch was cancelled at the provider before this call was made; the next run asks it again"
        return record(code, Status.TRANSPORT_ERROR, reason, final=False)
    if code == EXPIRED:
        return retry(code, "the batch expired before this call was made", tries=EXPIRED_TRIES)
    if code == MISSING:
        return retry("batch_missing", "the batch ended without a word about this call", sent=True)
    return retry("batch_error", f"the batch could not make this call: {' '.join(said.split())}", sent=True)
