"""What ViperGPT makes of values: a number of a text, and an answer's text of what a program returned.

Numbers are read as by its `coerce_to_numeric`: digits or number words, a leading minus, the first of a range (`10-15`),
a year beside the name of a month; an integer unless there is a point; a text without a number comes back unchanged. Its
faults are mended: the year of a date is found (it never is), and the first number of a text is taken (all digits of the
text were run together: `2 of 5` gave 25).

An answer is the first of a list, or `no` where it is empty; `no` for nothing; yes and no for booleans and for the texts
`true` and `false`; lower case. Beyond ViperGPT, a whole number that came out as a float is written without its `.0`.
"""

import re

from cfeval.cvqa.programs.limits import ProgramFault, clean
from cfeval.cvqa.programs.values import kind

_MONTHS = re.compile(
    r"\b(january|february|march|april|may|june|july|august|september|october|november|december)\b", re.IGNORECASE
)
_YEAR = re.compile(r"\b([12][0-9]{3})\b")
_UNDER_TEN = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_UNITS = {word: number for number, word in enumerate((*_UNDER_TEN, *_TEENS))}
_TENS_NAMES = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {word: 10 * number for number, word in enumerate(_TENS_NAMES, start=2)}
_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_WORD = "|".join([*_UNITS, *_TENS, "hundred", *_SCALES])
_NUMBER = re.compile(
    rf"(?P<digits>(?<![\w.-])-?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)|[0-9][0-9,]*(?:\.[0-9]+)?)"
    rf"|(?P<words>\b(?:{_WORD})\b(?:(?:[\s-]+|\s+and\s+)\b(?:{_WORD})\b)*)",
    re.IGNORECASE,
)
# Characters in which a number is looked for.
_READ = 2_000
_DIGITS = 300
_TRUTH = {"true": "yes", "false": "no"}
# Characters of an answer that are kept.
_LONGEST = 4_000


def coerce(text: str) -> int | float | str:
    """The number in a text, or the text itself."""
    if _MONTHS.search(text[:_READ]) and (year := _YEAR.search(text[:_READ])):
        return int(year[1])
    match = _NUMBER.search(text[:_READ])
    if match is None:
        return text
    if match["words"]:
        return words_to_number(match["words"])
    digits = match["digits"].replace(",", "")
    if len(digits) > _DIGITS:
        return text
    return float(digits) if "." in digits else int(digits)


def words_to_number(text: str) -> int:
    """The number that number words say: `two hundred and five` is 205."""
    total = part = 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _UNITS or word in _TENS:
            part += _UNITS.get(word, 0) + _TENS.get(word, 0)
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
    return total + part


def normalise(value: object) -> str:
    """The answer's text.

    Raises:
        ProgramFault: a value that is no answer, such as a patch of the image.
    """
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    if value is None:
        return "no"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | float):
        raise ProgramFault(
            f"the program returned a value of type {kind(value)}; an answer is a text, a number or a boolean"
        )
    text = clean(str(value)[:_LONGEST].strip().lower())
    return _TRUTH.get(text, text)
