"""Whoever answers questions about images without tools: a chat model, recorded responses, chance.

C-VQA, Section 4: every question, original and counterfactual, is a conversation of its own.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import model_validator

from cfeval.core import plugin, registry
from cfeval.core.errors import CfevalError, InputError, nearest
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import Window
from cfeval.core.text_files import CsvFile
from cfeval.cvqa.csv_format import CvqaResult, read_results
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, Solver
from cfeval.cvqa.plugins.question_sets import id_of
from cfeval.cvqa.prompt_templates import FAMILIES, put
from cfeval.cvqa.records import Form, read_choices
from cfeval.inference.chat import ChatMessage, ChatModel, ChatRequest
from cfeval.inference.prompts import fill, load_prompt

# The name of an own template: answer.md in the folder `prompts`.
OWN_NAME = "answer"
# Characters of a question, for estimates; with options about twice as many.
TYPICAL_QUESTION = 60


class ChatPlugin(plugin.Plugin):
    """A chat model that is asked directly: the question in its family's template, in a fresh turn with its images.

    C-VQA, Section 4: every question, original and counterfactual, is a conversation of its own.
    """

    model: dict[str, Any] = plugin.component("chat")
    """The chat model: its plugin and options."""
    family: str = "plain"
    """Whose template: see `cfeval.cvqa.prompt_templates`."""
    cot: bool = False
    """Whether the question ends with the chain-of-thought suffix (Table 4)."""
    prompts: str = ""
    """Folder with an own template, answer.md, that names {question}; it takes the place of the family's."""

    @model_validator(mode="after")
    def _family_is_known(self) -> "ChatPlugin":
        if self.family not in FAMILIES:
            raise ValueError(f"no template of family '{self.family}'; {nearest(self.family, FAMILIES)}")
        return self

    def dependencies(self) -> tuple[str, ...]:
        """The own template."""
        return (str(Path(self.prompts) / f"{OWN_NAME}.md"),) if self.prompts else ()

    def diagnose(self) -> Iterator[Diagnostic]:
        """A template of one's own that cannot be filled."""
        try:
            self.prompt_for("?")
        except InputError as error:
            yield Diagnostic(False, str(error))

    def build(self) -> Solver:
        """The solver."""
        return ChatSolver(registry.build("chat", self.model), self)

    def prompt_for(self, question: str) -> str:
        """The question as it is put.

        Raises:
            InputError: the own template is missing, empty, or names something else than {question}.
        """
        if not self.prompts:
            return put(question, self.family, self.cot)
        template = load_prompt(OWN_NAME, protocol="answer", study="cvqa", folder=Path(self.prompts))
        return fill(template, question=put(question, "plain", self.cot))


class ChatSolver:
    """Asks a chat model."""

    def __init__(self, model: ChatModel, options: ChatPlugin) -> None:
        self.model = model
        self.options = options

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """Put a question to the model."""
        text = self.options.prompt_for(request.question)
        message = ChatMessage("user", text, request.image, more_images=request.more_images)
        reply = await self.model.generate(ChatRequest(request.item, (message,), derive_seed(request.seed, "answer")))
        if reply.status == Status.OK and not reply.text.strip():
            return AnswerReply(text, "", reply.model, Status.UNPARSABLE, "empty reply", reply.calls)
        return AnswerReply(text, reply.text.strip(), reply.model, reply.status, reply.reason, reply.calls)


class ResponsesPlugin(plugin.Plugin):
    """Responses that were recorded before: a file of results in C-VQA's format, for questions that stand in that
    file.

    The questions come from the set `csv`, made from the same file or from the published questions in the same
    order. So other people's results stand in the tables beside one's own, read and scored in the same way.
    """

    path: str = plugin.file()
    """The CSV file: the questions' columns, `response` and `new_response`."""
    model: str = ""
    """Who responded; by default the name of the file without its ending."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """How many rows can be used."""
        if not Path(self.path).is_file():  # a missing file is told as such
            return
        try:
            results = read_results(Path(self.path))
            count = sum(1 for _ in results)
        except CfevalError as error:
            yield Diagnostic(False, str(error))
            return
        yield Diagnostic(
            not results.faults, f"{self.path}: {count} responses, and {len(results.faults)} rows cannot be used"
        )

    def build(self) -> Solver:
        """The solver.

        Raises:
            InputError: the file cannot be read or is no such CSV.
        """
        return Responses(self, read_results(Path(self.path)))


class Responses:
    """Gives to each question what was responded to it."""

    def __init__(self, options: ResponsesPlugin, results: CsvFile[CvqaResult]) -> None:
        self.options = options
        self.model = options.model or Path(options.path).stem
        self._known = frozenset(map(_result_id, results))
        self._results = Window(results, _result_id)

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """The recorded response to a question; one that the file does not have is `rejected`."""
        reply = self._results.find(request.item) if request.item in self._known else None
        if reply is None:
            return self._none(request, f"no such question: {self.options.path} has no row for '{request.item}'")
        first = request.side == "original"
        question = reply.row.original if first else reply.row.counterfactual
        if question.question != request.question:
            return self._none(
                request, f"no such question: row {reply.row.number} of {self.options.path} asks another one"
            )
        text = (reply.response if first else reply.new_response).strip()
        if not text:
            return AnswerReply(request.question, "", self.model, Status.UNPARSABLE, "empty response")
        return AnswerReply(request.question, text, self.model)

    def _none(self, request: AnswerRequest, reason: str) -> AnswerReply:
        return AnswerReply(request.question, "", self.model, Status.REJECTED, reason)


def _result_id(result: CvqaResult) -> str:
    return id_of(result.row)


_ANSWERS: dict[Form, tuple[str, ...]] = {"boolean": ("yes", "no"), "number": tuple(map(str, range(11)))}


class RandomPlugin(plugin.Plugin):
    """Chance: an option at random, yes or no at random, a number from 0 to 10 at random; it never looks.

    An open question has no answers to draw from: it is `rejected`.
    """

    def build(self) -> Solver:
        """The solver."""
        return Random()


class Random:
    """Draws every answer."""

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """An answer of the right form, drawn by the request's seed."""
        choices = read_choices(request.question)
        answers = tuple(choices.letters) if choices else _ANSWERS.get(request.form, ())
        if not answers:
            return AnswerReply(request.question, "", "random", Status.REJECTED, "chance has no words of its own")
        answer = random.Random(request.seed).choice(answers)
        return AnswerReply(request.question, answer, "random")
