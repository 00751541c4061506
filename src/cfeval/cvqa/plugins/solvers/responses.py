"""Responses that were recorded before: a file of results in C-VQA's format, for questions that stand in that file.

The questions come from the set `csv`, made from the same file or from the published questions in the same order. So
other people's results stand in the tables beside one's own, read and scored in the same way.
"""

from collections.abc import Iterator
from pathlib import Path

from cfeval.core import plugin
from cfeval.core.errors import CfevalError
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic
from cfeval.core.streams import Window
from cfeval.core.text_files import CsvFile
from cfeval.cvqa.csv_format import CvqaResult, read_results
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, Solver
from cfeval.cvqa.plugins.question_sets.csv import id_of


class Plugin(plugin.Plugin):
    """Where the responses are, and whose they are."""

    path: str = plugin.file()
    """The CSV file: the questions' columns, `response` and `new_response`."""
    model: str = ""
    """Who responded; by default the name of the file without its ending."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """How many rows can be used."""
        if not Path(self.path).is_file():  # a missing file is told as such
            return
        try:
            found = read_results(Path(self.path))
            count = sum(1 for _ in found)
        except CfevalError as error:
            yield Diagnostic(False, str(error))
            return
        yield Diagnostic(
            not found.faults, f"{self.path}: {count} responses, and {len(found.faults)} rows cannot be used"
        )

    def build(self) -> Solver:
        """The solver.

        Raises:
            InputError: the file cannot be read or is no such CSV.
        """
        return Responses(self, read_results(Path(self.path)))


class Responses:
    """Gives to each question what was responded to it."""

    def __init__(self, options: Plugin, results: CsvFile[CvqaResult]) -> None:
        self.options = options
        self.model = options.model or Path(options.path).stem
        self._known = frozenset(map(_id, results))
        self._results = Window(results, _id)

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """The recorded response to a question; one that the file does not have is `rejected`."""
        reply = self._results.find(request.item) if request.item in self._known else None
        if reply is None:
            return self._none(request, f"no such question: {self.options.path} has no row for '{request.item}'")
        first = request.side == "original"
        asked = reply.row.original if first else reply.row.counterfactual
        if asked.question != request.question:
            return self._none(
                request, f"no such question: row {reply.row.number} of {self.options.path} asks another one"
            )
        text = (reply.response if first else reply.new_response).strip()
        if not text:
            return AnswerReply(request.question, "", self.model, Status.UNPARSABLE, "empty response")
        return AnswerReply(request.question, text, self.model)

    def _none(self, request: AnswerRequest, reason: str) -> AnswerReply:
        return AnswerReply(request.question, "", self.model, Status.REJECTED, reason)


def _id(result: CvqaResult) -> str:
    return id_of(result.row)
