"""Images sent once, against a server that keeps them as vLLM does, forgets them, or keeps none."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.records import Status
from cfeval.inference.chat import ChatMessage, ChatRequest
from cfeval.inference.remote import sdks
from cfeval.inference.remote.faults import Fault, record, retry
from cfeval.inference.remote.sdks import ImagesOnce
from cfeval.inference.serving.router import conversation
from tests.answers import answers
from tests.images import image
from tests.inference.remote.asking import PHOTO

URL = "http://127.0.0.1:9/v1"


class Server:
    """Takes an image by its `uuid` where it has kept it, and refuses one that it does not know."""

    def __init__(self, keeps: int = 100) -> None:
        self.keeps = keeps
        self.kept: dict[str, str] = {}
        self.bodies: list[Mapping[str, Any]] = []

    async def send(self, body: Mapping[str, Any]) -> Any:
        self.bodies.append(body)
        seen = []
        for part in parts(body):
            if part["image_url"] is None and part["uuid"] not in self.kept:
                return record("http_400", Status.REJECTED, "cache miss, but data is not provided", final=False)
            seen.append(self.kept.get(part["uuid"]) or part["image_url"]["url"])
            self.kept[part["uuid"]] = seen[-1]
        while len(self.kept) > self.keeps:
            self.kept.pop(next(iter(self.kept)))
        said = {"role": "assistant", "content": f"{len(seen)} {hash(tuple(seen))}"}
        return {"model": "m", "choices": [{"finish_reason": "stop", "message": said}]}

    @property
    def whole(self) -> int:
        """Images that came as bytes."""
        return sum(part["image_url"] is not None for body in self.bodies for part in parts(body))


def parts(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = (message["content"] for message in body["messages"] if isinstance(message["content"], list))
    return [part for content in messages for part in content if part["type"] == "image_url"]


def body(*images: str) -> dict[str, Any]:
    shown = [{"type": "image_url", "image_url": {"url": f"data:{name}"}} for name in images]
    return {"model": "m", "messages": [{"role": "user", "content": [*shown, {"type": "text", "text": "What?"}]}]}


def said(images: ImagesOnce, server: Server, *bodies: dict[str, Any]) -> list[str]:
    async def all_of_them() -> list[str]:
        return [(await images.ask(one, server.send))["choices"][0]["message"]["content"] for one in bodies]

    return asyncio.run(all_of_them())


def test_an_image_is_sent_once_and_the_answers_are_those_of_images_sent_each_time() -> None:
    server, every_time = Server(), Server()
    asked = [body("a"), body("a"), body("b", "a"), body("b")]
    assert said(ImagesOnce(), server, *asked) == [said(ImagesOnce(), every_time, one)[0] for one in asked]
    assert (server.whole, every_time.whole) == (2, 5)
    assert "uuid" not in json.dumps(asked)


def test_one_that_the_server_forgot_is_sent_again() -> None:
    server, images = Server(keeps=1), ImagesOnce()
    first = said(images, server, body("a"), body("b"), body("a"), body("a"))
    assert first[0] == first[2] == first[3] != first[1]
    assert (server.whole, len(server.bodies)) == (3, 5)


def test_a_server_that_keeps_none_is_soon_sent_all() -> None:
    server, images = Server(keeps=0), ImagesOnce()
    said(images, server, *[body("a") for _ in range(50)])
    assert len(server.bodies) < 60
    assert server.whole == 50


@pytest.mark.parametrize("fault", [retry("http_503", "starting"), record("http_400", Status.REJECTED, "no such model")])
def test_a_fault_of_another_kind_is_what_comes_back(fault: Fault) -> None:
    async def fails(body: Mapping[str, Any]) -> Any:
        return fault

    images = ImagesOnce()
    said(images, Server(), body("a"))
    assert asyncio.run(images.ask(body("a"), fails)) is fault


def chat(server: Server, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    async def sent(attempts: Any, where: Any, body: Mapping[str, Any]) -> Any:
        return await server.send(body) if options.get("images_once") else await plain(body)

    async def plain(body: Mapping[str, Any]) -> Any:
        server.bodies.append(body)
        return {"model": "m", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}]}

    monkeypatch.setattr(sdks, "chat", sent)
    return registry.build("chat", {"plugin": "openai", "provider": "vllm", "model": "m", "base_url": URL, **options})


def turns() -> list[ChatRequest]:
    shown = ChatMessage("user", "What is this?", PHOTO)
    other = ChatMessage("user", "What is this?", image(90, (30, 45)))
    why = (ChatMessage("assistant", "A bus."), ChatMessage("user", "Why?"))
    return [ChatRequest("i", (shown,), 1), ChatRequest("i", (shown, *why), 1), ChatRequest("j", (other,), 1)]


@pytest.mark.usefixtures("configure")
def test_both_turns_show_an_image_that_was_sent_once_and_are_stored_as_without_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server()
    once = chat(server, monkeypatch, images_once=True)
    replies = [answers(once.generate, [request])[0] for request in turns()]
    assert [reply.status for reply in replies] == [Status.OK] * 3
    assert server.whole == 2
    assert server.bodies[1]["messages"][0]["content"][0]["image_url"] is None
    keys = [reply.calls for reply in replies]
    again = chat(Server(), monkeypatch)
    replayed = [answers(again.generate, [request])[0] for request in turns()]
    assert [reply.calls for reply in replayed] == keys
    assert [reply.text for reply in replayed] == [reply.text for reply in replies]


@pytest.mark.usefixtures("configure")
def test_both_turns_go_to_one_server_whether_the_image_is_sent_or_named(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    once = chat(server, monkeypatch, images_once=True)
    for request in turns():
        answers(once.generate, [request])
    first, second, other = (conversation(json.dumps(body).encode()) for body in server.bodies)
    assert first == second != other


def test_only_servers_that_document_it_are_asked_so() -> None:
    spec = {"plugin": "openai", "provider": "llama_cpp", "model": "m", "base_url": URL, "images_once": True}
    with pytest.raises(ParamsError, match="images_once is for chat completions of provider vllm"):
        registry.build("chat", spec)
