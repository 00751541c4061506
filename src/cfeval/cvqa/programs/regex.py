"""Regular expressions in linear time: a pattern becomes a short list of instructions, all threads of which go through
the text at once (Thompson 1968; captures after Pike). No pattern can make a search run away, and every step is counted.

Of Python's syntax there are literals, `.`, classes, `\\d \\w \\s \\b` and their opposites, anchors, groups (captured,
named, `(?:…)`), alternatives, repetitions (greedy and lazy, `{m,n}` to 200), and the flag `(?i)`. Back references and
looking around need what is not linear, and are refused.

google-re2 cannot take its place: its `\\d \\w \\s \\b` know ASCII alone and its `$` does not match before a last line
break, which without looking around no other pattern can say, so that programs would silently do other than in Python.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cfeval.cvqa.programs.limits import Meter, ProgramFault, Unsupported

# The largest number in braces.
_MOST = 200
# Instructions of a pattern.
_LARGEST = 2_000
# Characters of a pattern.
_LONGEST = 500
_GROUPS = 20
# Groups within groups.
_DEEPEST = 20
_SETS: dict[str, Callable[[str], bool]] = {
    "d": str.isdecimal,
    "w": lambda letter: letter.isalnum() or letter == "_",
    "s": str.isspace,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
Test = Callable[[str], bool]
# Start and end of the match and of each group, by turns.
Spans = tuple[int | None, ...]
# What each instruction does, and with what: `char` with a test of the next character, `where` with one of the place in
# the text, `save` with the number of a span's edge; `jump` and `split` with how far the next instruction is, of `split`
# the preferred one first.
Code = list[tuple[str, Any, Any]]


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern."""

    text: str
    code: Code
    groups: int
    names: dict[str, int]


def compiled(text: str, ignore_case: bool, meter: Meter) -> Pattern:
    """A pattern.

    Raises:
        ProgramFault: not a pattern, too large, or with what is not offered.
    """
    meter.step(1 + len(text))
    if len(text) > _LONGEST:
        raise _wrong(text, f"longer than {_LONGEST} characters", Unsupported)
    reader = _Reader(text, ignore_case)
    code = [("save", 0, None), *reader.alternatives(0), ("save", 1, None), ("match", None, None)]
    if reader.at < len(text):
        raise _wrong(text, "an unbalanced parenthesis")
    if len(code) > _LARGEST:
        raise _wrong(text, "too long", Unsupported)
    meter.step(len(code))
    return Pattern(text, code, reader.groups, reader.names)


def matched(pattern: Pattern, text: str, start: int, anchored: bool, whole: bool, meter: Meter) -> Spans | None:
    """The first match at or behind `start`, by Python's rules of which is preferred; None where there is none."""
    threads: list[tuple[int, Spans]] = []
    result: Spans | None = None
    empty: Spans = (None,) * (2 * pattern.groups + 2)
    for at in range(start, len(text) + 1):
        if result is None and (at == start or not anchored):
            threads = [*threads, (0, empty)]
        threads = _closed(pattern, threads, text, at, meter)
        if not threads and (result is not None or anchored):
            break
        after: list[tuple[int, Spans]] = []
        for place, spans in threads:
            what, test, _ = pattern.code[place]
            if what == "match":
                if whole and at < len(text):
                    continue
                result = spans
                break
            if at < len(text) and test(text[at]):
                after.append((place + 1, spans))
        threads = after
    return result


def _closed(
    pattern: Pattern, threads: list[tuple[int, Spans]], text: str, at: int, meter: Meter
) -> list[tuple[int, Spans]]:
    """All threads that wait for a character or have matched, the preferred first; each place once."""
    seen: set[int] = set()
    places = []
    stack = list(reversed(threads))
    while stack:
        place, spans = stack.pop()
        if place in seen:
            continue
        meter.step()
        seen.add(place)
        what, value, other = pattern.code[place]
        if what == "jump":
            stack.append((place + value, spans))
        elif what == "split":
            stack += [(place + other, spans), (place + value, spans)]
        elif what == "save":
            stack.append((place + 1, (*spans[:value], at, *spans[value + 1 :])))
        elif what == "where":
            if value(text, at):
                stack.append((place + 1, spans))
        else:
            places.append((place, spans))
    return places


def spans(pattern: Pattern, text: str, meter: Meter) -> Iterator[Spans]:
    """All matches that do not overlap, as Python finds them."""
    at = 0
    while at <= len(text):
        match = matched(pattern, text, at, anchored=False, whole=False, meter=meter)
        if match is None:
            return
        yield match
        end, start = match[1] or 0, match[0] or 0
        at = end if end > start else end + 1


