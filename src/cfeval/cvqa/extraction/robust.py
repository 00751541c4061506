"""A better reader of free replies: what it cannot tell for sure is unread (None), never a guess.

It knows numbers over ten, thousands, decimals that are whole, `none` and `no cats`, sums, sentences with an if-clause,
reasoning that ends in an answer, letters and options by value. Refusals, ranges (`3 or 4`), bounds (`at least 3`),
approximations by `or so`, contradictions and mere echoes are unread. It does not look at the right answer.
"""

import re
from itertools import pairwise

from cfeval.cvqa.csv_format import LETTERS, Choices
from cfeval.cvqa.extraction.robust_number import number
from cfeval.cvqa.extraction.text import Stated, asserted, sentences, stated
from cfeval.cvqa.records import Form

_YES = frozenset(["yes", "yeah", "yep", "yup", "true", "correct", "affirmative"])
_NO = frozenset(["no", "nope", "nah", "false", "negative"])
_OTHER = {"yes": "no", "no": "yes"}
_AFTER_NO = frozenset(
    {
        *("it", "they", "he", "she", "there", "this", "that", "these", "those", "the", "i", "we", "you", "if"),
        *("because", "since", "not", "as", "his", "her", "its", "their", "a", "an", "otherwise", "when", "and"),
        *("but", "or"),
    }
)
"""Words before which `no` is an answer and not the `no` of `no cats`."""
_SURE = r"(?:definitely|certainly|absolutely|probably|most likely|most probably|of course|surely)"
_LEAD = rf"(?:{_SURE}|so|therefore|thus|hence|well|i (?:think|believe|would say)|i'd say|it is|it's)"
_SURE_NOT = re.compile(rf"\W*{_SURE} not\b", re.IGNORECASE)
_SURE_YES = re.compile(r"\W*(?:definitely|certainly|absolutely|of course|surely|indeed)\W*", re.IGNORECASE)
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|might|may|could|either|neither|not (?:necessarily|yes|no|true))\b", re.I
)
_SUBJECT = r"(?:(?:it|they|he|she|there|this|that|these|those|we|you|i)|the \w+(?: \w+)?)"
_VERB = r"(?:would|will|is|are|was|were|does|do|did|can|has|have|should)"
_ELLIPTIC = re.compile(
    rf"\W*{_SUBJECT}(?:'d|'s|'re|'ll| {_VERB})?(?P<no> not|n't)?(?: be| have| do)?"
    r"(?: so| anymore| any more| any longer)?\W*",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(rf"\b({_VERB})(?:n't)?\b")
_SHORT_VERB = re.compile(rf"'(?:d|s|re|ll)\b|\b{_VERB}(?:n't)?\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|never|no|nobody|nothing|none|neither|without)\b|n't\b", re.IGNORECASE)
_TURN = re.compile(r"[.!?;\n]\s*(?:however|but|that said|on the other hand|still)\b", re.IGNORECASE)
"""A sentence that may take an opening `yes` back."""
_WHOLE_ONLY = frozenset(
    {
        *("and", "or", "only", "all", "both", "all_of", "each", "same", "more", "most", "less", "fewer", "than"),
        *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    }
)
"""Words of a question that a sentence must repeat too: `the cat is black` does not say that it is black and white."""
_EMPTY = frozenset(
    {
        *("a", "an", "the", "it", "they", "he", "she", "there", "this", "that", "these", "those", "his", "her"),
        *("its", "their", "would", "will", "could", "should", "is", "are", "was", "were", "be", "been"),
        *("being", "do", "does", "did", "have", "has", "had", "if", "in", "on", "of", "to", "at", "still"),
        *("also", "then", "not", "n't", "anymore", "longer", "wouldn't", "isn't", "aren't", "won't", "doesn't"),
        *("wasn't", "weren't", "image", "picture", "photo"),
    }
)
"""Words that tell nothing of what a sentence is about."""
_END = r"(?=\s*(?:$|[.,:;!)\]\"'=]|-\s|\d|\b(?:because|since|as|is|would|with|which)\b))"
_BRACKETED = re.compile(r"[(\[]\s*([a-d])\s*[)\]]", re.IGNORECASE)
_MARKED = re.compile(
    r"\b(?:option|choice|letter|answer)(?:\s+(?:is|would be|will be|should be|must be))?"
    rf"\s*[:=]?\s*[\"'(\[]*([a-d])\b{_END}",
    re.IGNORECASE,
)
_OPENING = re.compile(r"^\W*([a-d])\s*(?:$|[).:,\]\"'=-]+(?=\s|\d|$)|\s(?=\d))", re.IGNORECASE)
_CHOSEN = re.compile(
    r"\b(?i:is|it's|be|choose|chose|pick|select|go with|going with|think|say|therefore|so|thus|hence)"
    rf"\s+[\"']*([A-D])\b{_END}"
)
_RIGHT = re.compile(r"\b([A-D])\b(?= (?:is|would be|must be) (?:the )?(?:correct|right|answer|best))")
_ALONE = re.compile(r"\b(?:A(?!\w)(?!\s+[a-z])|[B-D])\b(?!')")
_REJECTED = re.compile(
    r"\b(?:not|cannot|never|neither|nor|wrong|incorrect|maybe|perhaps|possibly|either|or)\b|n't\b", re.IGNORECASE
)


def read(reply: str, form: Form, choices: Choices | None = None, question: str = "") -> str | None:
    """What a reply says: digits, `yes`, `no`, or a letter as shown; None where it does not say it clearly.

    Args:
        choices: the options as they were shown, where the form is `choice`.
        question: what was asked; whole sentences are only taken for yes or no where they repeat its words.
    """
    said = stated(reply)
    if said is None:
        return None
    if form == "number":
        return number(said)
    return boolean(said, question) if form == "boolean" else choice(said, choices)


def boolean(said: Stated, question: str = "") -> str | None:
    """The `yes` or `no` that a reply comes down to."""
    if said.final is not None:
        return _opening(said.final)
    told = sentences(said.text)
    text = " ".join(told)
    opened = _opening(text)
    if opened:
        if _TURN.search(text):
            return None
        goes_on = sentences(re.sub(r"^\W*\w+\W*", "", text))
        denied = {_OTHER[opened]} & {_echo(sentence, question) for sentence in goes_on[:1]}
        return None if denied else opened
    if _polarities(text):
        return None
    if len(told) != 1 or _HEDGED.search(text):
        return None
    return _whole(told[0]) or _echo(told[0], question)


def _opening(text: str) -> str | None:
    """The yes or no that a text opens with, unless it says the other one too."""
    lower = text.lower()
    if _HEDGED.match(lower.strip()):
        return None
    if _SURE_NOT.match(lower):
        return "no" if "yes" not in _polarities(lower) else None
    first = re.match(rf"\W*(?:{_LEAD}\W+)*(\w+)", lower)
    told = _polarities(lower)
    if first is None or first.group(1) not in _YES | _NO or len(told) != 1:
        return None
    return told.pop()


def _polarities(text: str) -> set[str]:
    """`yes`, `no` or both, as far as a text says them as answers."""
    found, words = set(), re.findall(r"\w+(?:'\w+)?|[^\w\s]", text.lower())
    for word, following in pairwise([*words, "."]):
        if word in _YES:
            found.add("yes")
        if word in _NO and (not following[0].isalnum() or following in _AFTER_NO | _YES | _NO):
            found.add("no")
    return found


def _whole(sentence: str) -> str | None:
    """A sentence that is an answer as a whole: `it would not`, `definitely`."""
    if _SURE_YES.fullmatch(sentence):
        return "yes"
    if _SURE_NOT.fullmatch(sentence.rstrip(" .!")):
        return "no"
    found = _ELLIPTIC.fullmatch(sentence)
    if found is None or not _SHORT_VERB.search(sentence):
        return None
    return "no" if found.group("no") else "yes"


def _echo(sentence: str, question: str) -> str | None:
    """A sentence that repeats the whole question as a statement, or denies it; None where it says less or else."""
    claim = asserted(sentence).lower().replace("no longer", "not")
    words = _content(claim)
    verbs, asked = (set(_AUXILIARY.findall(text.lower())) for text in (claim, question))
    if (
        not words
        or not verbs
        or _DENIED.search(question)
        or words != _content(asserted(question))
        or not verbs <= asked
    ):
        return None
    if _WHOLE_ONLY & (_content(asserted(question)) - words):
        return None
    denied = re.findall(r"\bnot\b|n't\b", claim)
    if len(_DENIED.findall(claim)) != len(denied) or len(denied) > 1:
        return None
    return "no" if denied else "yes"


def _content(text: str) -> set[str]:
    return set(re.findall(r"\w+(?:'\w+)?", text.lower())) - _EMPTY


def choice(said: Stated, choices: Choices | None) -> str | None:
    """The letter, as shown, that a reply comes down to."""
    text = said.text if said.final is None else said.final
    marked = _letters(text, said.final is not None)
    loose = set(_ALONE.findall(text))
    if len(marked | loose) > 1 or _REJECTED.search(text):
        return None
    by_value = _by_value(text, choices)
    if not marked:
        return by_value if by_value and loose <= {by_value} else None
    [letter] = marked
    return letter if by_value in (None, letter) else None


def _letters(text: str, final: bool) -> set[str]:
    """The letters that stand as options."""
    marks = [_BRACKETED, _MARKED, _CHOSEN, _RIGHT, _OPENING]
    found = {letter.upper() for mark in marks for letter in mark.findall(text)}
    if final and (bare := re.match(rf"\W*(?:option|choice|letter)?\W*([a-d])\b{_END}", text, re.IGNORECASE)):
        found.add(bare.group(1).upper())
    return found


def _by_value(text: str, choices: Choices | None) -> str | None:
    """The letter of the only option with the value that a text comes down to, however the value is written."""
    if choices is None:
        return None
    without = _OPENING.sub(" ", text)
    if without.strip() in choices.values:
        value: str | None = without.strip()
    else:
        value = number(Stated(without, None))
    named = [letter for letter, one in zip(LETTERS, choices.values, strict=True) if one == value]
    return named[0] if len(named) == 1 else None
