"""The built-in program writer: reads the questions of the synthetic puzzles and of the test bed by their grammar.

Its programs count through the operations of a vision and return the number; which option that is, is left to whoever
reads the answer.
"""

import random

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.interfaces import ProgramGenerator, ProgramReply, ProgramRequest
from cfeval.cvqa.records import Language, read_choices
from cfeval_testbed.counterfactual_questions import programs
from cfeval_testbed.counterfactual_questions.language import parse
from cfeval_testbed.puzzles import programs as puzzles


class Plugin(plugin.Plugin):
    """How it reads."""

    heed: bool = True
    """Whether a program heeds what the question supposes; if not, it answers about the image as it is, which is what
    the programs of ChatGPT often did (C-VQA, Appendix D)."""

    slips: float = Field(0.0, ge=0, le=1)
    """Share of programs that name a value which is nowhere set, and so fail; told of it, the writer takes that out."""

    def build(self) -> ProgramGenerator:
        """The grammar-based program writer."""
        return Grammar(self.heed, self.slips)


class Grammar:
    """Question → meaning → program."""

    def __init__(self, heed: bool = True, slips: float = 0.0) -> None:
        self.heed, self.slips = heed, slips

    async def write(self, request: ProgramRequest) -> ProgramReply:
        """Write a program for a request; a question that it cannot read is `unparsable`."""
        try:
            code = self._program(request)
        except programs.UnsettledError as error:
            return _unread(str(error))
        if code is None:
            return _unread("the question is neither one of the puzzles' templates nor in the test bed's language")
        if request.failed is None and random.Random(derive_seed(request.seed, "slip")).random() < self.slips:
            code = _with_a_slip(code, request.language)
        return ProgramReply(code, completion=code, model="grammar")

    def _program(self, request: ProgramRequest) -> str | None:
        choices = read_choices(request.question)
        stem = choices.stem if choices else request.question
        if asked := puzzles.parse(stem):
            return puzzles.program(asked if self.heed else puzzles.unchanged(asked), request.language)
        if meaning := parse(stem):
            return programs.program(meaning, request.language, self.heed)
        return None


def _with_a_slip(code: str, language: Language) -> str:
    """The program, at its beginning a value that nothing sets."""
    if language == "visprog":
        return f"COUNTED=COUNT(box=BOXES)\n{code}"
    head, _, body = code.partition("\n")
    return f"{head}\n    counted = len(patches)\n{body}"


def _unread(reason: str) -> ProgramReply:
    return ProgramReply(model="grammar", status=Status.UNPARSABLE, reason=reason)
