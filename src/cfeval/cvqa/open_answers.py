"""Replies of known truth, by which a language model that judges open answers is tried: how often does it err?

Two sources. 52 replies were written by hand: near misses, less exact names, opposites, and the same in other words
(known_answers.jsonl). And each open question of the study gives one: right, an accepted answer that the judge is not
told, or where there is one only, that one in a sentence; wrong, an accepted answer of another question of the set.
Those of the study are easier than what models say, so that the error measured on them is a lower bound of it.
"""

from collections import deque
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple

from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import ItemId, Record
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.extraction import words
from cfeval.cvqa.records import Question, Side

Truth = Literal["right", "wrong"]
_IN_A_SENTENCE = ("It would be {}.", "I would say {}.", "As far as I can see, {}.", "Then the answer is {}.")
_REMEMBERED = 8  # earlier questions whose answers may stand for a wrong one


class WrittenReply(Record):
    """A reply written for this purpose; `kind` says what is hard about it."""

    id: ItemId
    kind: str
    question: str
    accepted: tuple[str, ...]
    reply: str
    truth: Truth


class KnownReply(NamedTuple):
    """A reply of known truth: what the judge is told is accepted, and what was replied."""

    id: str
    side: Side
    question: str
    accepted: tuple[str, ...]
    reply: str
    truth: Truth


@cache
def written_replies() -> tuple[KnownReply, ...]:
    """The replies that were written by hand."""
    file = Path(str(resources.files("cfeval.cvqa"))) / "known_answers.jsonl"
    return tuple(
        KnownReply(reply.id, "original", reply.question, reply.accepted, reply.reply, reply.truth)
        for reply in read_jsonl(file, WrittenReply)
    )


class KnownReplies:
    """Makes a reply to each open question of a set, right or wrong by lot; to the first there may be none wrong."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._earlier: deque[str] = deque(maxlen=_REMEMBERED)

    def to(self, item: str, side: Side, question: Question) -> KnownReply:
        """The reply to a question; the same questions in the same order get the same replies, whoever answered."""
        lot = derive_seed(self.seed, item, side, "known reply")
        accepted = (question.answer, *question.also)
        others = [answer for answer in self._earlier if not _may_be_right(answer, question)]
        self._earlier.append(question.answer)
        sentence = _IN_A_SENTENCE[lot // 2 % len(_IN_A_SENTENCE)]
        if lot % 2 and others:
            reply = sentence.format(others[lot // 8 % len(others)])
            return KnownReply(item, side, question.question, accepted, reply, "wrong")
        hidden = accepted[lot // 2 % len(accepted)]
        others_accepted = tuple(answer for answer in accepted if answer != hidden)
        if others_accepted:
            return KnownReply(item, side, question.question, others_accepted, hidden, "right")
        return KnownReply(item, side, question.question, accepted, sentence.format(accepted[0]), "right")


def _may_be_right(answer: str, question: Question) -> bool:
    """Whether an answer to another question says an accepted one of this, wholly or in part, or is said by one."""
    accepted = (question.answer, *question.also)
    forth = words.compare(answer, accepted, question.question)
    back = [words.compare(right, (answer,), question.question) for right in accepted]
    return any(verdict != 0 for verdict in (forth, *back))
