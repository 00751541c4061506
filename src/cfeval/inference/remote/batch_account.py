"""What the batches of every provider here share: sizes, how their answers are read, what is said of a call without one.

What came of a call is kept as `{"status", "body"}`, those of the HTTP answer that it would have had if it had been
asked at once, or as `{"error": {"code"}}` where the batch holds no answer: `CANCELLED`, `EXPIRED`, `MISSING`, or
another, with a message.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import IO, Any, Literal

from cfeval.core.records import Status
from cfeval.inference.remote.batches import REFUSED, Progress
from cfeval.inference.remote.cache_db import Sought
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault, RetryPolicy, as_dict, of_status, record, retry
from cfeval.inference.remote.http import Endpoint, Send, exchange, fault_of, read_json, respond
from cfeval.inference.remote.sdks import openai

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
        response = await respond(self._where, self._seconds, send)
        if isinstance(response, Fault):
            return response
        if fault := fault_of(self._where, response):
            return fault
        lines = [read_json(self._where, line) for line in response.content.split(b"\n") if line.strip()]
        bad = next((line for line in lines if not isinstance(line, dict)), None)
        if bad is None:
            return lines
        return bad if isinstance(bad, Fault) else retry("bad_body", "a line of the answers is no object")

    def read(self, outcome: Mapping[str, Any]) -> Any | Fault:
        """The answer of the server to the call, or what became of it instead.

        See BatchRequestOutputError in OpenAI's specification.
        """
        error = as_dict(outcome.get("error"))
        if not outcome.get("error"):
            fault = of_status(whole(outcome.get("status")), {}, outcome.get("body"), self._where.key_env)
            return outcome.get("body") if fault is None else fault
        code = str(error.get("code"))
        message = f"{error.get('message') or code}"
        if code == CANCELLED:
            reason = "the batch was cancelled at the provider before this call was made; the next run asks it again"
            return record(code, Status.TRANSPORT_ERROR, reason, final=False)
        if code == EXPIRED:
            return retry(code, "the batch expired before this call was made", tries=EXPIRED_TRIES)
        if code == MISSING:
            return retry("batch_missing", "the batch ended without a word about this call", sent=True)
        return retry("batch_error", f"the batch could not make this call: {' '.join(message.split())}", sent=True)


def size_of(content: IO[bytes]) -> int:
    """How many bytes a file has, which is at its beginning afterwards."""
    size = content.seek(0, 2)
    content.seek(0)
    return size


def submitted(reply: Any, field: str, file: str = "") -> str | Fault:
    """The provider's name of a batch that is to be made, or why there is none: `REFUSED` for a limit of the account."""
    if isinstance(reply, Fault) and reply.kind == "http_429":
        return replace(reply, kind=REFUSED)
    if isinstance(reply, Fault) and file and reply.reaction is RetryPolicy.RECORD and file in reply.reason:
        return retry("batch_file", reply.reason)  # for a moment after the upload the file may not be found
    return named(reply, field)


def named(reply: Any, field: str) -> str | Fault:
    """The name in an answer that tells it by `field`."""
    if isinstance(reply, Fault):
        return reply
    name = as_dict(reply).get(field)
    return name if isinstance(name, str) and name else retry("bad_body", f"the answer names no {field}", sent=True)


def entries(reply: Any, field: str) -> list[dict[str, Any]] | Fault:
    """The entries of a page of a list, or the fault that it is none."""
    if isinstance(reply, Fault):
        return reply
    page = as_dict(reply).get(field, [])
    return [as_dict(entry) for entry in page] if isinstance(page, list) else retry("bad_body", "the answer is no list")


def unix_time(date: Any) -> float:
    """The Unix time of an RFC 3339 date; 0 where it is none."""
    try:
        return datetime.fromisoformat(str(date)).timestamp()
    except ValueError:
        return 0.0