@dataclass
class _Reader:
    """Reads a pattern by descent; every part gives its instructions."""

    text: str
    ignore_case: bool
    at: int = 0
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)

    def alternatives(self, level: int) -> Code:
        """`a|b`."""
        if level > _DEEPEST:
            raise _wrong(self.text, "groups nested too deeply", Unsupported)
        options = [self._sequence(level)]
        while self._take("|"):
            options.append(self._sequence(level))
        code = options.pop()
        for option in reversed(options):
            code = [("split", 1, len(option) + 2), *option, ("jump", len(code) + 1, None), *code]
        return code

    def _sequence(self, level: int) -> Code:
        code: Code = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            part = self._atom(level)
            while self.at < len(self.text) and self.text[self.at] in "*+?{":
                bounds = self._bounds()
                if bounds is None:
                    break
                part = self._times(part, *bounds, lazy=self._take("?"))
            code += part
        return code

    def _bounds(self) -> tuple[int, int | None] | None:
        sign = self.text[self.at]
        if sign != "{":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        inner, closed, _ = self.text[self.at + 1 :].partition("}")
        low, comma, high = inner.partition(",")
        if not closed or not (low + high).isdecimal() or not (low or comma):
            return None  # a brace that stands for itself
        self.at += len(inner) + 2
        least, most = int(low or 0), (int(high) if high else None) if comma else int(low)
        if max(least, most or 0) > _MOST or (most is not None and most < least):
            raise _wrong(self.text, f"a repetition of more than {_MOST}, or none that can be", Unsupported)
        return least, most

    def _times(self, part: Code, least: int, most: int | None, *, lazy: bool) -> Code:
        size, optional = len(part) + 1, 0 if most is None else most - least
        if size * max(least + 1, most or 0) > _LARGEST and part:
            raise _wrong(self.text, "too long", Unsupported)

        def split(beyond: int) -> tuple[str, int, int]:
            return ("split", beyond, 1) if lazy else ("split", 1, beyond)

        if most is None:
            return [*part * least, split(size + 1), *part, ("jump", -size, None)]
        code = part * least
        for left in range(optional, 0, -1):
            code += [split(left * size), *part]
        return code

    def _atom(self, level: int) -> Code:
        sign = self.text[self.at]
        self.at += 1
        if sign == "(":
            return self._group(level)
        if sign == "[":
            return [("char", self._class(), None)]
        if sign == "\\":
            return [self._escaped()]
        if sign in "*+?":
            raise _wrong(self.text, "nothing to repeat")
        if sign in "^$":
            return [("where", _at_start if sign == "^" else _at_end, None)]
        return [("char", (lambda letter: letter != "\n") if sign == "." else self._literal(sign), None)]

    def _group(self, level: int) -> Code:
        number = name = None
        if self._take("?"):
            if self._take("i)"):
                self.ignore_case = True
                return []
            if self._take("P<"):
                name, _, rest = self.text[self.at :].partition(">")
                self.at = len(self.text) - len(rest)
            elif not self._take(":"):
                raise _wrong(self.text, "only (…), (?:…), (?P<name>…) and (?i) are offered", Unsupported)
        if self.text[self.at - 1] != ":" or self.text[self.at - 2] != "?":
            self.groups += 1
            number = self.groups
            if number > _GROUPS:
                raise _wrong(self.text, f"more than {_GROUPS} groups", Unsupported)
            if name:
                self.names[name] = number
        inner = self.alternatives(level + 1)
        if not self._take(")"):
            raise _wrong(self.text, "a parenthesis is not closed")
        return inner if number is None else [("save", 2 * number, None), *inner, ("save", 2 * number + 1, None)]

    def _escaped(self) -> tuple[str, Any, Any]:
        if self.at >= len(self.text):
            raise _wrong(self.text, "a lone backslash at the end")
        sign = self.text[self.at]
        self.at += 1
        if sign in "bB":
            return "where", lambda text, at: _at_word(text, at) == (sign == "b"), None
        if sign in "AZ":
            return "where", _at_start if sign == "A" else lambda text, at: at == len(text), None
        if sign.lower() in _SETS:
            return "char", _set(sign), None
        if sign.isdecimal() or (sign.isalpha() and sign not in _ESCAPES):
            raise _wrong(self.text, f"\\{sign} is not offered", Unsupported)
        return "char", self._literal(_ESCAPES.get(sign, sign)), None

    def _class(self) -> Test:
        tests: list[Test] = []
        opposite = self._take("^")
        first = True
        while first or not self._take("]"):
            first = False
            low, test = self._member()
            if test is not None:
                tests.append(test)
            elif self.text[self.at : self.at + 1] == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                tests.append(self._range(low, self._member()[0]))
            else:
                tests.append(self._literal(low))
        return lambda letter: any(test(letter) for test in tests) != opposite

    def _member(self) -> tuple[str, Test | None]:
        if self.at >= len(self.text):
            raise _wrong(self.text, "a bracket is not closed")
        sign = self.text[self.at]
        self.at += 1
        if sign != "\\" or self.at >= len(self.text):
            return sign, None
        sign = self.text[self.at]
        self.at += 1
        return (sign, _set(sign)) if sign.lower() in _SETS else (_ESCAPES.get(sign, sign), None)

    def _range(self, low: str, high: str) -> Test:
        if high < low:
            raise _wrong(self.text, f"the range {low}-{high} is empty")
        if not self.ignore_case:
            return lambda letter: low <= letter <= high
        return lambda letter: low <= letter.lower() <= high or low <= letter.upper() <= high

    def _literal(self, sign: str) -> Test:
        if self.ignore_case:
            return lambda letter: letter.lower() == sign.lower()
        return lambda letter: letter == sign

    def _take(self, sign: str) -> bool:
        there = self.text.startswith(sign, self.at)
        self.at += len(sign) if there else 0
        return there


def _set(sign: str) -> Test:
    test = _SETS[sign.lower()]
    return test if sign.islower() else lambda letter: not test(letter)


def _at_start(text: str, at: int) -> bool:
    del text
    return at == 0


def _at_end(text: str, at: int) -> bool:
    return at == len(text) or (at == len(text) - 1 and text[at] == "\n")


def _at_word(text: str, at: int) -> bool:
    word = _SETS["w"]
    return (at > 0 and word(text[at - 1])) != (at < len(text) and word(text[at]))


def _wrong(text: str, why: str, fault: type[ProgramFault] = ProgramFault) -> ProgramFault:
    return fault(f"the pattern {text[:60]!r}: {why}", kind="ValueError")
