"""`cfeval diff`: what differs between two revisions or runs of a study and why, as lines, JSON or a page."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import writable
from cfeval.core.errors import InputError
from cfeval.core.files import write_text
from cfeval.core.folder import Evaluations, check_evaluations
from cfeval.report.html import rendered
from cfeval.study.causes import Change, Made, made, parameters, shown
from cfeval.study.changes import Condition, Item, Row, changed_conditions, changed_rows, tables_of
from cfeval.study.outcomes import KINDS
from cfeval.study.revisions import WORKSPACE, NotAtHandError, Side, open_side, project

# Characters of a reply that a line shows.
_LONGEST = 100
_BEYOND = {True: "  beyond both intervals", False: "  within an interval", None: ""}


@dataclass(frozen=True)
class StudyDifference:
    """What differs in one evaluation.

    Attributes:
        made: what files were made from.
        code: the modules among that.
        rows: of tables.
        conditions: those whose items differ.
        notes: what could not be compared, and what to do about it.
    """

    made: tuple[Made, ...]
    code: tuple[str, ...]
    rows: tuple[Row, ...]
    conditions: tuple[Condition, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """What differs between two sides, by their names. `notes`: what could not be compared."""

    before: str
    after: str
    parameters: tuple[Change, ...]
    studies: dict[str, StudyDifference]
    notes: tuple[str, ...] = ()


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
    root = project()
    sides = open_side(root, before), open_side(root, after)
    compared = difference(*sides, evaluation or list(KINDS), condition or [], items)
    if page:
        write_text(page, page_text(compared))
    if as_json:
        print(json.dumps(asdict(compared), ensure_ascii=False, indent=2))
    else:
        print("\n".join(lines(compared)))


def difference(before: Side, after: Side, studies: Sequence[str], conditions: Sequence[str], items: int) -> Difference:
    """What differs, and why.

    Args:
        before, after: the sides.
        studies: the evaluations to look at; what neither side has is left out.
        conditions: patterns; rows and conditions count only if each pattern is the name of one of their parts.
        items: how many flipped items to show of each condition.

    Raises:
        InputError: a side has no results of these evaluations, or their content is not at hand.
    """
    for side in (before, after):
        if not any(_has_results(side, study) for study in studies):
            raise InputError(
                f"{side.name} has no results of {', '.join(studies)}: run `dvc repro` there and commit dvc.lock and "
                "the tables"
            )

    def is_wanted(names: tuple[str, ...]) -> bool:
        return all(any(fnmatchcase(name, pattern) for name in names) for pattern in conditions)

    differences = {
        study: _study_difference(before, after, study, is_wanted, items)
        for study in studies
        if _has_results(before, study) or _has_results(after, study)
    }
    notes: list[str] = []
    changed = tuple(parameters(before, after, notes.append))
    return Difference(before.name, after.name, changed, differences, tuple(notes))


def _study_difference(
    before: Side, after: Side, study: str, is_wanted: Callable[[tuple[str, ...]], bool], items: int
) -> StudyDifference:
    rows = tuple(row for row in changed_rows(before, after, study) if is_wanted(row.names))
    notes: list[str] = []
    causes = tuple(made(before, after, study, notes.append))
    conditions: tuple[Condition, ...] = ()
    try:
        scored = [side for side in (before, after) if _has_scores(side, study)]
        for side in (before, after):
            if scored and side not in scored and _has_tables(side, study):
                raise NotAtHandError(
                    f"{side.name} has tables of {study}, and not the scores behind them: `dvc pull` brings them to the "
                    "working folder, `dvc repro` and a commit of dvc.lock keep them"
                )
        conditions = tuple(changed_conditions(before, after, study, is_wanted, items))
    except NotAtHandError as error:
        notes.append(str(error))
    code = sorted({module for step in causes for module in step.code})
    return StudyDifference(causes, tuple(code), rows, conditions, tuple(notes))


def _has_results(side: Side, study: str) -> bool:
    return _has_tables(side, study) or _has_scores(side, study)


def _has_tables(side: Side, study: str) -> bool:
    folder = tables_of(side, study)
    return any(path.startswith(f"{folder}/{study}_") for path in side.entries(folder)[0])


def _has_scores(side: Side, study: str) -> bool:
    return side.at(f"{study}/scores") in side.folders(side.at(study))


def lines(compared: Difference) -> Iterator[str]:
    """The lines of a comparison."""
    yield f"{compared.before} → {compared.after}"
    changed = [f"{change.name}: {shown(change.before)} → {shown(change.after)}" for change in compared.parameters]
    yield from _section("Parameters", changed)
    yield from _section("Not compared", compared.notes)
    for name, study in compared.studies.items():
        steps = [
            f"{step.step}, {files} of {step.files} files: {why}"
            for step in study.made
            for why, files in sorted(step.why.items())
        ]
        yield from _section(f"{name}: made otherwise", steps)
        yield from _section(f"{name}: changed code", study.code)
        yield from _section(f"{name}: tables", [line for row in study.rows for line in _row_lines(row)])
        yield from _section(f"{name}: not compared", study.notes)
        items = [line for condition in study.conditions for line in _condition_lines(condition)]
        yield from _section(f"{name}: items", items)
    differs = any(any(vars(study).values()) for study in compared.studies.values())
    if not compared.parameters and not compared.notes and not differs:
        yield "nothing differs"


def _section(title: str, content: Sequence[str]) -> Iterator[str]:
    if content:
        yield ""
        yield title
        yield from (f"  {line}" for line in content)


def _row_lines(row: Row) -> Iterator[str]:
    yield f"{row.table}: {' / '.join(row.names)}{'' if row.what == 'changed' else f': {row.what}'}"
    width = max((len(cell.column) for cell in row.cells), default=0)
    for cell in row.cells:
        moved = "" if cell.difference is None else f"  ({signed(cell.difference)})"
        figures = f"{cell.before or '—'} → {cell.after or '—'}{moved}{_BEYOND[cell.beyond]}"
        yield f"  {cell.column:<{width}}  {figures}"


def _condition_lines(condition: Condition) -> Iterator[str]:
    if condition.what != "changed":
        yield f"{'/'.join(condition.names)}: {condition.what}"
        return
    counts = ((condition.new, "new"), (condition.gone, "gone"))
    alone = "".join(f", {number} {what}" for number, what in counts if number)
    yield f"{'/'.join(condition.names)}: {condition.flipped} of {condition.both} flipped{alone}"
    for metric, became in condition.became.items():
        yield f"  {metric}: {', '.join(f'{change}: {number}' for change, number in became.items())}"
    for item in condition.items:
        yield from (f"  {line}" for line in _item_lines(item))
    if condition.flipped > len(condition.items) > 0:
        yield f"  … {condition.flipped - len(condition.items)} more; --items shows them"


def _item_lines(item: Item) -> Iterator[str]:
    yield f"{item.key}: {', '.join(f'{metric} {change}' for metric, change in item.became.items())}"
    for name in dict.fromkeys([*item.before, *item.after]):
        was, now = item.before.get(name, ""), item.after.get(name, "")
        yield f"  {name}: {_quoted(was)}" + ("" if was == now else f" → {_quoted(now)}")


def _quoted(text: str) -> str:
    """A reply in one line, of which no character can steer a terminal."""
    return json.dumps(text[:_LONGEST], ensure_ascii=not text.isprintable()) + ("…" if len(text) > _LONGEST else "")


def page_text(compared: Difference) -> str:
    """The HTML page; the same comparison gives the same text, and replies of models are escaped."""
    return rendered(
        "diff.html.j2",
        ["report.css", "print.css"],
        [],
        of=compared,
        finding=finding(compared),
        shown=shown,
        signed=signed,
    )


def finding(compared: Difference) -> str:
    """What moved, in two sentences made from the numbers."""
    studies = compared.studies.values()
    rows = [row for study in studies for row in study.rows]
    cells = [cell for row in rows for cell in row.cells]
    conditions = [condition for study in studies for condition in study.conditions]
    if not cells and not conditions and not rows:
        return "No figure and no item differs."
    beyond = sum(cell.beyond is True for cell in cells)
    flipped, both = (sum(getattr(condition, name) for condition in conditions) for name in ("flipped", "both"))
    alone = sum(row.what != "changed" for row in rows)
    more = f", and {alone:,} rows are on one side only" if alone else ""
    return (
        f"{len(cells):,} figures differ, {beyond:,} of them beyond both intervals{more}. {flipped:,} of {both:,} items "
        f"flipped in the {len(conditions):,} conditions that differ."
    )


def signed(number: float) -> str:
    """`+0.25`, `−0.25`."""
    return f"{number:+g}".replace("-", "−")
