"""OpenAI's batches: a file of requests is uploaded, a batch made of it, its files of answers read.

See developers.openai.com/api/docs/guides/batch. The file is named, and the batch marked in its metadata, by our own id,
by which either is found again. Both are listed newest first; OpenAI removes files of batches after 30 days.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import IO, Any, Literal

from cfeval.core.records import Status
from cfeval.inference.remote.batch_api import Progress
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault, RetryPolicy, of_status, record, retry
from cfeval.inference.remote.http import Endpoint, Send, exchange, fault_of, read_json, respond
from cfeval.inference.remote.sdks import openai

BatchPath = Literal["/v1/chat/completions", "/v1/responses"]
"""Where the calls of a batch would go at once."""
MAX_REQUESTS = 2_000
"""Calls of one batch: OpenAI takes 50,000, but an answer is read up to `http.MAX_BYTES`, 32 kB a call."""
MAX_BYTES = 200_000_000
"""Bytes of the file of a batch, as OpenAI takes it."""
SLOWEST = 125_000
"""Bytes a second that an upload makes at least: it has the longer for it."""
MARK = "cfeval_batch"
"""The name of our id in a batch's metadata."""
OVER = ("completed", "failed", "expired", "cancelled")
"""The states that a batch does not leave."""
LIMIT = "token_limit_exceeded"
"""The code of a batch that would bring the tokens in an account's batches over their limit."""
EXPIRED_TRIES = 2
"""How often a call is asked by batches that expire: each takes a day."""
_SKEW = 3600.0
"""Seconds that the clocks of OpenAI and of this machine may differ."""
_PAGE = 100


class OpenAIBatches:
    """The batches of an account at a server of OpenAI's protocol, for one model."""

    max_requests = MAX_REQUESTS
    max_bytes = MAX_BYTES

    def __init__(self, attempts: RetryLoop, where: Endpoint, path: BatchPath) -> None:
        """`path` is that of the calls."""
        self.lane = f"{where.base_url} {where.key_env} {path} {attempts.call.model}"
        self._where, self._path, self._seconds = where, path, attempts.caller.settings.timeout
        self._sdk = openai(attempts.client, where)

    def line(self, key: str, body: Mapping[str, Any]) -> bytes:
        """A request as it is in the file of a batch."""
        request = {"custom_id": key, "method": "POST", "url": self._path, "body": body}
        return json.dumps(request).encode() + b"\n"

    async def submit(self, name: str, content: IO[bytes]) -> str | Fault:
        """Upload the file and make the batch."""
        size = content.seek(0, 2)
        content.seek(0)
        file = _file(name), content, "application/jsonl"
        seconds = self._seconds + size / SLOWEST
        said = await exchange(self._where, seconds, lambda: self._sdk.files.create(file=file, purpose="batch"))
        number = _id(said)
        return number if isinstance(number, Fault) else await self._create(name, number)

    async def _create(self, name: str, file: str) -> str | Fault:
        said = await self._exchange(
            lambda: self._sdk.batches.create(
                completion_window="24h", endpoint=self._path, input_file_id=file, metadata={MARK: name}
            )
        )
        if isinstance(said, Fault) and said.reaction is RetryPolicy.RECORD and file in said.reason:
            return retry("batch_file", said.reason)  # for a moment after the upload the file may not be found
        return _id(said)

    async def find(self, name: str, since: float) -> str | Fault | None:
        """The batch, by its metadata; where there is only its file, the batch is made of it."""
        batches = self._sdk.batches.list
        batch = await self._listed(batches, since, lambda one: _dict(one.get("metadata")).get(MARK) == name)
        if batch is not None:
            return batch
        files = partial(self._sdk.files.list, order="desc", purpose="batch")
        file = await self._listed(files, since, lambda one: one.get("filename") == _file(name))
        return await self._create(name, file) if isinstance(file, str) else file

    async def _listed(
        self, pages: Callable[..., Any], since: float, wanted: Callable[[dict[str, Any]], bool]
    ) -> str | Fault | None:
        """The id of the newest entry that is wanted, of those made since then (Unix time)."""
        after: dict[str, str] = {}
        while True:
            said = await self._exchange(partial(_first, pages, after))
            if isinstance(said, Fault):
                return said
            page = _dict(said).get("data")
            if not isinstance(page, list):
                return retry("bad_body", "the answer is no list")
            entries = [_dict(entry) for entry in page]
            found = next((entry for entry in entries if wanted(entry)), None)
            if found is not None:
                return _id(found)
            recent = [entry for entry in entries if _whole(entry.get("created_at")) > since - _SKEW]
            if not said.get("has_more") or not recent:
                return None
            after = {"after": str(entries[-1].get("id"))}

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is."""
        said = await self._exchange(lambda: self._sdk.batches.retrieve(remote))
        if isinstance(said, Fault):
            return said
        state, counts = str(_dict(said).get("status")), _dict(_dict(said).get("request_counts"))
        done = _whole(counts.get("completed")) + _whole(counts.get("failed"))
        refused = state == "failed" and _error(_dict(said)).get("code") == LIMIT
        return Progress(state, state in OVER, done, _whole(counts.get("total")), refused, _dict(said))

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What the files of answers and of errors say, whose lines come in any order."""
        found: dict[str, dict[str, Any]] = {}
        for name in ("error_file_id", "output_file_id"):
            file = progress.raw.get(name)
            lines = await self._lines(str(file)) if file else []
            if isinstance(lines, Fault):
                return lines
            found |= {str(line.get("custom_id")): _outcome(line) for line in lines}
        return found

    async def _lines(self, file: str) -> list[dict[str, Any]] | Fault:
        response = await respond(self._where, self._seconds, lambda: self._sdk.files.content(file))
        if isinstance(response, Fault):
            return response
        return fault_of(self._where, response) or read_lines(self._where, response.content)

    async def _exchange(self, send: Send) -> Any:
        return await exchange(self._where, self._seconds, send)

    def missing(self, progress: Progress) -> dict[str, Any]:
        """What came of a call that is in neither file: what the batch itself says."""
        if progress.state == "failed":
            return {"status": 429 if progress.refused else 400, "body": {"error": _error(progress.raw)}}
        codes = {"expired": "batch_expired", "cancelled": "batch_cancelled"}
        return {"error": {"code": codes.get(progress.state, "missing")}}

    def read(self, outcome: Mapping[str, Any]) -> Any | Fault:
        """The answer of the server to the call, or what became of it instead."""
        error = outcome.get("error")
        if error:
            return _fault(_dict(error))
        fault = of_status(_whole(outcome.get("status")), {}, outcome.get("body"), self._where.key_env)
        return outcome.get("body") if fault is None else fault


