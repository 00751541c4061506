"""A better reader of free replies: what it cannot tell for sure is unread (None), never a guess.

What a reply sets apart as its answer counts first: between answer tags, in JSON or a call of a tool, in a box, on a
line of its own. Of prose it knows numbers over ten, thousands, decimals that are whole, `none` and `no cats`, sums,
sentences with an if-clause, reasoning that ends in an answer, letters and options by value; and the same in Chinese.
Refusals, ranges (`3 or 4`), bounds (`at least 3`), approximations by `or so`, contradictions, mere echoes and thoughts
that do not end are unread. It does not look at the right answer.
"""

import re
from dataclasses import dataclass
from functools import cache

from cfeval.cvqa.choices import LETTERS, Choices
from cfeval.cvqa.extraction import chinese, words
from cfeval.cvqa.extraction.set_apart import answers, lone_line, without_calls
from cfeval.cvqa.records import Form
from cfeval.datasets.answer_scoring import level, one_line
from cfeval.inference.replies.boolean import boolean
from cfeval.inference.replies.number import number
from cfeval.inference.replies.text import WORDS, Stated, stated, without_reason
from cfeval.inference.thinking import without_thoughts

_END = r"(?=\s*(?:$|[.,:;!)\]\"'=]|-\s|\d|\b(?:because|since|as|is|would|with|which)\b))"


@dataclass(frozen=True)
class _Marks:
    """How the letters up to one of them stand in a reply."""

    opening: re.Pattern[str]
    as_option: tuple[re.Pattern[str], ...]
    """Where a letter stands for its option."""
    alone: re.Pattern[str]
    contrast: re.Pattern[str]
    """What an answer is set against: `B, not A`."""
    final: re.Pattern[str]


@cache
def _marks(last: str) -> _Marks:
    small, large = f"[a-{last.lower()}]", f"[A-{last}]"
    alone = large.replace("A", "B") if last < "I" else rf"[B-HJ-{max(last, 'J')}]|I(?!')(?!\s+[a-z])"
    other = rf"(?:\(?(?:option |choice )?[\"']?{large}\b[\"')]*)"
    opening = re.compile(rf"^\W*({small})\s*(?:$|[).:,\]\"'=-]+(?=\s|\d|$)|\s(?=\d))", re.IGNORECASE)
    return _Marks(
        opening,
        (
            re.compile(rf"[(\[]\s*({small})\s*[)\]]", re.IGNORECASE),
            re.compile(
                r"\b(?:option|choice|letter|answer|pick|selection)(?:\s+(?:is|would be|will be|should be|must be))?"
                rf"\s*[:=]?\s*[\"'(\[]*({small})\b{_END}",
                re.IGNORECASE,
            ),
            re.compile(
                r"\b(?i:is|it's|be|choose|chose|pick|select|go with|going with|think|say|therefore|so|thus|hence)"
                rf"\s+[\"']*({large})\b{_END}"
            ),
            re.compile(rf"\b({large})\b(?= (?:is|would be|must be) (?:the )?(?:correct|right|answer|best))"),
            opening,
        ),
        re.compile(rf"\b(?:A(?!\w)(?!\s+[a-z])|{alone})\b(?!')"),
        re.compile(
            rf"(?<=[\w)\"'.*]),? (?:and |but )?(?:not|rather than|instead of|as opposed to) {other}"
            rf"(?:(?:,| or| nor| and)+ {other})*"
        ),
        re.compile(rf"\W*(?:option|choice|letter)?\W*({small})\b{_END}", re.IGNORECASE),
    )


_REJECTED = re.compile(
    r"\b(?:not|cannot|never|neither|nor|wrong|incorrect|maybe|perhaps|possibly|either|or)\b|n't\b", re.IGNORECASE
)


_NAMES_OPTION = re.compile(r"\b[A-Da-d]\b|\b(?:option|choice|first|second|third|fourth|last)s?\b", re.IGNORECASE)
"""What may name an option by its letter or its place."""
_VALUE = rf"(?:\d[\d,]*|(?:{'|'.join(sorted(WORDS))})(?:[ -](?:{'|'.join(sorted(WORDS))}))*)"
_BARE: dict[Form, re.Pattern[str]] = {
    "number": re.compile(rf"[^\w-]*{_VALUE}(?: [a-z]{{3,}}(?<!more)(?<!less)(?<!fewer)){{0,2}}[^\w?]*", re.IGNORECASE),
    "boolean": re.compile(r"\W*(?:yes|no)[^\w?]*", re.IGNORECASE),
    "choice": re.compile(rf"\W*(?:option )?(?:[A-D]\b(?:[):.,\s]+{_VALUE})?|{_VALUE})[^\w?]*", re.IGNORECASE),
}
"""Lines that are nothing but an answer."""


