"""A comparison as a reader sees it, in the terminal, as JSON or as a page: `differences` finds what differs."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import writable
from cfeval.core.files import write_text
from cfeval.core.folder import Evaluations, check_evaluations
from cfeval.report.html import rendered
from cfeval.study.causes import shown
from cfeval.study.changes import Cell, Condition, Item, Row
from cfeval.study.differences import Difference, OfStudy, difference
from cfeval.study.outcomes import KINDS
from cfeval.study.revisions import project
from cfeval.study.wording import WORKSPACE, open_side

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
        yield from _section(
            f"{study}: items", [line for condition in found.conditions for line in _condition(condition)]
        )
    if not of.parameters and not of.notes and not any(any(vars(found).values()) for found in of.studies.values()):
        yield "nothing differs"


def _section(title: str, content: list[str]) -> Iterator[str]:
    if content:
        yield ""
        yield title
        yield from (f"  {line}" for line in content)


def _made(found: OfStudy) -> Iterator[str]:
    for of in found.made:
        for why, files in sorted(of.why.items()):
            yield f"{of.step}, {files} of {of.files} files: {why}"


def _row(row: Row) -> Iterator[str]:
    yield f"{row.table}: {' / '.join(row.names)}{'' if row.what == 'changed' else f': {row.what}'}"
    width = max((len(cell.column) for cell in row.cells), default=0)
    yield from (f"  {cell.column:<{width}}  {_cell(cell)}" for cell in row.cells)


def _cell(cell: Cell) -> str:
    difference = "" if cell.difference is None else f"  ({signed(cell.difference)})"
    return f"{cell.before or '—'} → {cell.after or '—'}{difference}{_BEYOND[cell.beyond]}"


def _condition(condition: Condition) -> Iterator[str]:
    if condition.what != "changed":
        yield f"{'/'.join(condition.names)}: {condition.what}"
        return
    beside = "".join(
        f", {number} {what}" for number, what in ((condition.new, "new"), (condition.gone, "gone")) if number
    )
    yield f"{'/'.join(condition.names)}: {condition.flipped} of {condition.both} flipped{beside}"
    for metric, became in condition.became.items():
        yield f"  {metric}: {', '.join(f'{change}: {number}' for change, number in became.items())}"
    for item in condition.items:
        yield from (f"  {line}" for line in _item(item))
    if condition.flipped > len(condition.items) > 0:
        yield f"  … {condition.flipped - len(condition.items)} more; --items shows them"


def _item(item: Item) -> Iterator[str]:
    yield f"{item.key}: {', '.join(f'{metric} {change}' for metric, change in item.became.items())}"
    for name in dict.fromkeys([*item.before, *item.after]):
        was, now = item.before.get(name, ""), item.after.get(name, "")
        yield f"  {name}: {_said(was)}" + ("" if was == now else f" → {_said(now)}")


def _said(text: str) -> str:
    """What a model or a file said, in one line: no character of it can steer a terminal."""
    return json.dumps(text[:_LONGEST], ensure_ascii=not text.isprintable()) + ("…" if len(text) > _LONGEST else "")


def run(
    before: Annotated[str, typer.Argument(help="REVISION, NAME or REVISION:NAME.")],
    after: Annotated[str, typer.Argument(help="The other side; `workspace` is the working folder.")] = WORKSPACE,
    evaluation: Evaluations = None,
    condition: Annotated[
        list[str] | None,
        typer.Option(help="Only rows and conditions with this name (or pattern); may be repeated."),
    ] = None,
    items: Annotated[int, typer.Option(min=0, help="Number of flipped items to show per condition.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")] = False,
    page: Annotated[
        Path | None,
        typer.Option(callback=lambda out: writable(out) if out else None, help="Also write an HTML page."),
    ] = None,
) -> None:
    """Compare two revisions or runs of a study: parameters, inputs, tables and items, and why they differ.

    Each side is a REVISION (commit, branch, tag, experiment; `workspace` is the working folder), the NAME of a run with
    results here (results/NAME; `default` is the one without a name), or REVISION:NAME.

    Results are read from git and DVC's cache or remote; nothing is checked out. A figure is beyond both intervals if
    each side's value lies outside the other's interval. An item flips if a score or its status changes.
    """
    check_evaluations(evaluation)
    studies = evaluation or list(KINDS)
    root = project()
    found = difference(open_side(root, before), open_side(root, after), studies, condition or [], items)
    if page:
        write_text(page, page_text(found))
    if as_json:
        print(json.dumps(asdict(found), ensure_ascii=False, indent=2))
    else:
        print("\n".join(lines(found)))


def page_text(of: Difference) -> str:
    """The page; the same comparison gives the same text, and what models said is escaped."""
    return rendered(
        "diff.html.j2", ["report.css", "print.css"], [], of=of, finding=finding(of), shown=shown, signed=signed
    )


def finding(of: Difference) -> str:
    """What moved, in two sentences made from the numbers."""
    studies = of.studies.values()
    cells = [cell for study in studies for row in study.rows for cell in row.cells]
    beyond = sum(cell.beyond is True for cell in cells)
    conditions = [one for study in studies for one in study.conditions]
    flipped, both = sum(one.flipped for one in conditions), sum(one.both for one in conditions)
    if not cells and not conditions and not any(study.rows for study in studies):
        return "No figure and no item differs."
    alone = [row for study in studies for row in study.rows if row.what != "changed"]
    more = f", and {len(alone):,} rows are on one side only" if alone else ""
    told = f"{len(cells):,} figures differ, {beyond:,} of them beyond both intervals{more}."
    return f"{told} {flipped:,} of {both:,} items flipped in the {len(conditions):,} conditions that differ."


def signed(number: float) -> str:
    """`+0.25`, `−0.25`."""
    return f"{number:+g}".replace("-", "−")
