"""The practice server: what it answers beside the requests of a study, which the tutorial's own test makes."""

import base64
import io
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from PIL import Image

from cfeval.study.practice import COLORS, DRAWINGS, Handler, draw, seen, write_drawings


@pytest.fixture
def client() -> Iterator[httpx2.Client]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{server.server_port}") as client:
                yield client
        finally:
            server.shutdown()
            thread.join()


def asked(model: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": list(parts)}]}


def picture(image: Image.Image) -> dict[str, Any]:
    file = io.BytesIO()
    image.save(file, "PNG")
    return {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"},
    }


def test_one_model_answers_by_the_disc_and_the_other_by_the_ground(client: httpx2.Client) -> None:
    drawing = picture(draw({"disc": "red", "ground": "blue", "square": "green"}))
    for model, answer in (("honest", "red"), ("careless", "blue")):
        reply = client.post("/v1/chat/completions", json=asked(model, {"type": "text", "text": "Color?"}, drawing))
        assert reply.json()["choices"][0]["message"]["content"] == answer


def test_the_helper_takes_a_request_that_is_no_studys(client: httpx2.Client) -> None:
    reply = client.post("/v1/chat/completions", json=asked("helper", {"type": "text", "text": "Say hello"}))
    assert reply.json()["choices"][0]["message"]["content"] == "I only know the requests of a study."


def test_what_is_not_there_is_404_with_what_is(client: httpx2.Client) -> None:
    reply = client.post("/v1/chat/completions", json=asked("gpt", {"type": "text", "text": "Color?"}))
    assert (reply.status_code, "honest, careless" in reply.json()["error"]["message"]) == (404, True)
    assert [client.get("/").status_code, client.post("/chat/completions", json={}).status_code] == [404, 404]
    assert client.get("/v1/models").json()["data"][0]["id"] == "honest"


def test_drawings_show_what_they_are_drawn_with_and_agree_in_disc_and_ground(tmp_path: Path) -> None:
    write_drawings(tmp_path)
    files = sorted(tmp_path.iterdir())
    assert len(files) == DRAWINGS
    parts = [seen(Image.open(file)) for file in files]
    assert all(part["disc"] == part["ground"] for part in parts)
    assert {part["disc"] for part in parts} == set(COLORS)
    assert set(seen(Image.new("RGB", (50, 50), (127, 127, 127))).values()) == {"gray"}
