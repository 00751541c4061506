"""Read every answer by both readers and compare it with the right one."""

from cfeval.cli.common import Out
from cfeval.cli.cvqa.common import AnswersFile, QuestionsFile
from cfeval.io.following import Following
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.records.cvqa import Pair, Said
from cfeval.studies.cvqa.scores import scores


def run(questions: QuestionsFile, answers: AnswersFile, out: Out) -> None:
    """Read every answer by both readers and compare it with the right one."""
    pairs = Following(questions, Pair, lambda pair: pair.id)
    write_jsonl(out, scores(pairs, read_jsonl(answers, Said)))
