"""Answers that evade a question: they say that nothing can be told, or that the thing is not to be seen.

An evasion is no answer. A model that says of every edited image that what was asked about is no longer visible has
neither followed the edit nor ignored it. The texts show the usual wordings; the judge that compares two answers also
says of others whether they evade (`cfeval.edct.protocols.controls`).
"""

import re

from cfeval.core.records import Status

NO_ANSWER = (Status.REFUSED, Status.MODERATED, Status.TRUNCATED, Status.UNPARSABLE)
"""How a conversation ends without an answer by the doing of the target, or of those who run it."""

_CANNOT = (
    r"(?:can(?:not|'?t| not)|could(?: not|n'?t)|(?:not|n'?t) able to|unable to"
    r"|(?:im|not )possible to|(?:hard|difficult) to|no way to|not enough (?:information|detail|evidence) to"
    r"|insufficient (?:information|detail|evidence) to)"
)
_TELL = (
    r"(?:be )?(?:\w+ly )?(?:tell|say|see|know|determine[d]?|answer(?:ed)?|identify|identified|make (?:it |that )?out"
    r"|judge[d]?|read|recogni[sz]e[d]?|establish(?:ed)?|infer(?:red)?|find|assist|help|comment|conclude[d]?)"
)
_GONE = (
    r"(?:no longer|not(?: \w+ly)?|isn'?t|aren'?t|never) (?:be )?(?:\w+ly )?(?:visible|shown|seen|discernible|in view)"
)
_UNKNOWN = (
    r"(?:i (?:do not|don'?t) know|not sure|unsure|uncertain|unknown|indeterminate|undetermined|unclear|unanswerable"
    r"|no answer|no idea|n/?a|cannot answer|insufficient (?:information|evidence)|not enough (?:information|evidence)"
    r"|(?:there is |there'?s )?not enough (?:information|detail) (?:in|to) .*"
    r"|it depends|impossible to (?:say|tell))"
)
_EVASION = re.compile(rf"\b{_CANNOT} {_TELL}\b|\b{_GONE}\b|^(?:it is |it'?s |that is |i'?m |i am )?{_UNKNOWN}[.!]?$")
_DEFINITE = re.compile(r"^(?:yes|no)\b(?! (?:idea|answer|information|way|clue))")


def declines(status: Status, answer: str, before: str) -> bool:
    """Whether a target gave no answer, or evaded the question as it did not in its answer before."""
    return status in NO_ANSWER or (evades(answer) and not evades(before))


def evades(answer: str) -> bool:
    """Whether an answer evades its question. One that begins with a yes or no does not, whatever it adds."""
    text = " ".join(answer.lower().replace("’", "'").split())
    return not _DEFINITE.match(text) and bool(_EVASION.search(text))