def read_lines(where: Endpoint, content: bytes) -> list[dict[str, Any]] | Fault:
    """The objects of a file of JSON lines, or the fault that one is none."""
    lines = [read_json(where, line) for line in content.split(b"\n") if line.strip()]
    bad = next((line for line in lines if not isinstance(line, dict)), None)
    if bad is None:
        return lines
    return bad if isinstance(bad, Fault) else retry("bad_body", "a line of the answers is no object")


def _fault(error: Mapping[str, Any]) -> Fault:
    """Why a batch holds no answer to a call; see BatchRequestOutputError in OpenAI's specification."""
    code = str(error.get("code"))
    said = f"{error.get('message') or code}"
    if code == "batch_cancelled":
        reason = "the batch was cancelled at the provider before this call was made; the next run asks it again"
        return record(code, Status.TRANSPORT_ERROR, reason, final=False)
    if code == "batch_expired":
        return retry(code, "the batch expired before this call was made", tries=EXPIRED_TRIES)
    if code == "missing":
        return retry("batch_missing", "the batch ended without a word about this call", sent=True)
    return retry("batch_error", f"the batch could not make this call: {' '.join(said.split())}", sent=True)


def _outcome(line: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a line: the status and the body of the response, or the error."""
    response = _dict(line.get("response"))
    if not response:
        return {"error": _dict(line.get("error")) or {"code": "missing"}}
    return {"status": _whole(response.get("status_code")), "body": response.get("body")}


def _error(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The first error of a batch that failed."""
    errors = _dict(batch.get("errors")).get("data")
    return _dict(errors[0]) if isinstance(errors, list) and errors else {"message": "no reason given"}


async def _first(pages: Callable[..., Any], after: Mapping[str, str]) -> None:
    """Ask for a page of a list."""
    await pages(limit=_PAGE, **after)


def _file(name: str) -> str:
    return f"cfeval-{name}.jsonl"


def _id(said: Any) -> str | Fault:
    if isinstance(said, Fault):
        return said
    found = _dict(said).get("id")
    return found if isinstance(found, str) and found else retry("bad_body", "the answer names no id", sent=True)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
