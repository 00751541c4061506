"""One request of every kind, as a plain client sends it: for the tests of the server and of what talks to it."""

import base64
from typing import Any

import httpx2

from tests.images import image
from tests.loopback.fault import Kind
from tests.loopback.image_files import data_url
from tests.loopback.site import Loopback

PHOTO = image(40, (30, 45)).png
"""The input of every edit: 45 × 30 pixels."""


def messages(text: str = "What is this?", image: bytes | None = PHOTO) -> list[dict[str, Any]]:
    """A user's turn with an image."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if image is not None:
        parts.append({"type": "image_url", "image_url": {"url": data_url(image)}})
    return [{"role": "user", "content": parts}]


def chat_body(kind: Kind = Kind.CHAT, model: str = "vlm", text: str = "What is this?", **more: Any) -> dict[str, Any]:
    """The body of a chat request of a kind."""
    extra: dict[Kind, dict[str, Any]] = {Kind.STREAM: {"stream": True}, Kind.IMAGE: {"modalities": ["image", "text"]}}
    return {"model": model, "messages": messages(text), **extra.get(kind, {}), **more}


def edit_body(prompt: str = "make it blue", **more: Any) -> dict[str, Any]:
    """The body of an edit at BFL."""
    return {"prompt": prompt, "input_image": base64.b64encode(PHOTO).decode(), "seed": 7, **more}


def call(server: Loopback, client: httpx2.Client, kind: Kind) -> dict[str, Any]:
    """The arguments of `client.request` for a request of a kind; a poll or a download needs a task first."""
    match kind:
        case Kind.CHAT | Kind.STREAM | Kind.IMAGE:
            return {"method": "POST", "url": f"{server.openrouter}/chat/completions", "json": chat_body(kind)}
        case Kind.EDIT:
            form = {"data": {"prompt": "make it blue", "model": "gpt-image-2"}}
            files = {"files": {"image": ("in.png", PHOTO, "image/png")}}
            return {"method": "POST", "url": f"{server.openai}/images/edits", **form, **files}
        case Kind.SUBMIT:
            return {"method": "POST", "url": f"{server.bfl}/v1/flux-kontext-max", "json": edit_body()}
        case Kind.POLL:
            return {"method": "GET", "url": submitted(server, client)["polling_url"]}
        case Kind.DOWNLOAD:
            return {"method": "GET", "url": polled(client, submitted(server, client))["result"]["sample"]}
    return {"method": "GET", "url": f"{server.openrouter}/models"}


def submitted(server: Loopback, client: httpx2.Client, fault: str | None = None) -> dict[str, Any]:
    """A task at BFL, with a fault if one is named."""
    aim = {} if fault is None else {"X-Fault": fault}
    task: dict[str, Any] = client.post(f"{server.bfl}/v1/flux-kontext-max", json=edit_body(), headers=aim).json()
    return task


def polled(client: httpx2.Client, task: dict[str, Any]) -> dict[str, Any]:
    """A healthy task when it is ready."""
    client.get(task["polling_url"])
    ready: dict[str, Any] = client.get(task["polling_url"]).json()
    return ready
