"""Models of the BLIP family load by transformers' own classes and answer as those do: random tiny checkpoints."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import PluginError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.inference.models.blip import KINDS
from tests.answers import answers
from tests.slow import first_fast
from tests.tiny import blips, vlms

ALL = pytest.mark.parametrize("kind", first_fast(sorted(blips.RECIPES), 1))


def image(seed: int) -> Image:
    return Image.from_pixels(np.random.default_rng(seed).integers(0, 256, (40, 48, 3), dtype=np.uint8))


def request(number: int, question: str = "Question: how many cats? Short answer:") -> ChatRequest:
    return ChatRequest(f"i{number}", (ChatMessage("user", question, image(number)),), 1)


def ask(folder: Path, *requests: ChatRequest, **options: Any) -> list[ChatReply]:
    spec = {"plugin": "blip", "model": str(folder), "device": "cpu", "max_tokens": 6, "beams": 2, **options}
    return answers(registry.build("chat", spec).generate, requests)


def by_the_library(folder: Path, asked: ChatRequest, beams: int) -> str:
    """The reply as the classes of the library give it, one question at a time."""
    import torch
    import transformers

    config = json.loads((folder / "config.json").read_text())
    model = getattr(transformers, KINDS[config["model_type"]]).from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)
    [turn] = asked.turns
    assert turn.image is not None
    inputs = processor(images=PIL.Image.fromarray(turn.image.pixels), text=turn.text, return_tensors="pt")
    with torch.no_grad():
        [row] = model.generate(**inputs, num_beams=beams, max_new_tokens=6, do_sample=False)
    prompt = inputs["input_ids"][0]
    row = row[len(prompt) :] if len(row) > len(prompt) and bool((row[: len(prompt)] == prompt).all()) else row
    return str(processor.tokenizer.decode(row, skip_special_tokens=True)).strip()


@ALL
def test_it_answers_as_the_library_does(kind: str) -> None:
    folder = blips.checkpoint(kind)
    requests = [request(n) for n in range(3)]
    replies = ask(folder, *requests)
    assert [reply.text for reply in replies] == [by_the_library(folder, one, 2) for one in requests]
    assert {reply.model for reply in replies} == {folder.name}
    assert {reply.status for reply in replies} <= {Status.OK, Status.TRUNCATED}
    assert any(reply.text for reply in replies)


@ALL
def test_a_reply_is_its_own_questions_whatever_it_is_batched_with(kind: str) -> None:
    folder = blips.checkpoint(kind)
    requests = [
        request(n, "how many?" if n % 2 else "Question: is the cat on the sofa? Short answer:") for n in range(4)
    ]
    together = [reply.text for reply in ask(folder, *requests, batch=4)]
    assert together == [reply.text for reply in ask(folder, *requests, batch=1)]


def test_what_is_no_single_question_about_an_image_is_unparsable() -> None:
    folder = blips.checkpoint("blip-2-t5")
    blind = ChatRequest("i", (ChatMessage("user", "how many?"),), 1)
    talk = ChatRequest("i", (*request(1).turns, ChatMessage("assistant", "3"), ChatMessage("user", "why?")), 1)
    assert [reply.status for reply in ask(folder, blind, talk)] == [Status.UNPARSABLE] * 2


def test_a_request_may_want_a_shorter_reply() -> None:
    [reply] = ask(blips.checkpoint("blip-2-opt"), ChatRequest("i", request(0).turns, 1, max_tokens=1))
    assert len(reply.text) <= 10


def test_a_chat_model_is_refused_in_one_line() -> None:
    folder = vlms.checkpoint("llama")
    with pytest.raises(PluginError, match="model_type 'llama' is none of blip, blip-2, instructblip"):
        ask(folder, request(0))


def test_an_incomplete_checkpoint_is_refused_and_doctor_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    shutil.copytree(blips.checkpoint("instructblip-t5"), folder)
    for file in (*folder.glob("preprocessor_config.json"), *folder.glob("processor_config.json")):
        file.unlink()
    spec = {"plugin": "blip", "model": str(folder), "device": "cpu"}
    with pytest.raises(PluginError, match="the image processor is missing"):
        registry.build("chat", spec)
    assert any("the image processor is missing" in finding.text for finding in registry.diagnose("chat", spec))
