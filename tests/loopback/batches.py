"""OpenAI's files and batches: each state of a batch, answers in any order, faults of single calls, lost replies."""

import asyncio
import json
import time
from typing import Any

from aiohttp import web

from tests.loopback import bodies, chat, wire
from tests.loopback.conversation import body_digest, parse
from tests.loopback.desk import Batch, Desk
from tests.loopback.fault import Kind
from tests.loopback.site import LOOPBACK, Loopback, denial, key_of

COURSE = ("validating", "in_progress", "finalizing")
"""The states before a batch is over; each look at it finds the next one."""
ERRORS = {"expired": "batch_expired", "cancelled": "batch_cancelled"}
"""How OpenAI words that a call was not made."""


def routes(app: web.Application) -> None:
    """Add the routes, below /v1."""
    app.router.add_post("/v1/files", keyed(_upload))
    app.router.add_get("/v1/files", keyed(_files))
    app.router.add_get("/v1/files/{id}/content", keyed(_content))
    app.router.add_post("/v1/batches", keyed(_create))
    app.router.add_get("/v1/batches", keyed(_list))
    app.router.add_get("/v1/batches/{id}", keyed(_retrieve))


def keyed(handler: Any) -> Any:
    """A handler that gets the desk, and only requests with the key."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        server: Loopback = request.app[LOOPBACK]
        if server.settings.key is not None and key_of(request) != server.settings.key:
            return denial("openai.batches", missing=not key_of(request)).answer
        try:
            answer: web.StreamResponse = await handler(request, server.desk)
        except Exception as defect:
            server.defects.append(defect)
            raise
        return answer

    return guarded


async def _upload(request: web.Request, desk: Desk) -> web.StreamResponse:
    form = await request.post()
    upload = form["file"]
    assert isinstance(upload, web.FileField)
    assert form["purpose"] == "batch"
    desk.uploads += 1
    number = f"file-{desk.uploads}"
    with upload.file:
        desk.files[number] = (upload.filename, upload.file.read())
    return await reply(request, "files", {"id": number, "object": "file", "filename": upload.filename})


async def _files(request: web.Request, desk: Desk) -> web.StreamResponse:
    now = int(time.time())
    listed = [{"id": file, "filename": name, "created_at": now} for file, (name, _) in reversed(desk.files.items())]
    return wire.as_json(_page(request, listed))


def _page(request: web.Request, listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Two entries of a list, so that there are further pages."""
    after = request.query.get("after")
    first = next((at + 1 for at, entry in enumerate(listed) if entry["id"] == after), 0)
    page = listed[first : first + 2]
    return {"object": "list", "data": page, "has_more": first + 2 < len(listed)}


async def _content(request: web.Request, desk: Desk) -> web.StreamResponse:
    return web.Response(body=desk.files[request.match_info["id"]][1])


async def _create(request: web.Request, desk: Desk) -> web.StreamResponse:
    asked = await request.json()
    assert asked["endpoint"] == "/v1/chat/completions"
    assert asked["completion_window"] == "24h"
    desk.submissions += 1
    lines = [json.loads(line) for line in desk.files[asked["input_file_id"]][1].splitlines()]
    assert len({line["custom_id"] for line in lines}) == len(lines)
    ending = desk.endings.pop(0) if desk.endings else "completed"
    if len(lines) > desk.at_most:
        ending = "over"
    made = Batch(
        f"batch-{desk.submissions}", asked["input_file_id"], asked["metadata"], lines, int(time.time()), ending
    )
    desk.batches[made.id] = made
    return await reply(request, "batches", _shown(desk, made))


async def reply(request: web.Request, what: str, body: dict[str, Any]) -> web.StreamResponse:
    """The reply, unless it is to be lost."""
    desk = request.app[LOOPBACK].desk
    if what in desk.held:
        await asyncio.sleep(30)
    if what in desk.lost:
        desk.lost.remove(what)
        assert request.transport is not None
        request.transport.abort()
    return wire.as_json(body)


async def _list(request: web.Request, desk: Desk) -> web.StreamResponse:
    return wire.as_json(_page(request, [_shown(desk, batch) for batch in reversed(desk.batches.values())]))


async def _retrieve(request: web.Request, desk: Desk) -> web.StreamResponse:
    batch = desk.batches.get(request.match_info["id"])
    if batch is None:
        missing = bodies.openai_error("No batch found with that id.", "invalid_request_error", None)
        return wire.as_json(missing, 404)
    batch.asked += 1
    if desk.broken:
        desk.broken -= 1
        return wire.as_json(bodies.openai_error("try again", "server_error", None), 500)
    batch.looks += not desk.stay
    shown = _shown(desk, batch)
    if shown["status"] in ("completed", "expired", "cancelled"):
        shown |= _answered(request, desk, batch)
    return wire.as_json(shown)


def _shown(desk: Desk, batch: Batch) -> dict[str, Any]:
    course = COURSE[:1] if batch.ending in ("failed", "over") else COURSE
    over = batch.looks > len(course)
    status = batch.ending if over else course[max(batch.looks - 1, 0)]
    shown: dict[str, Any] = {
        "id": batch.id,
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "input_file_id": batch.file,
        "completion_window": "24h",
        "created_at": batch.created_at,
        "metadata": batch.metadata,
        "status": "failed" if status == "over" else status,
        "request_counts": {"total": len(batch.requests), "completed": len(batch.requests) if over else 0, "failed": 0},
    }
    if status == "over":
        shown["errors"] = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}]}
    elif status == "failed":
        shown["errors"] = {"data": [{"code": "model_not_found", "message": "The model vlm does not exist.", "line": 1}]}
    return shown


def _answered(request: web.Request, desk: Desk, batch: Batch) -> dict[str, Any]:
    """The ids of the files of answers and of errors; the lines come last first."""
    name = f"out-{batch.id}"
    if name not in desk.files:
        good, bad = [], []
        made = batch.requests[: -desk.unanswered] if batch.ending in ERRORS else batch.requests
        for asked in reversed(made):
            fault = next((desk.bad.pop(word) for word in list(desk.bad) if word in json.dumps(asked["body"])), None)
            status, body = fault or (200, _completion(request, asked["body"]))
            line = {"id": "r", "custom_id": asked["custom_id"], "error": None}
            (bad if fault else good).append(line | {"response": {"status_code": status, "body": body}})
            desk.made[asked["custom_id"]] = desk.made.get(asked["custom_id"], 0) + (fault is None)
        for asked in batch.requests[len(made) :]:
            error = {"code": ERRORS[batch.ending], "message": "This request could not be executed."}
            bad.append({"id": "r", "custom_id": asked["custom_id"], "response": None, "error": error})
        for file, lines in ((name, good), (f"err-{batch.id}", bad)):
            desk.files[file] = (file, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        if not bad:
            desk.files.pop(f"err-{batch.id}")
    return {"output_file_id": name, **({"error_file_id": f"err-{batch.id}"} if f"err-{batch.id}" in desk.files else {})}


def _completion(request: web.Request, payload: dict[str, Any]) -> dict[str, Any]:
    """What `chat/completions` answers to the same body."""
    digest = body_digest(b"/v1/chat/completions", json.dumps(payload, sort_keys=True).encode())
    body: dict[str, Any] = chat.body_of(request, "openai", parse(payload, digest), None, Kind.CHAT)
    return body
