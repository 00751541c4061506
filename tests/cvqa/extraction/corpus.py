"""Replies with what a person reads in them, and how a reader is judged on them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cfeval.cvqa.extraction.robust import read
from cfeval.cvqa.records import Choices, Form


@dataclass(frozen=True)
class Asked:
    """A question of the corpus."""

    form: Form
    question: str
    choices: Choices | None = None


ASKED = {
    "cats": Asked("number", "How many cats would there be if two of them left?"),
    "hat": Asked("boolean", "Would the man be wearing a hat if he took off the hat?"),
    "umbrella": Asked("boolean", "Would the umbrella be open if it rained?"),
    "boats": Asked("number", "How many boats would be on the lake if three more arrived?"),
    "road": Asked("boolean", "Would the road be wet if it had been raining?"),
    "dog": Asked("boolean", "Would the dog be able to see the ball if the fence was removed?"),
    "flowers": Asked(
        "choice",
        "How many flowers are inside the red polygons if all flowers in the blue polygons were removed?",
        Choices("How many flowers are there?", ("8", "5", "11", "6")),
    ),
    "chairs": Asked("number", "How many chairs would be empty if four guests sat down?"),
    "lamp": Asked("boolean", "Would the room be brighter if the lamp was switched on?"),
    "child": Asked("boolean", "Is the child holding a kite?"),
    "circles": Asked(
        "choice",
        "How many dots do a circle contain at most if one of the circles with most dots were removed?",
        Choices("How many dots do a circle contain at most?", ("4", "7", "3", "9")),
    ),
    "dots": Asked(
        "choice",
        "How many dots are there in all the circles together if 4 dots were removed from the circles?",
        Choices("How many dots are there?", ("16", "17", "12", "13")),
    ),
}


class Said(NamedTuple):
    """A reply to a question, and its answer; None where it is not clear."""

    asked: str
    reply: str
    answer: str | None


class Judged(NamedTuple):
    """Shares of the clear replies that are read right and wrongly, of the unclear ones that are read; and examples."""

    right: float
    wrong: float
    guessed: float
    failed: list[tuple[Said, str | None]]


def judge(of: Iterable[Said]) -> Judged:
    """How the better reader does on replies."""
    found = [(one, _read(one)) for one in of]
    clear = [(one.answer, got) for one, got in found if one.answer is not None]
    unclear = [got for one, got in found if one.answer is None]
    return Judged(
        right=sum(wanted == got for wanted, got in clear) / len(clear),
        wrong=sum(got not in (None, wanted) for wanted, got in clear) / len(clear),
        guessed=sum(got is not None for got in unclear) / len(unclear),
        failed=[(one, got) for one, got in found if one.answer != got],
    )


def _read(one: Said) -> str | None:
    asked = ASKED[one.asked]
    return read(one.reply, asked.form, asked.choices, asked.question)
