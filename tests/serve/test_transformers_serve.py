"""The real server answers what a study will ask of it: two turns about an image, with a seed."""

import base64
from typing import Any

import httpx2
import numpy as np

from cfeval.core.images import Image
from tests.serve.server import Server


def data_url(image: Image) -> str:
    return "data:image/png;base64," + base64.b64encode(image.png).decode()


def ask(server: Server, messages: list[dict[str, Any]], **options: Any) -> tuple[str, str]:
    """The reply's text, and why it ended."""
    body = {"model": server.model, "messages": messages, "temperature": 1.0, "max_tokens": 500, **options}
    reply = httpx2.post(f"{server.base_url}/chat/completions", json=body, timeout=120, trust_env=False)
    assert reply.status_code == 200, reply.text
    choice = reply.json()["choices"][0]
    assert reply.json()["model"].partition("@")[0] == server.model
    return choice["message"]["content"], choice["finish_reason"]


def test_the_server_answers_and_explains_in_one_conversation(served: Server) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    image = {"type": "image_url", "image_url": {"url": data_url(Image.from_pixels(pixels))}}
    question = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}
    answer, ended = ask(served, [question], seed=1)
    assert answer
    assert ended == "stop"
    said = {"role": "assistant", "content": answer}
    explanation, ended = ask(served, [question, said, {"role": "user", "content": "Why?"}], seed=1)
    assert explanation
    assert ended == "stop"
    assert ask(served, [question], seed=1) == (answer, "stop")
    assert len({ask(served, [question], seed=seed)[0] for seed in range(5)}) > 1
    assert ask(served, [question], seed=1, max_tokens=1)[1] == "length"
