"""Recomputes what the second step of a draft works out (C-VQA, Appendix B), such as `The answer would be 3 + 3 = 6`.

Nothing is evaluated but numbers, + − * /, parentheses and `=`, by a reader of its own. One of the paper's own examples
says 2-1+2=3 and then gives the answer 1.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Verdict = Literal["agrees", "no sum", "wrong sum", "other start", "other answer"]
"""What can be said of a sum; the first fault counts. `other start`: it does not begin with the original answer."""

_DEEPEST = 20
_TOKEN = re.compile(
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+(?:\.[0-9]+)?)|(?P<word>[^\W\d_]+)|(?P<sign>[-+*/()=])|(?P<other>\S)"
)
_SAME_SIGNS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "∗": "*", "÷": "/", "⁄": "/"})
_EQUALS = ("equals", "is", "gives", "makes")
_SIGN_OF_WORD = {"plus": "+", "minus": "-", "times": "*", "x": "*"} | dict.fromkeys(_EQUALS, "=")
_LONGEST_NUMBER = 12
_LARGEST = 10**12
_SHOWN = 60
_WORDS_BETWEEN = 2
"""So many words may stand behind a number and before the next sign: `3 small birds + 3 birds = 6 birds`."""


@dataclass(frozen=True)
class Arithmetic:
    """The verdict, the number that the last sum gives where it is whole and not negative, and the fault in words.

    Of a wrong sum it is what stands before `=`, recomputed.
    """

    verdict: Verdict
    result: int | None = None
    reason: str = ""


class SumError(ValueError):
    """What stands there is no sum of numbers."""


def check_sum(step2: str, original: str, answer: str) -> Arithmetic:
    """Recompute every sum of a step and compare it with the answers before and after.

    Args:
        step2: the text of the step.
        original: the original answer, digits.
        answer: the new answer, digits.
    """
    sums = list(_sums(step2))
    if not sums:
        return Arithmetic("no sum")
    try:
        values = [_value(one) for one in sums]
    except SumError as error:
        return Arithmetic("wrong sum", _recomputed(sums[-1]), str(error))
    result = _whole(values[-1])
    start = next(token for token in sums[0] if token not in "(-")
    if Fraction(start) != int(original):
        return Arithmetic("other start", result, f"the sum begins with {start}, but the original answer is {original}")
    if result is None or str(result) != answer:
        return Arithmetic("other answer", result, f"the sum gives {_shown(values[-1])}, but the new answer is {answer}")
    return Arithmetic("agrees", result)


def evaluate(tokens: Sequence[str]) -> Fraction:
    """The value of numbers, signs and parentheses; `*` and `/` before `+` and `-`.

    Raises:
        SumError: they are no expression, divide by zero, or are nested too deep.
    """
    value, rest = _terms(tuple(tokens), 0)
    if rest:
        raise SumError(f"{_text(tokens)!r} cannot be read at {rest[0]!r}")
    return value


def _sums(text: str) -> Iterator[list[str]]:
    """The runs of numbers and signs that hold an `=` and another sign."""
    for run in map(_trimmed, _runs(text)):
        if "=" in run and set(run) & set("+-*/"):
            yield run


def _trimmed(run: list[str]) -> list[str]:
    """Without the dash of a list before it, a dash behind it, or parentheses around it."""
    while run and run[0] in "=+-*/)":
        run = run[1:]
    while run and run[-1] in "+-*/(":
        run = run[:-1]
    around = run[:1] == ["("] and run[-1] == ")" and "=" in run and ")" not in run[: run.index("=")]
    return run[1:-1] if around and run[: run.index("=")].count("(") == 1 else run


def _runs(text: str) -> Iterator[list[str]]:
    """The longest runs of numbers and signs; what else stands there ends one."""
    run: list[str] = []
    words = 0
    for kind, token in _tokens(text):
        follows = bool(run) and (run[-1][0].isdigit() or run[-1] == ")")
        if kind == "word" and follows and words < _WORDS_BETWEEN:
            words += 1
            continue
        new = token == "(" and follows
        if kind in ("word", "other") or (words and kind == "number") or new:
            yield run
            run = []
        if kind in ("number", "sign"):
            run.append(token)
        words = 0
    yield run


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token; a few words are signs where a number stands before and behind them."""
    found = list(_TOKEN.finditer(text.translate(_SAME_SIGNS)))
    for place, match in enumerate(found):
        kind, token = match.lastgroup or "other", match[0]
        token = token.replace(",", "") if kind == "number" else token
        sign = _SIGN_OF_WORD.get(token.lower())
        beside = found[max(place - 1, 0) : place] + found[place + 1 : place + 2]
        if sign and len(beside) == 2 and all(one.lastgroup == "number" or one[0] in "()" for one in beside):
            kind, token = "sign", sign
        yield kind, token


