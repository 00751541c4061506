"""Black Forest Labs: submit an edit, poll the link it answers with, fetch the image from another link."""

import json
from typing import Any

from aiohttp import web

from tests.loopback import wire
from tests.loopback.bodies import CREDIT_LIMIT, credits_of, progress, submitted
from tests.loopback.chat import parsed
from tests.loopback.conversation import body_digest
from tests.loopback.effects import Effect, Pixels, Task
from tests.loopback.fault import Kind
from tests.loopback.image_files import NotAnImageError, drawn, edited, from_base64
from tests.loopback.site import BFL_MODELS, LOOPBACK, BflTask, DeniedError, serve

MODERATED = {"Moderation Reasons": ["Derivative Works Filter"]}
COURSES: dict[str, tuple[int, dict[str, Any]]] = {
    "request_moderated": (200, {"status": "Request Moderated", "details": MODERATED}),
    "content_moderated": (200, {"status": "Content Moderated", "details": MODERATED}),
    "moderated_503": (503, {"status": "Content Moderated", "details": MODERATED}),
    "error": (200, {"status": "Error", "details": {"error": "internal"}}),
    "failed": (200, {"status": "Failed"}),
    "not_found": (404, {"status": "Task not found"}),
    "no_sample": (200, {"status": "Ready", "result": {}}),
    "odd_sample": (200, {"status": "Ready", "result": {"sample": "https://[::1/"}}),
    "pending": (200, {"status": "Pending", "progress": 0.3}),
    "new_status": (200, {"status": "Reasoning", "progress": 0.1}),
    "http_500": (500, {"detail": "Internal Server Error"}),
    "http_429": (429, {"detail": "Rate limit exceeded"}),
}
"""What a poll of a task that takes this course answers."""


async def submit(request: web.Request) -> web.StreamResponse:
    """POST /v1/<model>: prompt, input_image and the rest as JSON."""
    raw, model = await request.read(), request.match_info["model"]
    payload, digest = parsed(raw), body_digest(request.path.encode(), raw)

    async def answer(effect: Effect | None) -> web.StreamResponse:
        server = request.app[LOOPBACK]
        task = _task(model, payload, f"{digest[:16]}-{server.attempts(digest)}", effect)
        active = sum(not other.done for other in server.tasks.values())
        if server.settings.active_tasks is not None and active >= server.settings.active_tasks:
            raise DeniedError(429, {"detail": f"Exceeded the limit of {server.settings.active_tasks} active tasks"})
        server.tasks[task.id] = task
        server.charge(credits=credits_of(model))
        host = "http://localhost:" + server.origin.rpartition(":")[2] if task.course.link == "foreign_poll" else ""
        body = submitted(task.id, f"{host or server.origin}/v1/get_result?id={task.id}", model)
        body = {name: value for name, value in {**body, **task.course.submit}.items() if value is not None}
        return await wire.send(request, wire.as_json(body), effect)

    return await serve(request, "bfl.submit", Kind.SUBMIT, digest, answer, model=model, payload=payload)


async def poll(request: web.Request) -> web.StreamResponse:
    """GET the polling link: Pending at first, then Ready with a fresh delivery link each time."""
    name = request.query.get("id", "")

    async def answer(effect: Effect | None) -> web.StreamResponse:
        task = request.app[LOOPBACK].tasks.get(name)
        if task is None:
            raise DeniedError(404, progress(name, "Task not found"))
        task.polls += 1
        course = task.course.poll if task.polls == 1 or not task.course.once else ""
        if course == "cut":
            return await wire.send(request, _ready(request, task), "close_mid_body")
        if course in COURSES:
            status, body = COURSES[course]
            task.done = body.get("status") not in ("Pending", "Reasoning", None)
            told = progress(name, **body) if "status" in body else body
            return await wire.send(request, wire.as_json(told, status), effect)
        if task.polls == 1:
            return await wire.send(request, wire.as_json(progress(name, "Pending", progress=0.0)), effect)
        return await wire.send(request, _ready(request, task, 503 if course == "ready_503" else 200), effect)

    digest = body_digest(request.path.encode(), name.encode())
    return await serve(request, "bfl.poll", Kind.POLL, digest, answer)


async def download(request: web.Request) -> web.StreamResponse:
    """GET the delivery link: the edited image. Needs no key, and no client should send it one."""
    name, link = request.match_info["task"], int(request.match_info["link"])

    async def answer(effect: Effect | None) -> web.StreamResponse:
        task = request.app[LOOPBACK].tasks.get(name)
        if task is None:
            raise DeniedError(404, {"detail": "Not Found"})
        task.downloads += 1
        struck = task.downloads == 1 or not task.course.once
        if task.course.link == "expired" and struck:
            page = b"<?xml version='1.0'?><Error><Code>AuthenticationFailed</Code></Error>"
            return web.Response(status=403, body=page, content_type="application/xml")
        made = edited(task.source, task.prompt)
        raw = effect.change(task.source, made) if isinstance(effect, Pixels) else made
        image = web.Response(body=raw, content_type="image/png")
        return await wire.send(request, image, "close_mid_body" if task.course.link == "cut" and struck else effect)

    digest = body_digest(request.path.encode(), str(link).encode())
    return await serve(request, "bfl.download", Kind.DOWNLOAD, digest, answer)


async def credits(request: web.Request) -> web.StreamResponse:
    """GET /v1/credits: what is left."""

    async def answer(effect: Effect | None) -> web.StreamResponse:
        left = CREDIT_LIMIT - request.app[LOOPBACK].credits
        return await wire.send(request, wire.as_json({"credits": left}), effect)

    return await serve(request, "bfl.credits", Kind.INFO, body_digest(request.path.encode()), answer)


def _task(model: str, payload: Any, name: str, effect: Effect | None) -> BflTask:
    if model not in BFL_MODELS:
        raise DeniedError(404, {"detail": "Not Found"})
    if not isinstance(payload, dict) or not isinstance(payload.get("prompt"), str):
        raise DeniedError(422, {"detail": [{"loc": ["body", "prompt"], "msg": "Field required", "type": "missing"}]})
    told = json.dumps([payload["prompt"], payload.get("seed")])
    try:
        source = from_base64(payload["input_image"]) if "input_image" in payload else drawn(told)
        edited(source, told)
    except NotAnImageError as problem:
        raise DeniedError(
            422, {"detail": [{"loc": ["body", "input_image"], "msg": str(problem), "type": "value"}]}
        ) from None
    return BflTask(name, model, source, told, effect if isinstance(effect, Task) else Task())


def _ready(request: web.Request, task: BflTask, status: int = 200) -> web.Response:
    task.done = True
    sample = f"{request.app[LOOPBACK].origin}/delivery/{task.id}/{task.polls}.png?se=600"
    return wire.as_json(progress(task.id, "Ready", result={"sample": sample, "seed": 1234}), status)
