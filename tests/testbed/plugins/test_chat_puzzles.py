"""The built-in target for synthetic puzzles, as a chat model."""

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.cvqa.synthetic.drawing import draw_puzzle
from cfeval.cvqa.synthetic.puzzles import make_puzzle, original_of
from cfeval.inference.chat import ChatMessage, ChatModel, ChatRequest
from tests.answers import answers

PUZZLE = make_puzzle(8, 1, "abs_counting_4")
IMAGE = Image.from_pixels(np.asarray(draw_puzzle(PUZZLE)))
QUESTION = original_of(PUZZLE).question


@pytest.fixture(scope="module")
def model() -> ChatModel:
    built: ChatModel = registry.build("chat", {"plugin": "puzzles"})
    return built


def asked(*turns: ChatMessage, seed: int = 1) -> ChatRequest:
    return ChatRequest("i", turns, seed)


def test_a_request_without_an_image_is_unparsable_and_the_others_are_answered(model: ChatModel) -> None:
    blind, good = answers(
        model.generate, [asked(ChatMessage("user", QUESTION)), asked(ChatMessage("user", QUESTION, IMAGE))]
    )
    assert (blind.status, blind.text) == (Status.UNPARSABLE, "")
    assert "none came with the question" in blind.reason
    assert good.status == Status.OK
    assert good.text in "ABCD"


def test_the_image_may_have_any_size(model: ChatModel) -> None:
    for size in ((64, 64), (336, 336), (500, 375)):
        reply = answers(model.generate, [asked(ChatMessage("user", QUESTION, IMAGE.resized(*size)))])[0]
        assert reply.text in "ABCD"


def test_seeds_change_nothing(model: ChatModel) -> None:
    replies = answers(model.generate, [asked(ChatMessage("user", QUESTION, IMAGE), seed=seed) for seed in range(3)])
    assert len(set(replies)) == 1


def test_asked_on_it_says_what_it_counted(model: ChatModel) -> None:
    turns = (ChatMessage("user", QUESTION, IMAGE), ChatMessage("assistant", "B"), ChatMessage("user", "Why?"))
    reply = answers(model.generate, [asked(*turns)])[0]
    number = answers(model.generate, [asked(ChatMessage("user", QUESTION.partition(" Select")[0], IMAGE))])[0].text
    assert reply.text == f"I counted {number}."


def test_it_has_no_options() -> None:
    with pytest.raises(ParamsError, match="temperature"):
        registry.build("chat", {"plugin": "puzzles", "temperature": 0.5})