def read(reply: str, form: Form, choices: Choices | None = None, question: str = "") -> str | None:
    """What a reply says: digits, `yes`, `no`, or a letter as shown; None where it does not say it clearly.

    Args:
        choices: the options as they were shown, where the form is `choice`.
        question: what was asked; whole sentences are only taken for yes or no where they repeat its words.
    """
    text = without_thoughts(reply)
    if text is None:
        return None
    apart = answers(text)
    if apart:
        found = {_read(one, form, choices, question, final=True) for one in apart}
        return found.pop() if len(found) == 1 else None
    return _read(without_calls(text), form, choices, question)


def outside(reply: str, choices: Choices) -> str | None:
    """The number that a reply clearly gives though no option has it; None where it names an option or no number.

    Args:
        reply: one that names no option for sure.
        choices: the options as they were shown.
    """
    if _NAMES_OPTION.search(reply):
        return None
    value = read(reply, "number")
    return None if value in choices.values else value


def _read(text: str, form: Form, choices: Choices | None, question: str, final: bool = False) -> str | None:
    """A text that holds nothing but an answer where it is `final`, and otherwise a reply."""
    # `Not visible` may be an option, and no refusal.
    if choices and (whole := _whole_value(text, choices, _marks(choices.letters[-1]))):
        return whole
    if chinese.HAN.search(text):
        return chinese.read(text, form, choices)
    said = stated(text)
    if said is None:
        return None
    if not final and said.final is None:
        line = lone_line(said.text, _BARE[form]) if form in _BARE else None
        if line is not None:
            said, final = Stated(line, None), True
    if final:
        return _said(Stated(said.text, said.final or said.text), form, choices, question) or _said(
            said, form, choices, question, final
        )
    return _said(said, form, choices, question)


def _said(said: Stated, form: Form, choices: Choices | None, question: str, final: bool = False) -> str | None:
    if form == "text":
        return words.read(said, final)
    if form == "number":
        return number(said)
    return boolean(said, question) if form == "boolean" else choice(said, choices)


def choice(said: Stated, choices: Choices | None) -> str | None:
    """The letter, as shown, that a reply comes down to."""
    marks = _marks(max(LETTERS[-1], choices.letters[-1]) if choices else LETTERS[-1])
    text = marks.contrast.sub("", said.text if said.final is None else without_reason(said.final))
    if choices and (whole := _whole_value(text, choices, marks)):
        return whole
    marked = _letters(text, said.final is not None, marks)
    loose = set(marks.alone.findall(text))
    if len(marked | loose) > 1 or _REJECTED.search(text):
        return None
    by_value = _by_value(text, choices, marks)
    if not marked:
        return by_value if by_value and loose <= {by_value} else None
    [letter] = marked
    return letter if by_value in (None, letter) else None


def _letters(text: str, final: bool, marks: _Marks) -> set[str]:
    """The letters that stand as options."""
    found = {letter.upper() for mark in marks.as_option for letter in mark.findall(text)}
    if final and (bare := marks.final.match(text)):
        found.add(bare.group(1).upper())
    return found


def _by_value(text: str, choices: Choices | None, marks: _Marks) -> str | None:
    """The letter of the only option with the value that a text comes down to, however the value is written."""
    if choices is None:
        return None
    without = marks.opening.sub(" ", text)
    if without.strip() in choices.values:
        value: str | None = without.strip()
    elif all(value.isdigit() for value in choices.values):
        value = number(Stated(without, None))
    else:
        return _named_value(without, choices)
    named = [letter for letter, one in zip(choices.letters, choices.values, strict=True) if one == value]
    return named[0] if len(named) == 1 else None


def _whole_value(text: str, choices: Choices, marks: _Marks) -> str | None:
    """The letter of the option in words that a text is, with the letter before it or without."""
    given = marks.opening.match(text)
    said = _plain(marks.opening.sub(" ", text))
    for letter, value in zip(choices.letters, choices.values, strict=True):
        if said and not value.isdigit() and said == _plain(value):
            return letter if given is None or given[1].upper() == letter else None
    return None


def _named_value(text: str, choices: Choices) -> str | None:
    """The letter of the only option in words that a text names; one within a longer named one does not count."""
    rest, named = f" {_plain(text)} ", []
    for value in sorted(map(_plain, choices.values), key=len, reverse=True):
        if value and f" {value} " in rest:
            rest = rest.replace(f" {value} ", " | ")
            named.append(value)
    letters = [letter for letter, value in zip(choices.letters, choices.values, strict=True) if _plain(value) in named]
    return letters[0] if len(letters) == 1 else None


def _plain(text: str) -> str:
    """Levelled words, for options that are words."""
    return level(one_line(text)).replace(".", " ").strip()
