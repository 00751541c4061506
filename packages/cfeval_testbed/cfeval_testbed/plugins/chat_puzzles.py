"""The built-in target for synthetic puzzles: a small trained network that sees and counts, in images of any size.

A test solver of known weakness, which stands for no real model: it was trained on original questions only, and never
saw a counterfactual one. It mostly answers those as if nothing were supposed. Of options it takes the likeliest value,
wherever it stands, so that no letter is preferred. It does not sample: seeds change nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfeval.core.records import Status
from cfeval.inference.batching import Batcher
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from cfeval_testbed.weights import WorldPlugin, models_dir

if TYPE_CHECKING:
    from cfeval_testbed.puzzles.counter import PuzzleCounter

_NAME = "cfeval-puzzles"
_NO_IMAGE = ChatReply(
    model=_NAME,
    status=Status.UNPARSABLE,
    reason="the small counting model answers questions about an image, and none came with the question",
)


class Plugin(WorldPlugin):
    """Without options: there is one such model, and it does not sample."""

    def dependencies(self) -> tuple[str, ...]:
        """The weights."""
        return (str(models_dir() / "puzzles.safetensors"),)

    def build(self) -> ChatModel:
        """The target."""
        from cfeval_testbed.puzzles.counter import PuzzleCounter

        return CountingChat(PuzzleCounter())


class CountingChat:
    """Answers the first turn of each conversation with a letter or a number; asked on, it says what it counted."""

    def __init__(self, counter: "PuzzleCounter") -> None:
        self.counter = counter
        self._requests = Batcher(self._reply_all)

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Reply to a request; one without an image is `unparsable`."""
        return await self._requests.answer(request)

    def _reply_all(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        replies = [_NO_IMAGE] * len(requests)
        seen = [number for number, request in enumerate(requests) if request.turns[0].image is not None]
        for asked_on in (False, True):
            numbers = [number for number in seen if (len(requests[number].turns) > 1) == asked_on]
            texts = self._say([requests[number].turns[0] for number in numbers], asked_on)
            for number, text in zip(numbers, texts, strict=True):
                replies[number] = ChatReply(text=text, model=_NAME)
        return replies

    def _say(self, turns: Sequence[ChatMessage], asked_on: bool) -> list[str]:
        images = [turn.image.pixels for turn in turns if turn.image is not None]
        questions = [turn.text for turn in turns]
        if asked_on:
            return [f"I counted {number}." for number in self.counter.numbers(images, questions)]
        return self.counter.answer(images, questions)
