"""Anthropic's Message Batches and Gemini's batches: each state, answers in any order, faults of calls, lost replies."""

import json
import re
import time
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from tests.loopback import wire
from tests.loopback.batches import keyed, reply
from tests.loopback.bodies import google_error
from tests.loopback.conversation import body_digest
from tests.loopback.desk import Batch, Desk
from tests.loopback.native import anthropic_said, completed, google_said
from tests.loopback.site import LOOPBACK

LOOKS = 2
"""Looks at a batch before it is over."""
CUSTOM = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What Anthropic takes as a `custom_id`."""
_UPLOAD = "/upload/v1beta/files"


def routes(app: web.Application) -> None:
    """Add the routes, below /v1/messages, /v1beta and /upload."""
    app.router.add_post("/v1/messages/batches", keyed(_anthropic_create))
    app.router.add_get("/v1/messages/batches", keyed(_anthropic_list))
    app.router.add_get("/v1/messages/batches/{id}", keyed(_anthropic_retrieve))
    app.router.add_get("/v1/messages/batches/{id}/results", keyed(_anthropic_results))
    app.router.add_post(_UPLOAD, keyed(_google_start))
    app.router.add_post(_UPLOAD + "/{id}", _google_upload)
    app.router.add_get("/v1beta/files", keyed(_google_files))
    app.router.add_get(r"/v1beta/files/{id}:download", keyed(_google_download))
    app.router.add_post(r"/v1beta/models/{model}:batchGenerateContent", keyed(_google_create))
    app.router.add_get("/v1beta/batches", keyed(_google_list))
    app.router.add_get("/v1beta/batches/{id}", keyed(_google_get))


def _made(desk: Desk, name: str, file: str, metadata: dict[str, Any], requests: list[dict[str, Any]]) -> Batch:
    ids = [asked["id"] for asked in requests]
    assert len(set(ids)) == len(ids)
    ending = desk.endings.pop(0) if desk.endings else "succeeded"
    desk.batches[name] = Batch(name, file, metadata, requests, int(time.time()), ending)
    return desk.batches[name]


def _over(batch: Batch) -> bool:
    return batch.looks > LOOKS


def _results(request: web.Request, batch: Batch, call: slice) -> list[tuple[str, str, Any]]:
    """What came of each call, last first; `call` is the part of an id that tells the call, in whatever batch."""
    desk = request.app[LOOPBACK].desk
    if batch.results is None:
        left = desk.unanswered if batch.ending in ("expired", "cancelled") else 0
        made = batch.requests[: len(batch.requests) - left]
        batch.results = [(asked["id"], batch.ending, None) for asked in batch.requests[len(made) :]]
        for asked in reversed(made):
            fault = next((desk.bad.pop(word)[1] for word in list(desk.bad) if word in json.dumps(asked["body"])), None)
            if fault is None:
                key = asked["id"][call]
                desk.made[key] = desk.made.get(key, 0) + 1
                digest = body_digest(b"batch", json.dumps(asked["body"]).encode())
                say = anthropic_said(asked["body"]) if not batch.file else google_said(asked["body"], asked["model"])
                batch.results.append((asked["id"], "succeeded", completed(request, say, digest)))
            else:
                batch.results.append((asked["id"], "errored", fault))
    return batch.results


def _look(desk: Desk, request: web.Request) -> Batch | None:
    """A batch that is looked at, one step further than before."""
    batch = next((one for one in desk.batches.values() if one.id.endswith(request.match_info["id"])), None)
    if batch is not None:
        batch.asked += 1
        batch.looks += not desk.stay
    return batch


def _broken(desk: Desk) -> bool:
    desk.broken -= desk.broken > 0
    return desk.broken > 0


def _anthropic_error(kind: str, message: str, status: int) -> web.Response:
    return wire.as_json({"type": "error", "error": {"type": kind, "message": message}}, status)


async def _anthropic_create(request: web.Request, desk: Desk) -> web.StreamResponse:
    asked = [{"id": one["custom_id"], "body": one["params"]} for one in (await request.json())["requests"]]
    if desk.refused:
        desk.refused -= 1
        return _anthropic_error("api_error", "Internal server error", 500)
    if len(asked) > desk.at_most:
        return _anthropic_error("rate_limit_error", "Too many requests in the processing queue.", 429)
    assert all(CUSTOM.fullmatch(one["id"]) for one in asked)
    desk.submissions += 1
    batch = _made(desk, f"msgbatch_{desk.submissions}", "", {}, asked)
    return await reply(request, "batches", _anthropic_shown(batch))


def _anthropic_shown(batch: Batch) -> dict[str, Any]:
    over, calls = _over(batch), len(batch.requests)
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if over else "canceling" if batch.ending == "cancelled" else "in_progress",
        "request_counts": {"processing": 0 if over else calls, "succeeded": calls if over else 0, "errored": 0},
        "created_at": datetime.fromtimestamp(batch.created_at, UTC).isoformat().replace("+00:00", "Z"),
        "results_url": "http://127.0.0.1:1/elsewhere" if over else None,
    }


async def _anthropic_list(request: web.Request, desk: Desk) -> web.StreamResponse:
    """Two batches, newest first, so that there are further pages; each list finds them further."""
    listed = list(reversed(desk.batches.values()))
    after = request.query.get("after_id")
    first = next((at + 1 for at, batch in enumerate(listed) if batch.id == after), 0)
    page = listed[first : first + 2]
    for batch in page:
        batch.looks += not desk.stay
    shown = [_anthropic_shown(batch) for batch in page]
    return wire.as_json({"data": shown, "has_more": first + 2 < len(listed), "last_id": page[-1].id if page else None})


async def _anthropic_retrieve(request: web.Request, desk: Desk) -> web.StreamResponse:
    batch = _look(desk, request)
    if batch is None:
        return _anthropic_error("not_found_error", "No such batch.", 404)
    if _broken(desk):
        return _anthropic_error("overloaded_error", "Overloaded", 529)
    return wire.as_json(_anthropic_shown(batch))


async def _anthropic_results(request: web.Request, desk: Desk) -> web.StreamResponse:
    batch = desk.batches[request.match_info["id"]]
    lines = [
        {"custom_id": custom, "result": _anthropic_result(batch, kind, said)}
        for custom, kind, said in _results(request, batch, slice(43))
    ]
    return web.Response(body="\n".join(json.dumps(line) for line in lines).encode())


def _anthropic_result(batch: Batch, kind: str, said: Any) -> dict[str, Any]:
    if batch.ending == "failed":
        kind, said = "errored", {"type": "not_found_error", "message": "model: vlm"}
    if kind == "errored":
        return {"type": "errored", "error": {"type": "error", "error": said}}
    return {"type": "succeeded", "message": said} if said else {"type": "canceled" if kind == "cancelled" else kind}


async def _google_start(request: web.Request, desk: Desk) -> web.StreamResponse:
    """The start of an upload, which says where the bytes go."""
    told = (await request.json())["file"]
    assert request.headers["X-Goog-Upload-Command"] == "start"
    desk.uploads += 1
    desk.files[f"files/{desk.uploads}"] = (told.get("displayName") or told["display_name"], b"")
    address = f"{request.app[LOOPBACK].origin}{_UPLOAD}/{desk.uploads}"
    return web.Response(body=b"{}", headers={"X-Goog-Upload-URL": address, "X-Goog-Upload-Status": "active"})


async def _google_upload(request: web.Request) -> web.StreamResponse:
    """The bytes of an upload, in parts; the address is the key."""
    desk, name = request.app[LOOPBACK].desk, f"files/{request.match_info['id']}"
    desk.files[name] = (desk.files[name][0], desk.files[name][1] + await request.read())
    final = "finalize" in request.headers["X-Goog-Upload-Command"]
    answer = await reply(request, "files", {"file": {"name": name, "displayName": desk.files[name][0]}})
    answer.headers["X-Goog-Upload-Status"] = "final" if final else "active"
    return answer


def _google_page(request: web.Request, field: str, listed: list[dict[str, Any]]) -> web.Response:
    """Two entries in an order of no meaning, so that there are further pages."""
    first = int(request.query.get("pageToken", 0))
    more = {"nextPageToken": str(first + 2)} if first + 2 < len(listed) else {}
    return wire.as_json(({field: listed[first : first + 2]} if listed else {}) | more)


async def _google_files(request: web.Request, desk: Desk) -> web.StreamResponse:
    listed = [{"name": name, "displayName": file[0]} for name, file in desk.files.items()]
    return _google_page(request, "files", listed)


async def _google_create(request: web.Request, desk: Desk) -> web.StreamResponse:
    asked = (await request.json())["batch"]
    file, model = asked["inputConfig"]["fileName"], request.match_info["model"]
    lines = [json.loads(line) for line in desk.files[file][1].splitlines()]
    if len(lines) > desk.at_most:
        return wire.as_json(google_error("Enqueued tokens: resource exhausted.", code=429), 429)
    desk.submissions += 1
    requests = [{"id": line["key"], "body": line["request"], "model": model} for line in lines]
    batch = _made(desk, f"batches/{desk.submissions}", file, {"displayName": asked["displayName"]}, requests)
    return await reply(request, "batches", _google_shown(batch))


def _google_shown(batch: Batch) -> dict[str, Any]:
    """An operation; counts are texts, as Google writes those of 64 bits."""
    over, calls = _over(batch), len(batch.requests)
    ending = "failed" if batch.ending == "over" else batch.ending
    state = ending.upper() if over else "RUNNING" if batch.looks else "PENDING"
    metadata = {**batch.metadata, "state": f"BATCH_STATE_{state}", "batchStats": {"requestCount": str(calls)}}
    shown: dict[str, Any] = {"name": batch.id, "metadata": metadata, "done": over}
    if not over:
        return shown
    if ending == "failed":
        code, message = (8, "Exhausted.") if batch.ending == "over" else (5, "models/vlm is not found.")
        return shown | {"error": {"code": code, "message": message}}
    metadata["batchStats"]["successfulRequestCount"] = str(calls)
    if ending == "succeeded":
        metadata["output"] = {"responsesFile": f"files/out-{batch.id.rpartition('/')[2]}"}
    return shown


async def _google_list(request: web.Request, desk: Desk) -> web.StreamResponse:
    return _google_page(request, "operations", [_google_shown(batch) for batch in desk.batches.values()])


async def _google_get(request: web.Request, desk: Desk) -> web.StreamResponse:
    batch = _look(desk, request)
    if batch is None:
        return wire.as_json(google_error("Requested entity was not found.", code=404), 404)
    if _broken(desk):
        return wire.as_json(google_error("unavailable", code=503), 503)
    return wire.as_json(_google_shown(batch))


async def _google_download(request: web.Request, desk: Desk) -> web.StreamResponse:
    assert request.query["alt"] == "media"
    batch = desk.batches[f"batches/{request.match_info['id'].removeprefix('out-')}"]
    lines = []
    for key, kind, said in _results(request, batch, slice(None)):
        lines.append({"key": key, ("response" if kind == "succeeded" or "promptFeedback" in said else "error"): said})
    return web.Response(body="\n".join(json.dumps(line) for line in lines).encode())
