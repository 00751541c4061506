"""Options in free replies; see `cfeval.protocols.cvqa.robust`."""

import re

from cfeval.io.choices import LETTERS, Choices
from cfeval.protocols.cvqa.robust_number import number
from cfeval.protocols.cvqa.statements import Stated

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
