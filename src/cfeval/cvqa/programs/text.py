"""Values as text: as `str` and `repr` write them, glimpses for traces, and texts made from templates.

`'{} of {n:.1f}'.format(…)`, `'%d of %s' % …`: a place in a template is empty, a number or a name; nothing is ever
looked up in a value.
"""

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from cfeval.cvqa.programs.limits import SHOWN, Exhausted, Meter, ProgramFault, Unsupported
from cfeval.cvqa.programs.objects import Class, Instance, Named
from cfeval.cvqa.programs.regex import Pattern
from cfeval.cvqa.programs.values import Error, Function, Image, ImagePatch, Lazy, Match, Members, Module, Native, kind
from cfeval.cvqa.programs.vision import Found, View

# Format specifications that are allowed: a width and precision of at most two digits.
_SPEC = re.compile(r"(?:[^{}]?[<>^=])?[+\- ]?[0-9]{0,2}[,_]?(\.[0-9]{1,2})?[dfeg%sbx]?")


def text_of(value: object, meter: Meter) -> str:
    """`str(value)`."""
    if isinstance(value, Error):
        return meter.keep(value.message)
    if isinstance(value, Instance) and value.has("__str__"):
        return _own_text(value, "__str__", meter)
    if isinstance(value, Instance) and value.cls.exception:
        args: Any = value.names.get("args", ())
        return text_of(args[0] if len(args) == 1 else args, meter) if args else ""
    if isinstance(value, Instance) and value.cls.enumeration:
        return f"{value.cls.name}.{value.names['name']}"
    return meter.keep(value if isinstance(value, str) else written(value, meter.budget.string, meter))


def quoted(value: object, meter: Meter) -> str:
    """`repr(value)`."""
    return meter.keep(written(value, meter.budget.string, meter))


def formatted(value: object, spec: str, meter: Meter) -> str:
    """A value in an f-string, by a short numeric specification."""
    if not spec:
        return text_of(value, meter)
    if not _SPEC.fullmatch(spec):
        raise Unsupported(f"format {spec[:40]!r} is not supported; use a width and precision of at most two digits")
    if not isinstance(value, str | int | float):
        raise ProgramFault(f"format {spec!r} needs a number or a text", kind="TypeError")
    return meter.keep(format(value, spec))


def glimpse(value: object, limit: int = SHOWN) -> str:
    """A value as a trace shows it: no longer than that, whatever it holds."""
    pieces: list[str] = []
    left = limit + 1
    for piece in _pieces(value, 0):
        pieces.append(piece[:left])
        left -= len(piece)
        if left <= 0:
            break
    return "".join(pieces)


def written(value: object, limit: int, meter: Meter) -> str:
    """`repr` of a value, stopped where it grows too long."""
    pieces: list[str] = []
    total = 0
    for piece in _pieces(value, 0, meter):
        meter.step()
        total += len(piece)
        if total > limit:
            raise Exhausted(f"a text of more than {limit} characters")
        pieces.append(piece)
    return "".join(pieces)


_BRACKETS: tuple[tuple[type[Any], str, str], ...] = ((list, "[", "]"), (tuple, "(", ")"), (Members, "{", "}"))


def _own_text(value: Instance, name: str, meter: Meter) -> str:
    text = value.invoke(name)
    if not isinstance(text, str):
        raise ProgramFault(f"{name} returns a text", kind="TypeError")
    return meter.keep(text)


def _pieces(value: Any, level: int, meter: Meter | None = None) -> Any:
    """The pieces of a value's text, one after another; lists within themselves end in dots.

    Without a meter no method of the program is called for it: a trace only looks.
    """
    if level > 20:
        yield "…"
        return
    if isinstance(value, Named):
        yield f"{value.cls.name}("
        for number, (name, item) in enumerate(zip(value.cls.fields, value, strict=True)):
            yield f"{', ' if number else ''}{name}="
            yield from _pieces(item, level + 1, meter)
        yield ")"
        return
    if isinstance(value, Instance) and meter is not None and value.has("__repr__"):
        yield _own_text(value, "__repr__", meter)
        return
    for brackets, start, end in _BRACKETS:
        if isinstance(value, brackets):
            yield from _listed(
                list(value), start, end if brackets is not tuple or len(value) != 1 else ",)", level, meter
            )
            return
    if isinstance(value, dict):
        yield "{"
        for number, (name, item) in enumerate(value.items()):
            yield ", " if number else ""
            yield from _pieces(name, level + 1, meter)
            yield ": "
            yield from _pieces(item, level + 1, meter)
        yield "}"
        return
    yield _plain(value)


