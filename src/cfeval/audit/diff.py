"""The whole of a comparison, study by study, as a reader sees it: why, then what, from the parameters to the items."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Annotated

import typer

from cfeval.audit.causes import Change, changed_code, parameters, shown
from cfeval.audit.changes import Cell, Condition, Item, Row, changed_conditions, changed_rows, tables_of
from cfeval.audit.making import CODE, Made, made
from cfeval.audit.outcomes import KINDS
from cfeval.audit.revisions import NotAtHandError, Side, project
from cfeval.audit.wording import WORKSPACE, open_side
from cfeval.core.errors import InputError, nearest

Names = tuple[str, ...]
_LONGEST = 100
_BEYOND = {True: "  beyond both intervals", False: "  within an interval", None: ""}


@dataclass(frozen=True)
class OfStudy:
    """What differs in one study: what files were made from, rows of tables, conditions with their items.

    `notes`: what could not be compared, and what to do about it.
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
    studies: dict[str, OfStudy]
    notes: tuple[str, ...] = ()


def difference(before: Side, after: Side, studies: Sequence[str], conditions: Sequence[str], items: int) -> Difference:
    """What differs, and why.

    Args:
        before, after: the sides.
        studies: which studies to look at; what neither side has is left out.
        conditions: patterns; rows and conditions count only if each pattern is the name of one of their parts.
        items: how many flipped items to show of each condition.

    Raises:
        InputError: a side has no results of these studies, or their content is not at hand.
    """
    for side in (before, after):
        if not any(_there(side, study) for study in studies):
            raise InputError(
                f"{side.name} has no results of {', '.join(studies)}: run `dvc repro` there and commit dvc.lock and "
                "the tables"
            )
    there = [study for study in studies if any(_there(side, study) for side in (before, after))]
    found = {study: _of_study(before, after, study, _wanted(conditions), items) for study in there}
    notes: list[str] = []
    changed = tuple(parameters(before, after, notes.append))
    return Difference(before.name, after.name, changed, found, tuple(notes))


def _there(side: Side, study: str) -> bool:
    return _tables(side, study) or _scores(side, study)


def _tables(side: Side, study: str) -> bool:
    folder = tables_of(side, study)
    return any(path.startswith(f"{folder}/{study}_") for path in side.entries(folder)[0])


def _scores(side: Side, study: str) -> bool:
    return side.at(f"{study}/scores") in side.folders(side.at(study))


def _wanted(conditions: Sequence[str]) -> Callable[[Names], bool]:
    return lambda names: all(any(fnmatchcase(name, pattern) for name in names) for pattern in conditions)


def _of_study(before: Side, after: Side, study: str, wanted: Callable[[Names], bool], items: int) -> OfStudy:
    rows = tuple(row for row in changed_rows(before, after, study) if wanted(row.names))
    notes: list[str] = []
    causes = tuple(made(before, after, study, notes.append))
    conditions: tuple[Condition, ...] = ()
    try:
        _ensure_scores(before, after, study)
        conditions = tuple(changed_conditions(before, after, study, wanted, items))
    except NotAtHandError as error:
        notes.append(str(error))
    coded = any(why.startswith(CODE) for stage in causes for why in stage.why)
    return OfStudy(causes, tuple(changed_code(before, after)) if coded else (), rows, conditions, tuple(notes))


def _ensure_scores(before: Side, after: Side, study: str) -> None:
    """A side whose tables are in git and whose scores were never brought here has not lost its conditions."""
    there = [_scores(side, study) for side in (before, after)]
    for side, found in zip((before, after), there, strict=True):
        if any(there) and not found and _tables(side, study):
            raise NotAtHandError(
                f"{side.name} has tables of {study}, and not the scores behind them: `dvc pull` brings them to the "
                "working folder, `dvc repro` and a commit of dvc.lock seal them"
            )


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
    after: Annotated[str, typer.Argument(help="Another; `workspace` is the working folder.")] = WORKSPACE,
    study: Annotated[
        list[str] | None, typer.Option(help="Only this study: edct, vce or cvqa; may be repeated.")
    ] = None,
    condition: Annotated[
        list[str] | None,
        typer.Option(help="Only rows and conditions that have this name (or fit this pattern); may be repeated."),
    ] = None,
    items: Annotated[int, typer.Option(min=0, help="How many flipped items to show of each condition.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")] = False,
) -> None:
    """What changed between two revisions or studies, and why: parameters, what files were made from, tables, items.

    Each is a REVISION (commit, branch, tag, experiment; `workspace` is the working folder), the NAME of a study that
    has results here (`results/NAME`; `default` is the one without a name), or REVISION:NAME.

    Results are read from git and DVC's cache (or remote), and nothing is checked out. A figure is beyond both intervals
    where each side's lies outside the other's. An item flips where a score of it, or its status, is another one.
    """
    studies = study or list(KINDS)
    for name in studies:
        if name not in KINDS:
            raise InputError(f"--study: unknown study '{name}'; {nearest(name, KINDS)}")
    root = project()
    found = difference(open_side(root, before), open_side(root, after), studies, condition or [], items)
    if as_json:
        print(json.dumps(asdict(found), ensure_ascii=False, indent=2))
    else:
        print("\n".join(lines(found)))