def _value(run: Sequence[str]) -> Fraction:
    """The value of a chain `a = b = …`; SumError where its parts differ."""
    sides = _split(run)
    if not all(sides):
        raise SumError(f"{_text(run)!r} says nothing on one side of '='")
    values = [evaluate(side) for side in sides]
    if any(max(abs(value.numerator), value.denominator) > _LARGEST for value in values):
        raise SumError(f"{_text(run)!r} holds a number that is too large")
    for side, value in zip(sides[1:], values[1:], strict=True):
        if value != values[0]:
            raise SumError(f"{_text(sides[0])} is {_shown(values[0])}, not {_text(side)}")
    return values[0]


def _recomputed(run: Sequence[str]) -> int | None:
    """What the first side of a sum gives; None where it cannot be read."""
    try:
        return _whole(evaluate(_split(run)[0]))
    except SumError:
        return None


def _split(run: Sequence[str]) -> list[list[str]]:
    sides: list[list[str]] = [[]]
    for token in run:
        if token == "=":
            sides.append([])
        else:
            sides[-1].append(token)
    return sides


_Read = tuple[Fraction, tuple[str, ...]]
"""A value and the tokens behind it."""


def _terms(tokens: tuple[str, ...], depth: int) -> _Read:
    value, tokens = _factors(tokens, depth)
    while tokens and tokens[0] in "+-":
        sign = -1 if tokens[0] == "-" else 1
        more, tokens = _factors(tokens[1:], depth)
        value += sign * more
    return value, tokens


def _factors(tokens: tuple[str, ...], depth: int) -> _Read:
    value, tokens = _atom(tokens, depth)
    while tokens and tokens[0] in "*/":
        sign = tokens[0]
        more, tokens = _atom(tokens[1:], depth)
        if sign == "/" and more == 0:
            raise SumError("divides by zero")
        value = value / more if sign == "/" else value * more
    return value, tokens


def _atom(tokens: tuple[str, ...], depth: int) -> _Read:
    if depth > _DEEPEST:
        raise SumError("is nested too deep")
    if not tokens:
        raise SumError("ends where a number is due")
    first, rest = tokens[0], tokens[1:]
    if first == "-":
        value, rest = _atom(rest, depth + 1)
        return -value, rest
    if first == "(":
        value, rest = _terms(rest, depth + 1)
        if rest[:1] != (")",):
            raise SumError("a parenthesis is left open")
        return value, rest[1:]
    if not first[0].isdigit() or len(first) > _LONGEST_NUMBER:
        raise SumError(f"{first[:_LONGEST_NUMBER]!r} stands where a number is due")
    return Fraction(first), rest


def _whole(value: Fraction) -> int | None:
    return int(value) if value.denominator == 1 and 0 <= value <= _LARGEST else None


def _shown(value: Fraction) -> str:
    return _text([str(value)])


def _text(tokens: Sequence[str]) -> str:
    text = "".join(tokens)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
