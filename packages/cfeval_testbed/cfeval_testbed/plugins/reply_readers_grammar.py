"""The built-in reply reader: one rule for each form of answer, unlike those of the rules that it is compared with.

It looks for what has the form of an answer and takes the last one of the reply's first sentence that has any: a number
in digits or as a word, yes or no, the letter of an option or its value. It stands for no language model.
"""

import re
from collections.abc import Mapping

from cfeval.core import plugin
from cfeval.cvqa.interfaces import ReadReply, ReadRequest, ReplyReader
from cfeval.cvqa.records import LETTERS, Form, read_choices

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {"no": "0", "none": "0", "nothing": "0"} | {word: str(number) for number, word in enumerate(_WORDS)}
_FORMS: Mapping[Form, re.Pattern[str]] = {
    "number": re.compile(rf"\b(?:\d+|{'|'.join(_NUMBERS)})\b", re.ASCII),
    "boolean": re.compile(r"\b(?:yes|no)\b"),
    "choice": re.compile(r"\b(?:[a-d]|\d+)\b", re.ASCII),
}


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> ReplyReader:
        """The reader."""
        return Grammar()


class Grammar:
    """Reads a reply by its own words alone; see the module."""

    async def read(self, request: ReadRequest) -> ReadReply:
        """Read a reply; one without anything of the form gives no answer."""
        sentences = re.split(r"(?<=[.!?])\s+|\n", request.reply.lower())
        found = [said for one in sentences if (said := _FORMS[request.form].findall(one))]
        answer = _answer(found[0][-1], request) if found else None
        return ReadReply(answer, answer or "none")


def _answer(said: str, request: ReadRequest) -> str | None:
    """What was found as an answer of the form; a value that no option has is none."""
    if request.form == "number":
        return _NUMBERS.get(said, said.lstrip("0") or "0")
    if request.form == "boolean":
        return said
    if not said.isdigit():
        return said.upper()
    choices = read_choices(request.question)
    options = zip(LETTERS, choices.values, strict=True) if choices else ()
    return next((letter for letter, value in options if value == said), None)
