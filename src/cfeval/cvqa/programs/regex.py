"""Regular expressions in linear time: a pattern becomes a short list of instructions, all threads of which go through
the text at once (Thompson 1968; captures after Pike). No pattern can make a search run away, and every step is counted.

Of Python's syntax there are literals, `.`, classes, `\\d \\w \\s \\b` and their opposites, anchors, groups (captured,
named, `(?:…)`), alternatives, repetitions (greedy and lazy, `{m,n}` to 200), and the flag `(?i)`. Back references and
looking around need what is not linear, and are refused.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern: (what, argument, argument) each; `char` tests, `split` and `jump` go on, `save` notes."""

    text: str
    code: tuple[tuple[str, object, object], ...]
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
    node = reader.alternatives(0)
    if reader.at < len(text):
        raise _wrong(text, "an unbalanced parenthesis")
    code: list[tuple[str, object, object]] = [("save", 0, None)]
    node(code)
    code += [("save", 1, None), ("match", None, None)]
    meter.step(len(code))
    return Pattern(text, tuple(code), reader.groups, reader.names)


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
            if at < len(text) and test(text[at]):  # type: ignore[operator]
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
        what, step, other = pattern.code[place]
        if what == "jump":
            stack.append((_number(step), spans))
        elif what == "split":
            stack += [(_number(other), spans), (_number(step), spans)]
        elif what == "save":
            number = _number(step)
            stack.append((place + 1, (*spans[:number], at, *spans[number + 1 :])))
        elif what == "where":
            if step(text, at):  # type: ignore[operator]
                stack.append((place + 1, spans))
        else:
            places.append((place, spans))
    return places


def _number(value: object) -> int:
    assert isinstance(value, int), "a place in the code"
    return value


Code = list[tuple[str, object, object]]
# A part of a pattern: it adds its instructions.
Node = Callable[[Code], None]


@dataclass
class _Reader:
    """Reads a pattern by descent."""

    text: str
    ignore_case: bool
    at: int = 0
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)

    def alternatives(self, level: int) -> Node:
        """`a|b`."""
        if level > _DEEPEST:
            raise _wrong(self.text, "groups nested too deeply", Unsupported)
        options = [self._sequence(level)]
        while self._take("|"):
            options.append(self._sequence(level))
        return options[0] if len(options) == 1 else _either(options)

    def _sequence(self, level: int) -> Node:
        parts = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self._repeated(level))

        def add(code: Code) -> None:
            for part in parts:
                part(code)

        return add

    def _repeated(self, level: int) -> Node:
        node = self._atom(level)
        while self.at < len(self.text) and self.text[self.at] in "*+?{":
            bounds = self._bounds()
            if bounds is None:
                break
            node = _times(node, *bounds, lazy=self._take("?"), text=self.text)
        return node

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

    def _atom(self, level: int) -> Node:
        sign = self.text[self.at]
        self.at += 1
        if sign == "(":
            return self._group(level)
        if sign == "[":
            return _char(self._class())
        if sign == "\\":
            return self._escaped()
        if sign in "*+?":
            raise _wrong(self.text, "nothing to repeat")
        if sign in "^$":
            return _where(_at_start if sign == "^" else _at_end)
        return _char((lambda letter: letter != "\n") if sign == "." else self._literal(sign))

    def _group(self, level: int) -> Node:
        number = name = None
        if self._take("?"):
            if self._take("i)"):
                self.ignore_case = True
                return _nothing
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
        return inner if number is None else _saved(inner, number)

    def _escaped(self) -> Node:
        if self.at >= len(self.text):
            raise _wrong(self.text, "a lone backslash at the end")
        sign = self.text[self.at]
        self.at += 1
        if sign in "bB":
            return _where(lambda text, at: _at_word(text, at) == (sign == "b"))
        if sign in "AZ":
            return _where(_at_start if sign == "A" else lambda text, at: at == len(text))
        if sign.lower() in _SETS:
            return _char(_set(sign))
        if sign.isdecimal() or (sign.isalpha() and sign not in _ESCAPES):
            raise _wrong(self.text, f"\\{sign} is not offered", Unsupported)
        return _char(self._literal(_ESCAPES.get(sign, sign)))

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
        if sign.lower() in _SETS:
            return sign, _set(sign)
        return _ESCAPES.get(sign, sign), None

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


def _nothing(code: Code) -> None:
    del code


def _at_start(text: str, at: int) -> bool:
    del text
    return at == 0


def _at_end(text: str, at: int) -> bool:
    return at == len(text) or (at == len(text) - 1 and text[at] == "\n")


def _at_word(text: str, at: int) -> bool:
    word = _SETS["w"]
    return (at > 0 and word(text[at - 1])) != (at < len(text) and word(text[at]))


def _char(test: Test) -> Node:
    return lambda code: code.append(("char", test, None))


def _where(test: Callable[[str, int], bool]) -> Node:
    return lambda code: code.append(("where", test, None))


def _saved(inner: Node, number: int) -> Node:
    def add(code: Code) -> None:
        code.append(("save", 2 * number, None))
        inner(code)
        code.append(("save", 2 * number + 1, None))

    return add


def _either(options: list[Node]) -> Node:
    def add(code: Code) -> None:
        ends = []
        for option in options[:-1]:
            split = len(code)
            code.append(("split", split + 1, None))
            option(code)
            ends.append(len(code))
            code.append(("jump", None, None))
            code[split] = ("split", split + 1, len(code))
        options[-1](code)
        for end in ends:
            code[end] = ("jump", len(code), None)

    return add


def _times(inner: Node, least: int, most: int | None, *, lazy: bool, text: str) -> Node:
    def add(code: Code) -> None:
        for _ in range(least):
            before = len(code)
            _grown(inner, code, text)
            if len(code) == before:
                break
        if most is None:
            start = len(code)
            code.append(("split", None, None))
            _grown(inner, code, text)
            code.append(("jump", start, None))
            code[start] = _split(start + 1, len(code), lazy)
            return
        splits = []
        for _ in range(most - least):
            splits.append(len(code))
            code.append(("split", None, None))
            _grown(inner, code, text)
        for split in splits:
            code[split] = _split(split + 1, len(code), lazy)

    return add


def _split(inside: int, beyond: int, lazy: bool) -> tuple[str, object, object]:
    return ("split", beyond, inside) if lazy else ("split", inside, beyond)


def _grown(inner: Node, code: Code, text: str) -> None:
    if len(code) > _LARGEST:
        raise _wrong(text, "too long", Unsupported)
    inner(code)


def _wrong(text: str, why: str, fault: type[ProgramFault] = ProgramFault) -> ProgramFault:
    return fault(f"the pattern {text[:60]!r}: {why}", kind="ValueError")


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
