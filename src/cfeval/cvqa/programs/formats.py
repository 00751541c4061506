"""Texts made from templates: `'{} of {n:.1f}'.format(…)` and `'%d of %s' % …`.

A place in a template is empty, a number or a name: nothing is ever looked up in a value.
"""

import re
import string
from collections.abc import Mapping, Sequence

from cfeval.cvqa.programs.limits import Meter, ProgramFault, Unsupported
from cfeval.cvqa.programs.text import formatted, quoted, text_of

_PLACE = re.compile(r"[A-Za-z0-9]\w*|")
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
        if not _PLACE.fullmatch(place):
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
    if template.count("%") != sum(found[0].count("%") for found in _PERCENT.finditer(template)):
        raise Unsupported("a place of a % format: only a width and precision of at most two digits")

    def one(found: re.Match[str]) -> str:
        name, shape, sign = found.groups()
        if sign == "%":
            return "%"
        if not name and not values:
            raise ProgramFault("more places than values in a % format", kind="TypeError")
        own = value[name] if name and isinstance(value, dict) else values.pop(0)
        if sign not in "sr" and not isinstance(own, int | float):
            raise ProgramFault(f"%{sign} takes a number", kind="TypeError")
        shown = text_of(own, meter) if sign == "s" else quoted(own, meter) if sign == "r" else own
        return meter.keep(f"%{shape}{'s' if sign == 'r' else sign}" % shown)

    made = _PERCENT.sub(one, template)
    if values and not isinstance(value, dict):
        raise ProgramFault("more values than places in a % format", kind="TypeError")
    return meter.keep(made)
