"""Anthropic's Message Batches: all requests go in one body, and their results are read from one file.

See platform.claude.com/docs/en/build-with-claude/batch-processing. A batch has neither name nor metadata, and does not
show its requests, but its results tell the `custom_id` of each. So this has our own id beside the key of the call, and
a batch is found again, once it has ended, among those of as many requests that were made since. Results can be read for
29 days.
"""

import base64
import json
from collections.abc import Mapping
from typing import IO, Any

import httpx2

from cfeval.inference.remote.batch_account import (
    CANCELLED,
    EXPIRED,
    MISSING,
    SKEW,
    BatchAccount,
    as_dict,
    entries,
    size_of,
    submitted,
    unix_time,
    whole,
)
from cfeval.inference.remote.batch_api import Progress
from cfeval.inference.remote.batch_db import Sought
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.sdks import anthropic

# The HTTP status of each type of error: platform.claude.com/docs/en/api/errors.
STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
# Characters of a key, 32 bytes, in base64 without its padding; a `custom_id` has 64, letters, digits, - and _.
_KEY = 43
_PAGE = 100


class AnthropicBatches(BatchAccount):
    """The batches of a workspace at Anthropic, for one model."""

    def __init__(self, attempts: RetryLoop, where: Endpoint) -> None:
        super().__init__(attempts, where, "/v1/messages")
        self._sdk, self._pause = anthropic(attempts.client, where), attempts.caller.batches.pause

    def line(self, name: str, key: str, body: Mapping[str, Any]) -> bytes:
        """A request as it is in the body of a batch."""
        return json.dumps({"custom_id": custom_id(name, key), "params": body}).encode() + b"\n"

    async def submit(self, _: str, content: IO[bytes]) -> str | Fault:
        """Make the batch."""
        size = size_of(content)
        requests = [json.loads(line) for line in content]
        return submitted(await self._exchange(lambda: self._sdk.messages.batches.create(requests=requests), size), "id")

    async def find(self, sought: Sought) -> str | Fault | None:
        """The batch, by the ids in its results: waits until it ends, or every other that may be it has."""
        others = set(sought.others)
        while True:
            listed = await self._listed(sought)
            if isinstance(listed, Fault):
                return listed
            left = {str(batch.get("id")): batch for batch in listed if batch.get("id") not in others}
            for remote, batch in left.items():
                if batch.get("processing_status") == "ended":
                    mark = await self._mark(remote)
                    if isinstance(mark, Fault):
                        return mark
                    if mark == _mark(sought.name):
                        return remote
                    others.add(remote)
            if others.issuperset(left):
                return None
            await self._pause()

    async def _listed(self, sought: Sought) -> list[dict[str, Any]] | Fault:
        """The batches of as many requests that were made since; Anthropic lists the newest first."""
        found: list[dict[str, Any]] = []
        after: dict[str, str] = {}
        while True:
            said = await self._exchange(lambda: _first(self._sdk.messages.batches.list(limit=_PAGE, **after)))  # noqa: B023
            page = entries(said, "data")
            if isinstance(page, Fault):
                return page
            recent = [batch for batch in page if unix_time(batch.get("created_at")) > sought.since - SKEW]
            found += [batch for batch in recent if sum(_counts(batch).values()) == sought.calls]
            if not said.get("has_more") or not recent:
                return found
            after = {"after_id": str(page[-1].get("id"))}

    async def _mark(self, remote: str) -> str | Fault:
        """What our id left in the results of a batch; nothing where they cannot be read any more."""
        lines = await self._results(remote)
        if isinstance(lines, Fault):
            return "" if lines.kind == "http_404" else lines
        return str(lines[0].get("custom_id"))[_KEY:] if lines else ""

    async def _results(self, remote: str) -> list[dict[str, Any]] | Fault:
        """The results, at the address that they have at the one asked: the key goes nowhere else."""
        path = f"/v1/messages/batches/{remote}/results"
        return await self._lines(lambda: self._sdk.get(path, cast_to=httpx2.Response))

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is; requests count as done when all are."""
        said = await self._exchange(lambda: self._sdk.messages.batches.retrieve(remote))
        if isinstance(said, Fault):
            return said
        state, counts = str(as_dict(said).get("processing_status")), _counts(as_dict(said))
        total = sum(counts.values())
        return Progress(state, state == "ended", total - counts.get("processing", 0), total, False, {"id": remote})

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What the results say, whose lines come in any order."""
        lines = await self._results(str(progress.raw["id"]))
        if isinstance(lines, Fault):
            return lines
        return {key_of(str(line.get("custom_id"))): _outcome(as_dict(line.get("result"))) for line in lines}

    def missing(self, _: Progress) -> dict[str, Any]:
        """What came of a call that the results lack."""
        return {"error": {"code": MISSING}}


def custom_id(name: str, key: str) -> str:
    """The key of a call and as much of our id of its batch as there is room for."""
    return base64.urlsafe_b64encode(bytes.fromhex(key)).decode()[:_KEY] + _mark(name)


def key_of(custom: str) -> str:
    """The key in a `custom_id`; another's is no key, and nothing waits for it."""
    try:
        return base64.b64decode(custom[:_KEY] + "=", altchars=b"-_", validate=True).hex()
    except ValueError:
        return ""


def _mark(name: str) -> str:
    return name[: 64 - _KEY]


def _outcome(result: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a result: the message as its answer, or the error."""
    kind = result.get("type")
    if kind == "succeeded":
        return {"status": 200, "body": result.get("message")}
    if kind == "errored":
        error = as_dict(as_dict(result.get("error")).get("error"))
        return {"status": STATUS.get(str(error.get("type")), 500), "body": {"error": error}}
    return {"error": {"code": {"canceled": CANCELLED, "expired": EXPIRED}.get(str(kind), MISSING)}}


def _counts(batch: Mapping[str, Any]) -> dict[str, int]:
    return {state: whole(number) for state, number in as_dict(batch.get("request_counts")).items()}


async def _first(pages: Any) -> None:
    """Ask for a page of a list."""
    await pages
