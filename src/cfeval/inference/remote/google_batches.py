"""Gemini's batches: a file of requests is uploaded, a batch made of it, its file of answers read.

See ai.google.dev/gemini-api/docs/batch-api. File and batch bear our own id as their display name, by which either is
found again; neither list says how it is ordered, so that each is read to its end. Google removes files after 48 hours.
"""

import json
from collections.abc import Callable, Mapping
from typing import IO, Any

from cfeval.inference.remote.batch_account import (
    CANCELLED,
    EXPIRED,
    MISSING,
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
from cfeval.inference.remote.sdks import google

# The states that a batch does not leave, without what precedes them: google.genai.types.JobState.
OVER = ("SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
# The HTTP status of each code of an error, else 500: google/rpc/code.proto.
STATUS = {1: 499, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 14: 503, 16: 401}
# The status of a batch that would bring the tokens in an account's batches over their limit.
EXHAUSTED = 429
_PAGE = 100


class GoogleBatches(BatchAccount):
    """The batches of a project at Google, for one model."""

    def __init__(self, attempts: RetryLoop, where: Endpoint) -> None:
        super().__init__(attempts, where, "generateContent")
        self._sdk, self._model = google(attempts.client, where), attempts.call.model

    def line(self, _: str, key: str, body: Mapping[str, Any]) -> bytes:
        """A request as it is in the file of a batch."""
        request = {name: value for name, value in body.items() if name != "model"}
        return json.dumps({"key": key, "request": request}).encode() + b"\n"

    async def submit(self, name: str, content: IO[bytes]) -> str | Fault:
        """Upload the file and make the batch."""
        size = size_of(content)
        config = {"display_name": _mark(name), "mime_type": "application/jsonl"}
        said = await self._exchange(lambda: self._sdk.files.upload(file=content, config=config), size)
        file = named(said if isinstance(said, Fault) else as_dict(said).get("file"), "name")
        return file if isinstance(file, Fault) else await self._create(name, file)

    async def _create(self, name: str, file: str) -> str | Fault:
        create, config = self._sdk.batches.create, {"display_name": _mark(name)}
        said = await self._exchange(lambda: create(model=self._model, src=file, config=config))
        return submitted(said, "name", file.removeprefix("files/"))

    async def find(self, sought: Sought) -> str | Fault | None:
        """The batch, by its display name; where there is only its file, the batch is made of it."""
        wanted = _mark(sought.name)
        batches, files = self._sdk.batches.list, self._sdk.files.list
        batch = await self._listed(batches, "operations", lambda one: as_dict(one.get("metadata")), wanted)
        if batch is not None:
            return batch
        file = await self._listed(files, "files", as_dict, wanted)
        return await self._create(sought.name, file) if isinstance(file, str) else file

    async def _listed(
        self, pages: Callable[..., Any], field: str, about: Callable[[Any], dict[str, Any]], wanted: str
    ) -> str | Fault | None:
        """The name of the entry that is wanted."""
        token: dict[str, str] = {}
        while True:
            said = await self._exchange(lambda: pages(config={"page_size": _PAGE, **token}))  # noqa: B023
            page = entries(said, field)
            if isinstance(page, Fault):
                return page
            found = next((entry for entry in page if about(entry).get("displayName") == wanted), None)
            if found is not None:
                return named(found, "name")
            if not said.get("nextPageToken"):
                return None
            token = {"page_token": str(said["nextPageToken"])}

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is."""
        said = await self._exchange(lambda: self._sdk.batches.get(name=remote))
        if isinstance(said, Fault):
            return said
        about = as_dict(as_dict(said).get("metadata"))
        state, counts = str(about.get("state")).rpartition("_STATE_")[2], as_dict(about.get("batchStats"))
        done = whole(counts.get("successfulRequestCount")) + whole(counts.get("failedRequestCount"))
        refused = state == "FAILED" and _status(as_dict(said).get("error")) == EXHAUSTED
        return Progress(state, state in OVER, done, whole(counts.get("requestCount")), refused, as_dict(said))

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What the file of answers says, where there is one."""
        told = (as_dict(progress.raw.get("response")), as_dict(as_dict(progress.raw.get("metadata")).get("output")))
        file = next((str(one["responsesFile"]) for one in told if one.get("responsesFile")), "")
        lines = await self._lines(lambda: self._sdk.files.download(file=file)) if file else []
        return lines if isinstance(lines, Fault) else {str(line.get("key")): _outcome(line) for line in lines}

    def missing(self, progress: Progress) -> dict[str, Any]:
        """What came of a call that is not in the file: what the batch itself says."""
        if progress.state == "FAILED":
            return _failed(progress.raw.get("error") or {"code": 3, "message": "no reason given"})
        return {"error": {"code": {"EXPIRED": EXPIRED, "CANCELLED": CANCELLED}.get(progress.state, MISSING)}}


def _outcome(line: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a line: the answer, or the error."""
    if line.get("error"):
        return _failed(line["error"])
    return {"status": 200, "body": line["response"]} if line.get("response") else {"error": {"code": MISSING}}


def _failed(error: Any) -> dict[str, Any]:
    return {"status": _status(error), "body": {"error": as_dict(error)}}


def _status(error: Any) -> int:
    code = whole(as_dict(error).get("code"))
    return code if code >= 400 else STATUS.get(code, 500)


def _mark(name: str) -> str:
    return f"cfeval-{name}"
