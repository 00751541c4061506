"""Pairs of questions for tests, and a solver that remembers what it was asked."""

from collections.abc import Callable
from pathlib import Path

from cfeval.core.images import Image
from cfeval.core.records import ImageRef
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest
from cfeval.cvqa.records import PairType, Question, QuestionPair
from tests.images import image

OPTIONS = " Select the correct answer:A:16  B:17  C:12  D:13"


def pair(number: int = 1, type: PairType = "direct") -> QuestionPair:
    """A pair; those of synthetic types have options."""
    form = {"direct": ("3", ""), "indirect": ("4", ""), "boolean": ("yes", "")}
    answer, options = form.get(type, ("B", OPTIONS))
    return QuestionPair(
        id=f"p{number}",
        image=image_of_number(number).ref(f"p{number}.png"),
        original=Question(question=f"What of {number}?{options}", answer=answer),
        counterfactual=Question(question=f"What of {number} if?{options}", answer=answer),
        type=type,
        img_path=f"p{number}.png",
    )


def image_of_number(number: int) -> Image:
    """The image of a pair."""
    return image(number % 256)


def image_of(pair: QuestionPair) -> Image:
    """The image of a pair."""
    return image_of_number(int(pair.id[1:]))


def open_image(ref: ImageRef) -> Image:
    """The image of a pair by its reference."""
    return image_of_number(int(Path(ref.path).stem[1:]))


class Remembering:
    """Replies by a function, by default with the question; `requests` are those that came, in order."""

    def __init__(self, say: Callable[[AnswerRequest], AnswerReply] | None = None) -> None:
        self.say = say or (lambda request: AnswerReply(f"asked: {request.question}", request.question, "me"))
        self.requests: list[AnswerRequest] = []

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """Reply to a request."""
        self.requests.append(request)
        return self.say(request)
