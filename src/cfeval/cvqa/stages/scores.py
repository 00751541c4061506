"""Scores: each reply read by both readers and compared with the right answer (C-VQA, `calc_acc.py`: equal or not)."""

from collections.abc import Iterable, Iterator
from typing import Any

from cfeval.core.cli_options import Cut, OutFolder
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.records import failed, propagated
from cfeval.core.shards import whole_or_shards_of_all
from cfeval.core.streams import ByKey, StreamingLookup
from cfeval.cvqa import open_answers
from cfeval.cvqa.extraction import reference, robust
from cfeval.cvqa.files import AnswersFiles, QuestionsFile
from cfeval.cvqa.records import (
    ALPHABET,
    AS_PUBLISHED,
    Answer,
    Choices,
    CvqaScore,
    ExtractorName,
    Form,
    Question,
    QuestionPair,
    form_of,
    read_choices,
)
from cfeval.inference.thinking import without_thoughts


def scores(pairs: ByKey[str, QuestionPair], replies: Iterable[Answer]) -> Iterator[CvqaScore]:
    """Score everything that was said, in its order. A failed reply is a row without scores, never a wrong answer.

    Nor is one that the robust reader cannot read; by the released rules it is wrong, as in the released scorer.

    Args:
        pairs: the questions, by id.
        replies: what was said.

    Raises:
        InputError: something was said to another question of the same id, or to options in an order that is none.
    """
    for reply in replies:
        pair = pairs[reply.id]
        if reply.side not in pair.questions:
            raise InputError(f"an answer to the {reply.side} question of '{reply.id}', which has none")
        # Sets may share ids, as puzzles of two seeds do; whatever the template, what was asked holds the question.
        question = pair.questions[reply.side]
        choices = read_choices(question.question)
        which = f"the {reply.side} question of '{reply.id}'"
        if (choices.stem if choices else question.question) not in reply.asked:
            raise InputError(
                f"an answer to {which}, but to another one ({reply.asked[:60]!r}); answer the set's own questions"
            )
        if reply.option_order and (choices is None or sorted(reply.option_order) != list(choices.letters)):
            raise InputError(
                f"an answer to {which} with options in the order {reply.option_order[:8]!r}, which it cannot have"
            )
        yield _scored(pair, reply)


def read_both(
    text: str, form: Form, choices: Choices | None = None, question: str = ""
) -> dict[ExtractorName, str | None]:
    """What each reader makes of a reply without what its model thought aloud; letters as shown.

    Of options the robust reader gives a number that none of them has as it is: it is an answer, and no letter.

    Args:
        choices: the options as they were shown.
        question: what was asked.
    """
    reply = without_thoughts(text)
    if reply is None:
        return {"robust": None, "reference": None}
    # A number that no option has is a clear answer, and a wrong one.
    read = robust.read(reply, form, choices, question) or (robust.outside(reply, choices) if choices else None)
    return {"robust": read, "reference": reference.read(reply, form, choices)}


def _scored(pair: QuestionPair, reply: Answer) -> CvqaScore:
    question = pair.questions[reply.side]
    choices = read_choices(question.question)
    figures: dict[str, Any] = {"gold": question.answer, "type": pair.type, "image": pair.image.sha256}
    figures |= {"coco": pair.coco, "people": pair.people, "form": form_of(question)}
    figures |= {"options": len(choices.values) if choices else 0}
    figures |= propagated(reply) if failed(reply) else _compared(question, reply)
    if reply.program is not None:
        figures |= reply.program.model_dump(include={"fault", "unsupported", "fallback"})
    return CvqaScore(id=reply.id, side=reply.side, option_order=reply.option_order, **figures)


def _compared(question: Question, reply: Answer) -> dict[str, Any]:
    form, choices = form_of(question), read_choices(question.question)
    if choices and reply.option_order:
        choices = choices.reordered(reply.option_order)
    shown = read_both(reply.text, form, choices, choices.stem if choices else question.question)
    read = {reader: standing(answer, reply.option_order) for reader, answer in shown.items()}
    return {
        "read": read,
        "shown": shown if form == "choice" else {},
        "correct": {reader: _correct(reader, answer, question) for reader, answer in read.items()},
    }


def _correct(reader: ExtractorName, answer: str | None, question: Question) -> int | None:
    """1 or 0; None for what was not read, except by the released rules, which count it as wrong.

    Of an open answer the released rules know nothing: None.
    """
    if form_of(question) == "text":
        return (
            None
            if answer is None
            else open_answers.compare(answer, (question.answer, *question.also), question.question)
        )
    return None if answer is None and reader != AS_PUBLISHED else int(answer == question.answer)


def standing(letter: str | None, order: str) -> str | None:
    """An answer; a letter as it was shown becomes that of the question as it stands: under `BCDA` a shown A is B."""
    return order[ALPHABET.index(letter)] if order and letter in tuple(order) else letter


def run(questions: QuestionsFile, answers: AnswersFiles, out: OutFolder, cut: Cut = None) -> None:
    """Read every answer to a set's questions by both readers and compare it with the right one.

    Each file of answers has one of scores, of the same name, in the folder OUT; so have its shards.
    """
    question_files = whole_or_shards_of_all([questions], cut)
    for file in answers:
        answer_files = whole_or_shards_of_all([file], cut)
        if len(answer_files) != len(question_files):
            raise InputError(
                f"{file}: {len(answer_files)} files for {len(question_files)} of {questions}; "
                "cut both into as many shards"
            )
        for source, shard in zip(question_files, answer_files, strict=True):
            pairs = StreamingLookup(source, QuestionPair, lambda pair: pair.id)
            write_jsonl(out / shard.relative_to(file.parent), scores(pairs, read_jsonl(shard, Answer)))