def whole(value: Any) -> int:
    """A whole number, also one that Google writes as a text; 0 where it is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


# Where the calls of a batch would go at once.
BatchPath = Literal["/v1/chat/completions", "/v1/responses"]
# The name of our id in a batch's metadata.
MARK = "cfeval_batch"
# The states that a batch does not leave.
OVER = ("completed", "failed", "expired", "cancelled")
# The code of a batch that would bring the tokens in an account's batches over their limit.
LIMIT = "token_limit_exceeded"
_PAGE = 100


class OpenAIBatches(BatchAccount):
    """The batches of an account at a server of OpenAI's protocol, for one model.

    A file of requests is uploaded, a batch made of it, its files of answers read: see
    developers.openai.com/api/docs/guides/batch. The file is named, and the batch marked in its metadata, by our own id,
    by which either is found again. Both are listed newest first; OpenAI removes files of batches after 30 days.
    """

    def __init__(self, attempts: RetryLoop, where: Endpoint, path: BatchPath) -> None:
        """`path` is that of the calls."""
        super().__init__(attempts, where, path)
        self._path = path
        self._sdk = openai(attempts.client, where)

    def line(self, _: str, key: str, body: Mapping[str, Any]) -> bytes:
        """A request as it is in the file of a batch."""
        request = {"custom_id": key, "method": "POST", "url": self._path, "body": body}
        return json.dumps(request).encode() + b"\n"

    async def submit(self, name: str, content: IO[bytes]) -> str | Fault:
        """Upload the file and make the batch."""
        size = size_of(content)
        file = _file(name), content, "application/jsonl"
        number = named(await self._exchange(lambda: self._sdk.files.create(file=file, purpose="batch"), size), "id")
        return number if isinstance(number, Fault) else await self._create(name, number)

    async def _create(self, name: str, file: str) -> str | Fault:
        reply = await self._exchange(
            lambda: self._sdk.batches.create(
                completion_window="24h", endpoint=self._path, input_file_id=file, metadata={MARK: name}
            )
        )
        return submitted(reply, "id", file)

    async def find(self, sought: Sought) -> str | Fault | None:
        """The batch, by its metadata; where there is only its file, the batch is made of it."""
        batches = self._sdk.batches.list
        wanted = sought.name
        batch = await self._listed(batches, sought, lambda entry: as_dict(entry.get("metadata")).get(MARK) == wanted)
        if batch is not None:
            return batch
        files = partial(self._sdk.files.list, order="desc", purpose="batch")
        file = await self._listed(files, sought, lambda entry: entry.get("filename") == _file(wanted))
        return await self._create(wanted, file) if isinstance(file, str) else file

    async def _listed(
        self, pages: Callable[..., Any], sought: Sought, wanted: Callable[[dict[str, Any]], bool]
    ) -> str | Fault | None:
        """The id of the newest entry that is wanted, of those made since the batch that is sought began."""
        after: dict[str, str] = {}
        while True:
            reply = await self._exchange(partial(_first, pages, after))
            page = entries(reply, "data")
            if isinstance(page, Fault):
                return page
            match = next((entry for entry in page if wanted(entry)), None)
            if match is not None:
                return named(match, "id")
            recent = [entry for entry in page if whole(entry.get("created_at")) > sought.since - SKEW]
            if not reply.get("has_more") or not recent:
                return None
            after = {"after": str(page[-1].get("id"))}

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is."""
        reply = await self._exchange(lambda: self._sdk.batches.retrieve(remote))
        if isinstance(reply, Fault):
            return reply
        state, counts = str(as_dict(reply).get("status")), as_dict(as_dict(reply).get("request_counts"))
        done = whole(counts.get("completed")) + whole(counts.get("failed"))
        refused = state == "failed" and _error(as_dict(reply)).get("code") == LIMIT
        return Progress(state, state in OVER, done, whole(counts.get("total")), refused, as_dict(reply))

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What the files of answers and of errors say, whose lines come in any order."""
        outcomes: dict[str, dict[str, Any]] = {}
        for name in ("error_file_id", "output_file_id"):
            file = progress.raw.get(name)
            lines = await self._lines(partial(self._sdk.files.content, str(file))) if file else []
            if isinstance(lines, Fault):
                return lines
            outcomes |= {str(line.get("custom_id")): _outcome(line) for line in lines}
        return outcomes

    def missing(self, progress: Progress) -> dict[str, Any]:
        """What came of a call that is in neither file: what the batch itself says."""
        if progress.state == "failed":
            return {"status": 429 if progress.refused else 400, "body": {"error": _error(progress.raw)}}
        codes = {"expired": EXPIRED, "cancelled": CANCELLED}
        return {"error": {"code": codes.get(progress.state, MISSING)}}


def _outcome(line: Mapping[str, Any]) -> dict[str, Any]:
    response = as_dict(line.get("response"))
    if not response:
        return {"error": as_dict(line.get("error")) or {"code": MISSING}}
    return {"status": whole(response.get("status_code")), "body": response.get("body")}


def _error(batch: Mapping[str, Any]) -> dict[str, Any]:
    errors = as_dict(batch.get("errors")).get("data")
    return as_dict(errors[0]) if isinstance(errors, list) and errors else {"message": "no reason given"}


async def _first(pages: Callable[..., Any], after: Mapping[str, str]) -> None:
    """Ask for a page of a list."""
    await pages(limit=_PAGE, **after)


def _file(name: str) -> str:
    return f"cfeval-{name}.jsonl"
