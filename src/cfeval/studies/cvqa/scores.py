"""Scores: each reply read by both readers and compared with the right answer (C-VQA, `calc_acc.py`: equal or not)."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cfeval.errors import InputError
from cfeval.io.choices import LETTERS, Choices, read_choices
from cfeval.protocols.cvqa import reference, robust
from cfeval.records.cvqa import CvqaScore, Form, Pair, PairType, Question, ReaderName, Said, Side, form_of
from cfeval.records.outcomes import carried, failed


class _Asked(NamedTuple):
    """What of a pair is needed to score what was said about it."""

    type: PairType
    image: str
    coco: int | None
    original: Question
    counterfactual: Question

    def side(self, side: Side) -> Question:
        return self.original if side == "original" else self.counterfactual


def scores(pairs: Iterable[Pair], said: Iterable[Said]) -> Iterator[CvqaScore]:
    """Score everything that was said, in its order. A failed reply is a row without scores, never a wrong answer.

    Raises:
        InputError: something was said about a pair that is not among `pairs`, to another question of the same id, or
            to options in an order that is none.
    """
    known = {pair.id: _asked(pair) for pair in pairs}
    for reply in said:
        if reply.id not in known:
            raise InputError(f"an answer to '{reply.id}', which is no pair of this set; answer the set's own questions")
        _refuse_other(known[reply.id].side(reply.side), reply)
        yield _scored(known[reply.id], reply)


def read_both(
    text: str, form: Form, choices: Choices | None = None, question: str = ""
) -> dict[ReaderName, str | None]:
    """What each reader makes of a reply; letters as shown.

    Args:
        choices: the options as they were shown.
        question: what was asked.
    """
    return {
        "reference": reference.read(text, form, choices),
        "robust": robust.read(text, form, choices, question),
    }


def _asked(pair: Pair) -> _Asked:
    return _Asked(pair.type, pair.image.sha256, pair.coco, pair.original, pair.counterfactual)


def _refuse_other(question: Question, said: Said) -> None:
    """Sets may share ids, as puzzles of two seeds do; whatever the template, what was asked holds the question."""
    choices = read_choices(question.question)
    which = f"the {said.side} question of '{said.id}'"
    if (choices.stem if choices else question.question) not in said.asked:
        raise InputError(
            f"an answer to {which}, but to another one ({said.asked[:60]!r}); answer the set's own questions"
        )
    if said.order and (choices is None or sorted(said.order) != list(LETTERS)):
        raise InputError(f"an answer to {which} with options in the order {said.order[:8]!r}, which it cannot have")


def _scored(pair: _Asked, said: Said) -> CvqaScore:
    asked = pair.side(said.side)
    figures: dict[str, Any] = {"gold": asked.answer, "type": pair.type, "image": pair.image, "coco": pair.coco}
    figures |= carried(said) if failed(said) else _compared(asked, said, form_of(pair.type))
    if said.program is not None:
        figures |= {"fault": said.program.fault, "fallback": said.program.fallback}
    return CvqaScore(id=said.id, side=said.side, order=said.order, **figures)


def _compared(asked: Question, said: Said, form: Form) -> dict[str, Any]:
    choices = read_choices(asked.question) if form == "choice" else None
    if choices and said.order:
        choices = choices.reordered(said.order)
    shown = read_both(said.text, form, choices, choices.stem if choices else asked.question)
    read = {reader: _standing(answer, said.order) for reader, answer in shown.items()}
    return {
        "read": read,
        "shown": shown if form == "choice" else {},
        "correct": {reader: int(answer == asked.answer) for reader, answer in read.items()},
    }


def _standing(letter: str | None, order: str) -> str | None:
    """A letter as it was shown, in the question as it stands: under `BCDA` what was shown as A is B."""
    return order[LETTERS.index(letter)] if order and letter in tuple(LETTERS) else letter
