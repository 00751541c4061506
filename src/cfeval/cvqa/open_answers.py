"""Open answers: the words that a reply comes down to, whether they are right, and replies of known truth.

A reply is read where it is a short statement or ends in one; long ones, hedged ones and refusals are unread. What was
read is right where it is an accepted answer, or says one and nothing else but words of the question and joining words;
letter case, marks, articles, plurals and spelled numbers do not count. It is wrong where it says no accepted answer, so
that other names for the same thing must be among the accepted ones. What says an accepted answer and more is neither.

Replies of known truth measure how often a language model that judges open answers errs. 52 were written by hand: near
misses, less exact names, opposites, and the same in other words (known_answers.jsonl). And each open question of the
study gives one: right, an accepted answer that the judge is not told, or where there is one only, that one in a
sentence; wrong, an accepted answer of another question of the set. Those of the study are easier than what models say,
so that the error measured on them is a lower bound of it.
"""

import re
from collections import deque
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple

from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import ItemId, Record
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.records import Question, Side
from cfeval.datasets.answer_scoring import level, one_line
from cfeval.inference.replies.text import Stated, asserted, sentences, without_reason

_MOST_WORDS = 12
_REASON_FIRST = re.compile(r"\W*(?:this is |that is |it is )?(?:because|since|due to)\b", re.IGNORECASE)
_HEDGED = re.compile(r"\b(?:or|either|maybe|perhaps|possibly|might|may|could)\b", re.IGNORECASE)
_NEGATIONS = frozenset(re.findall(r"\S+", "not never neither nor no without cannot isn't wouldn't won't aren't wasn't"))
_JOINING = frozenset(
    re.findall(
        r"\w+",
        "it its they them their he him his she her this that these those there here i we you would will should can do "
        "does be is are was were been being become becomes get gets have has had look looks seem seems remain "
        "remains of in on at to by with as then so still just only also likely probably therefore thus answer image "
        "picture photo scene and",
    )
)


def read_words(statement: Stated, final: bool = False) -> str | None:
    """The words that a reply comes down to; None where it does not come down to few.

    Args:
        statement: the reply, taken apart.
        final: whether the reply is set apart as an answer.
    """
    if statement.final is not None:
        text = without_reason(statement.final)
    elif final:
        text = statement.text
    else:
        kept = [sentence for sentence in sentences(statement.text) if not _REASON_FIRST.match(sentence)]
        if len(kept) != 1:
            return None
        text = without_reason(asserted(kept[0]))
    tokens = text.split()
    if not level(one_line(text)) or len(tokens) > _MOST_WORDS or _HEDGED.search(text):
        return None
    return " ".join(tokens).strip(" \"'.,;:!")


def compare(answer: str, accepted: Sequence[str], question: str) -> int | None:
    """1 where the words are an accepted answer, 0 where they say none, None where they say one and more.

    Args:
        answer: what `read` gave.
        accepted: right answers.
        question: what was asked; its words in an answer say nothing new.
    """
    tokens, repeated = _tokens(answer), _JOINING | set(_tokens(question))
    for right in accepted:
        wanted = _tokens(right)
        if tokens == wanted:
            return 1
        places = [
            at for at in range(len(tokens) - len(wanted) + 1) if wanted and tokens[at : at + len(wanted)] == wanted
        ]
        if places:
            rest = tokens[: places[0]] + tokens[places[0] + len(wanted) :]
            return None if any(word in _NEGATIONS or word not in repeated for word in rest) else 1
    return 0


def _tokens(text: str) -> list[str]:
    """Words as they are compared: levelled, and without the s of a plural."""
    plain = one_line(text.replace("’", "'"))
    tokens = (level(plain) or plain.lower()).replace(".", " ").split()
    return [re.sub(r"(?<=\w\w[^s\W])s$", "", word) for word in tokens]


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
    forth = compare(answer, accepted, question.question)
    back = [compare(right, (answer,), question.question) for right in accepted]
    return any(verdict != 0 for verdict in (forth, *back))
