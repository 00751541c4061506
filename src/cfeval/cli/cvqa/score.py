"""Read every answer by both readers and compare it with the right one."""

from cfeval.cli.common import Out
from cfeval.cli.cvqa.common import AnswersFile, QuestionsFile
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.records.cvqa import Pair, Said
from cfeval.studies.cvqa.scores import scores


def run(questions: QuestionsFile, answers: AnswersFile, out: Out) -> None:
    """Read every answer by both readers and compare it with the right one."""
    write_jsonl(out, scores(read_jsonl(questions, Pair), read_jsonl(answers, Said)))
