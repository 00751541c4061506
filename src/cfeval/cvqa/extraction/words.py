"""Open answers: the words that a reply comes down to, and whether they are the right answer.

A reply is read where it is a short statement or ends in one; long ones, hedged ones and refusals are unread. What was
read is right where it is an accepted answer, or says one and nothing else but words of the question and joining words;
letter case, marks, articles, plurals and spelled numbers do not count. It is wrong where it says no accepted answer, so
that other names for the same thing must be among the accepted ones. What says an accepted answer and more is neither.
"""

import re
from collections.abc import Sequence

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


def read(said: Stated, final: bool = False) -> str | None:
    """The words that a reply comes down to; None where it does not come down to few.

    Args:
        said: the reply, taken apart.
        final: whether the reply is set apart as an answer.
    """
    if said.final is not None:
        text = without_reason(said.final)
    elif final:
        text = said.text
    else:
        kept = [sentence for sentence in sentences(said.text) if not _REASON_FIRST.match(sentence)]
        if len(kept) != 1:
            return None
        text = without_reason(asserted(kept[0]))
    words = text.split()
    if not level(one_line(text)) or len(words) > _MOST_WORDS or _HEDGED.search(text):
        return None
    return " ".join(words).strip(" \"'.,;:!")


def compare(answer: str, accepted: Sequence[str], question: str) -> int | None:
    """1 where the words are an accepted answer, 0 where they say none, None where they say one and more.

    Args:
        answer: what `read` gave.
        accepted: right answers.
        question: what was asked; its words in an answer say nothing new.
    """
    said, known = _words(answer), _JOINING | set(_words(question))
    for right in accepted:
        wanted = _words(right)
        if said == wanted:
            return 1
        places = [at for at in range(len(said) - len(wanted) + 1) if wanted and said[at : at + len(wanted)] == wanted]
        if places:
            rest = said[: places[0]] + said[places[0] + len(wanted) :]
            return None if any(word in _NEGATIONS or word not in known for word in rest) else 1
    return 0


def _words(text: str) -> list[str]:
    """Words as they are compared: levelled, and without the s of a plural."""
    plain = one_line(text.replace("’", "'"))
    words = (level(plain) or plain.lower()).replace(".", " ").split()
    return [re.sub(r"(?<=\w\w[^s\W])s$", "", word) for word in words]