def _listed(items: list[object], start: str, end: str, level: int, meter: Meter | None) -> Any:
    if not items and start == "{":
        yield "set()"
        return
    yield start
    for number, item in enumerate(items):
        yield ", " if number else ""
        yield from _pieces(item, level + 1, meter)
    yield end


def _plain(value: object) -> str:
    """The text of a value that holds no others; never an address."""
    if isinstance(value, ImagePatch):
        return f"ImagePatch({value.left}, {value.lower}, {value.right}, {value.upper})"
    if isinstance(value, Image):
        return _box("image", value.view.box)
    if isinstance(value, View):
        return _box("image", value.box)
    if isinstance(value, Found):
        return _box("box", value.box)
    if isinstance(value, Instance):
        member = f".{value.names['name']}" if value.cls.enumeration else ""
        return f"<{value.cls.name}{member}>"
    if isinstance(value, Class):
        return f"<class {value.name}>"
    if isinstance(value, Native | Function | Module):
        return f"<{value.name}>"
    if isinstance(value, Error):
        return f"{value.kind}({value.message!r})"
    if isinstance(value, Match):
        return f"<match {value.text[slice(*value.spans[:2])][:SHOWN]!r}>"
    if isinstance(value, Pattern):
        return f"<pattern {value.text[:SHOWN]!r}>"
    if isinstance(value, Lazy):
        return "<iterator>"
    return repr(value) if isinstance(value, str | int | float | range | None) or value is ... else f"<{kind(value)}>"


def _box(name: str, box: tuple[float, ...]) -> str:
    return f"{name}({', '.join(f'{edge:g}' for edge in box)})"


_TEMPLATE_PLACE = re.compile(r"[A-Za-z0-9]\w*|")
_PERCENT = re.compile(r"%(?:\((\w+)\))?([-+ 0]{0,3}[0-9]{0,2}(?:\.[0-9]{1,2})?)([sdifgerx%])")


def filled(template: str, values: Sequence[object], named: Mapping[str, object], meter: Meter) -> str:
    """`template.format(*values, **named)`.

    Raises:
        ProgramFault: a place that has an attribute or an index, or for which there is no value.
    """
    meter.step(1 + len(template) // 16)
    pieces, count = [], 0
    for literal, place, spec, conversion in string.Formatter().parse(template):
        pieces.append(literal)
        if place is None:
            continue
        if not _TEMPLATE_PLACE.fullmatch(place):
            raise Unsupported(f"the place {place[:40]!r} of a format: only numbers and names")
        name = place or str(count)
        count += not place
        value = values[int(name)] if name.isdecimal() else named[name]
        shown = quoted(value, meter) if conversion in ("r", "a") else value
        pieces.append(formatted(shown, spec or "", meter))
    meter.text(sum(map(len, pieces)))
    return "".join(pieces)


def percent(template: str, value: object, meter: Meter) -> str:
    """`template % value`.

    Raises:
        ProgramFault: more or fewer values than places, or a place of another form than a short width and precision.
    """
    meter.step(1 + len(template) // 16)
    values = list(value) if isinstance(value, tuple) else [value]
    if template.count("%") != sum(match[0].count("%") for match in _PERCENT.finditer(template)):
        raise Unsupported("a place of a % format: only a width and precision of at most two digits")

    def filled_in(match: re.Match[str]) -> str:
        name, shape, sign = match.groups()
        if sign == "%":
            return "%"
        if not name and not values:
            raise ProgramFault("more places than values in a % format", kind="TypeError")
        own = value[name] if name and isinstance(value, dict) else values.pop(0)
        if sign not in "sr" and not isinstance(own, int | float):
            raise ProgramFault(f"%{sign} takes a number", kind="TypeError")
        shown = text_of(own, meter) if sign == "s" else quoted(own, meter) if sign == "r" else own
        return meter.keep(f"%{shape}{'s' if sign == 'r' else sign}" % shown)

    made = _PERCENT.sub(filled_in, template)
    if values and not isinstance(value, dict):
        raise ProgramFault("more values than places in a % format", kind="TypeError")
    return meter.keep(made)
