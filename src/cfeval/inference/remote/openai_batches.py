"""OpenAI's batches: a file of requests is uploaded, a batch made of it, its files of answers read.

See developers.openai.com/api/docs/guides/batch. The file is named, and the batch marked in its metadata, by our own id,
by which either is found again. Both are listed newest first; OpenAI removes files of batches after 30 days.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import IO, Any, Literal

from cfeval.inference.remote.batch_account import (
    CANCELLED,
    EXPIRED,
    MISSING,
    SKEW,
    BatchAccount,
    as_dict,
    entries,
    named,
    size_of,
    submitted,
    whole,
)
from cfeval.inference.remote.batch_api import Progress
from cfeval.inference.remote.batch_db import Sought
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.sdks import openai

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
    """The batches of an account at a server of OpenAI's protocol, for one model."""

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
        said = await self._exchange(
            lambda: self._sdk.batches.create(
                completion_window="24h", endpoint=self._path, input_file_id=file, metadata={MARK: name}
            )
        )
        return submitted(said, "id", file)

    async def find(self, sought: Sought) -> str | Fault | None:
        """The batch, by its metadata; where there is only its file, the batch is made of it."""
        batches = self._sdk.batches.list
        wanted = sought.name
        batch = await self._listed(batches, sought, lambda one: as_dict(one.get("metadata")).get(MARK) == wanted)
        if batch is not None:
            return batch
        files = partial(self._sdk.files.list, order="desc", purpose="batch")
        file = await self._listed(files, sought, lambda one: one.get("filename") == _file(wanted))
        return await self._create(wanted, file) if isinstance(file, str) else file

    async def _listed(
        self, pages: Callable[..., Any], sought: Sought, wanted: Callable[[dict[str, Any]], bool]
    ) -> str | Fault | None:
        """The id of the newest entry that is wanted, of those made since the batch that is sought began."""
        after: dict[str, str] = {}
        while True:
            said = await self._exchange(partial(_first, pages, after))
            page = entries(said, "data")
            if isinstance(page, Fault):
                return page
            found = next((entry for entry in page if wanted(entry)), None)
            if found is not None:
                return named(found, "id")
            recent = [entry for entry in page if whole(entry.get("created_at")) > sought.since - SKEW]
            if not said.get("has_more") or not recent:
                return None
            after = {"after": str(page[-1].get("id"))}

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is."""
        said = await self._exchange(lambda: self._sdk.batches.retrieve(remote))
        if isinstance(said, Fault):
            return said
        state, counts = str(as_dict(said).get("status")), as_dict(as_dict(said).get("request_counts"))
        done = whole(counts.get("completed")) + whole(counts.get("failed"))
        refused = state == "failed" and _error(as_dict(said)).get("code") == LIMIT
        return Progress(state, state in OVER, done, whole(counts.get("total")), refused, as_dict(said))

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What the files of answers and of errors say, whose lines come in any order."""
        found: dict[str, dict[str, Any]] = {}
        for name in ("error_file_id", "output_file_id"):
            file = progress.raw.get(name)
            lines = await self._lines(partial(self._sdk.files.content, str(file))) if file else []
            if isinstance(lines, Fault):
                return lines
            found |= {str(line.get("custom_id")): _outcome(line) for line in lines}
        return found

    def missing(self, progress: Progress) -> dict[str, Any]:
        """What came of a call that is in neither file: what the batch itself says."""
        if progress.state == "failed":
            return {"status": 429 if progress.refused else 400, "body": {"error": _error(progress.raw)}}
        codes = {"expired": EXPIRED, "cancelled": CANCELLED}
        return {"error": {"code": codes.get(progress.state, MISSING)}}


def _outcome(line: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a line: the status and the body of the response, or the error."""
    response = as_dict(line.get("response"))
    if not response:
        return {"error": as_dict(line.get("error")) or {"code": MISSING}}
    return {"status": whole(response.get("status_code")), "body": response.get("body")}


def _error(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The first error of a batch that failed."""
    errors = as_dict(batch.get("errors")).get("data")
    return as_dict(errors[0]) if isinstance(errors, list) and errors else {"message": "no reason given"}


async def _first(pages: Callable[..., Any], after: Mapping[str, str]) -> None:
    """Ask for a page of a list."""
    await pages(limit=_PAGE, **after)


def _file(name: str) -> str:
    return f"cfeval-{name}.jsonl"
