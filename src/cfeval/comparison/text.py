"""A comparison as a reader sees it: why, then what, from the parameters down to the items."""

import json
from collections.abc import Iterator

from cfeval.comparison.causes import shown
from cfeval.comparison.cells import Cell, Row
from cfeval.comparison.difference import Difference, OfStudy
from cfeval.comparison.flips import Arm, Item

_LONGEST = 100
_BEYOND = {True: "  beyond both intervals", False: "  within an interval", None: ""}


def lines(of: Difference) -> Iterator[str]:
    """The lines of a comparison."""
    yield f"{of.before} → {of.after}"
    yield from _section("Parameters", [f"{c.name}: {shown(c.before)} → {shown(c.after)}" for c in of.parameters])
    yield from _section("Not compared", list(of.notes))
    for study, found in of.studies.items():
        yield from _section(f"{study}: made otherwise", list(_made(found)))
        yield from _section(f"{study}: changed code", list(found.code))
        yield from _section(f"{study}: tables", [line for row in found.rows for line in _row(row)])
        yield from _section(f"{study}: not compared", list(found.notes))
        yield from _section(f"{study}: items", [line for arm in found.arms for line in _arm(arm)])
    if not of.parameters and not of.notes and not any(any(vars(found).values()) for found in of.studies.values()):
        yield "nothing differs"


def _section(title: str, content: list[str]) -> Iterator[str]:
    if content:
        yield ""
        yield title
        yield from (f"  {line}" for line in content)


def _made(found: OfStudy) -> Iterator[str]:
    for stage in found.made:
        for why, files in sorted(stage.why.items()):
            yield f"{stage.stage}, {files} of {stage.files} files: {why}"


def _row(row: Row) -> Iterator[str]:
    yield f"{row.table}: {' / '.join(row.names)}{'' if row.what == 'changed' else f': {row.what}'}"
    width = max((len(cell.column) for cell in row.cells), default=0)
    yield from (f"  {cell.column:<{width}}  {_cell(cell)}" for cell in row.cells)


def _cell(cell: Cell) -> str:
    difference = "" if cell.difference is None else f"  ({_signed(cell.difference)})"
    return f"{cell.before or '—'} → {cell.after or '—'}{difference}{_BEYOND[cell.beyond]}"


def _signed(number: float) -> str:
    return f"{number:+g}".replace("-", "−")


def _arm(arm: Arm) -> Iterator[str]:
    if arm.what != "changed":
        yield f"{'/'.join(arm.names)}: {arm.what}"
        return
    beside = "".join(f", {number} {what}" for number, what in ((arm.new, "new"), (arm.gone, "gone")) if number)
    yield f"{'/'.join(arm.names)}: {arm.flipped} of {arm.both} flipped{beside}"
    for metric, became in arm.became.items():
        yield f"  {metric}: {', '.join(f'{change}: {number}' for change, number in became.items())}"
    for item in arm.items:
        yield from (f"  {line}" for line in _item(item))
    if arm.flipped > len(arm.items) > 0:
        yield f"  … {arm.flipped - len(arm.items)} more; --items shows them"


def _item(item: Item) -> Iterator[str]:
    yield f"{item.key}: {', '.join(f'{metric} {change}' for metric, change in item.became.items())}"
    for name in dict.fromkeys([*item.before, *item.after]):
        was, now = item.before.get(name, ""), item.after.get(name, "")
        yield f"  {name}: {_said(was)}" + ("" if was == now else f" → {_said(now)}")


def _said(text: str) -> str:
    """What a model or a file said, in one line: no character of it can steer a terminal."""
    return json.dumps(text[:_LONGEST], ensure_ascii=not text.isprintable()) + ("…" if len(text) > _LONGEST else "")
