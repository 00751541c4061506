"""How healthy JSON answers are spoilt."""

from typing import Any

from tests.loopback.effects import Body, Reply

DEPTH = 100_000
"""Brackets of the nested answer; Python's parser gives up long before."""


def put(**fields: Any) -> Reply:
    """Fields of the answer become others."""
    return Reply(lambda body: {**body, **fields})


def without(*names: str) -> Reply:
    """Fields of the answer are missing."""
    return Reply(lambda body: {name: value for name, value in body.items() if name not in names})


def instead(answer: Any) -> Reply:
    """Another answer altogether."""
    return Reply(lambda _: answer)


def renamed(body: Body) -> Body:
    """The model that served it is another one."""
    return {**body, "model": "loopback/another-model"}


def dated(body: Body) -> Body:
    """The model names itself with the date of its release, as aliases do."""
    return {**body, "model": f"{body['model']}-2026-08-06"}


def finished(finish_reason: str, native: str, message: bool) -> Reply:
    """The answer says that it ended so, and the native reason beside that; with its message or without."""

    def change(body: Body) -> Body:
        choice = {**body["choices"][0], "finish_reason": finish_reason, "native_finish_reason": native}
        return {**body, "choices": [choice if message else {**choice, "message": None}]}

    return Reply(change)


def message_null(body: Body) -> Body:
    """The first choice has no message."""
    return {**body, "choices": [{**body["choices"][0], "message": None}]}


def parts(body: Body) -> Body:
    """The content is a list of parts."""
    message = body["choices"][0]["message"]
    message["content"] = [{"type": "text", "text": message["content"]}]
    return body


def torn(raw: bytes) -> bytes:
    """The first two thirds."""
    return raw[: len(raw) * 2 // 3]


def not_utf8(raw: bytes) -> bytes:
    """JSON whose text holds bytes that are not UTF-8."""
    return raw[:1] + b'"\xff\xfe": 0, ' + raw[1:]


def nested(_: bytes) -> bytes:
    """JSON nested deeper than a parser can go."""
    return b"[" * DEPTH + b"]" * DEPTH
