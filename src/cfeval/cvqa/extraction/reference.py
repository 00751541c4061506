"""The released rules that read an answer (C-VQA, `format_response.py`), quirks and all; and one for options.

A number: the first word, up to `if` or after an opening if-clause, that is all digits or spelled zero to ten. So `no`
is 0, `3.5` is 3, `-3` is 3, `1,000` is 1, and `twelve` is nothing. Yes and no: `not` anywhere means no, and otherwise a
mere `is` means yes. The released scripts have no rule for options; ours is the first letter that stands alone, else the
only option whose value the reply names.
"""

import re
from functools import cache

from cfeval.cvqa.records import Choices, Form

_SPELLED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_SPELLED)} | {"no": 0, "none": 0}
_WORD, _WORD_OR_COMMA = re.compile(r"\b\w+\b"), re.compile(r"\b\w+\b|,")
_NO, _YES = {"no", "false", "not"}, {"yes", "true", "be", "is", "are"}


@cache
def _patterns(last: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A letter in brackets, behind `option` or alone; and any letter that stands alone."""
    letter = f"([a-{last.lower()}])"
    wrapped = rf"\(\s*{letter}\s*\)|\b(?:option|answer\s+is|answer)\b[\s:]*\(?{letter}\b\)?|^\W*{letter}\W*$"
    return re.compile(wrapped, re.IGNORECASE), re.compile(rf"\b[A-{last}]\b")


def read(reply: str, form: Form, choices: Choices | None = None) -> str | None:
    """What the rules make of a reply: digits, `yes`, `no`, or a letter as shown; None for their `fail` and `-1`.

    They know no open answers: None.

    Args:
        choices: the options as they were shown, where the form is `choice`.
    """
    if form == "text":
        return None
    if form == "boolean":
        # `format_response.py`, type `boolean`.
        tokens = set(_WORD.findall(reply.lower()))
        if tokens & _NO:
            return "no"
        return "yes" if tokens & _YES else None
    return _number(reply) if form == "number" else _letter(reply, choices)


def _number(reply: str) -> str | None:
    """`format_response.py`, all types but `boolean`."""
    for word in _before_or_after_if(_WORD_OR_COMMA.findall(reply.lower())):
        if word.isdigit():
            # The number without leading zeros; None where Python's `int` gives up (`²`, thousands of digits).
            try:
                return str(int(word))
            except ValueError:
                return None
        if word in _NUMBERS:
            return str(_NUMBERS[word])
    return None


def _before_or_after_if(tokens: list[str]) -> list[str]:
    """What follows the first comma where `if` comes first, else what comes before any `if`."""
    if "if" not in tokens:
        return tokens
    if tokens[0] != "if":
        return tokens[: tokens.index("if")]
    return tokens[tokens.index(",") + 1 :] if "," in tokens else []


def _letter(reply: str, choices: Choices | None) -> str | None:
    """The first letter A to D that stands alone, once `(c)`, `option c`, `answer is c` and a lone `c` are a bare C."""
    letters = choices.letters if choices and len(choices.values) > 4 else "ABCD"
    wrapped, letter = _patterns(letters[-1])
    bare = wrapped.sub(lambda match: f" {next(filter(None, match.groups())).upper()} ", reply)
    if match := letter.search(bare):
        return match.group()
    tokens = set(_WORD.findall(reply))
    named = [
        letter for letter, value in zip(letters, choices.values if choices else (), strict=False) if value in tokens
    ]
    return named[0] if len(named) == 1 else None
