"""`cfeval diff`: what differs between two revisions or runs of a study and why, as lines, JSON or a page."""

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Literal, get_origin

import typer
from pydantic.fields import FieldInfo

from cfeval.core.cli_options import writable
from cfeval.core.errors import InputError
from cfeval.core.files import write_text
from cfeval.core.folder import Evaluations, check_evaluations
from cfeval.cvqa import tables as cvqa_tables
from cfeval.edct import tables as edct_tables
from cfeval.report.html import rendered
from cfeval.study.causes import Change, Made, made, parameters, shown
from cfeval.study.outcomes import KINDS, Kind, Outcomes, Story
from cfeval.study.revisions import WORKSPACE, NotAtHandError, Side, open_side, project, same
from cfeval.vce import tables as vce_tables

# The tables of each evaluation.
TABLES = {"edct": edct_tables.TABLES, "vce": vce_tables.TABLES, "cvqa": cvqa_tables.TABLES}
# Columns that belong to a figure and are not reported by themselves.
_BOUNDS = ("_lo", "_hi", "_min", "_max")
# Columns that do not change by themselves: what a paper printed, and tests of the figures.
_LEFT_OUT = ("paper_", "p_")
_BOTH = "SELECT a.key, b.outcomes, a.outcomes FROM after a JOIN before b USING (key)"
_ALONE = "SELECT count(*) FROM {0} WHERE key NOT IN (SELECT key FROM {1})"


@dataclass(frozen=True)
class Cell:
    """A figure that changed. `beyond`: each side's figure lies outside the other's interval; None: there is none."""

    column: str
    before: str
    after: str
    difference: float | None = None
    beyond: bool | None = None


@dataclass(frozen=True)
class Row:
    """A row of a table, by its names; `what` is new, gone or changed."""

    table: str
    names: tuple[str, ...]
    what: Literal["new", "gone", "changed"]
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Item:
    """An item with another outcome: what became of each metric, and what each side asked and answered."""

    key: str
    became: dict[str, str]
    before: Story = field(default_factory=dict)
    after: Story = field(default_factory=dict)


@dataclass(frozen=True)
class Condition:
    """A condition whose items differ: how many flipped, by metric and by what became of them; the first of them."""

    names: tuple[str, ...]
    what: Literal["new", "gone", "changed"]
    both: int = 0
    new: int = 0
    gone: int = 0
    flipped: int = 0
    became: dict[str, dict[str, int]] = field(default_factory=dict)
    items: tuple[Item, ...] = ()


def changed_rows(before: Side, after: Side, study: str) -> Iterator[Row]:
    """The rows of a study's tables that differ, in the order of the tables."""
    folders = [tables_of(side, study) for side in (before, after)]
    for name in TABLES[study]:
        table = f"{study}_{name}"
        old, new = (
            _rows(side, f"{folder}/{table}.csv", study, name)
            for side, folder in zip((before, after), folders, strict=True)
        )
        for names in [*new, *(names for names in old if names not in new)]:
            if names not in old or names not in new:
                yield Row(table, names, "new" if names in new else "gone")
            elif cells := tuple(_cells(old[names], new[names])):
                yield Row(table, names, "changed", cells)


def tables_of(side: Side, study: str) -> str:
    """The folder of a study's tables; older revisions have one for all studies."""
    own = side.at(f"{study}/tables")
    return own if own in side.folders(side.at(study)) else side.at("tables")


def _rows(side: Side, path: str, study: str, name: str) -> dict[tuple[str, ...], dict[str, str]]:
    """The rows of a table by what names them: its leading columns of text."""
    columns = naming_columns(study, name)
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for row in csv.DictReader(side.lines(path)):
        names = tuple(value for column in columns if (value := row.pop(column, "")))
        rows[names] = row
    return rows


def naming_columns(study: str, name: str) -> list[str]:
    """The columns of a table that name a row: the leading ones that hold text."""

    def is_text(column: tuple[str, FieldInfo]) -> bool:
        return column[1].annotation is str or get_origin(column[1].annotation) is Literal

    return [name for name, _ in takewhile(is_text, TABLES[study][name].row().model_fields.items())]


def _cells(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Cell]:
    for column in [*new, *(column for column in old if column not in new)]:
        before, after = old.get(column, ""), new.get(column, "")
        if before != after and not column.endswith(_BOUNDS) and not column.startswith(_LEFT_OUT):
            numbers = _number(before), _number(after)
            difference = None if None in numbers else round(numbers[1] - numbers[0], 6)  # type: ignore[operator]
            yield Cell(column, before, after, difference, _beyond(column, old, new))


def _beyond(column: str, old: Mapping[str, str], new: Mapping[str, str]) -> bool | None:
    places = [[_number(row.get(f"{column}{end}", "")) for end in ("", "_lo", "_hi")] for row in (old, new)]
    if any(number is None for place in places for number in place):
        return None
    (was, was_lo, was_hi), (is_, is_lo, is_hi) = places
    return not (was_lo <= is_ <= was_hi or is_lo <= was <= is_hi)  # type: ignore[operator]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def changed_conditions(
    before: Side, after: Side, study: str, wanted: Callable[[tuple[str, ...]], bool], items: int
) -> Iterator[Condition]:
    """The conditions of a study that differ, by name; of each the first `items` items that flipped."""
    kind, scores = KINDS[study], f"{study}/scores"
    if same(before, after, scores):
        return
    was, now = (_conditions(side, side.at(scores), kind) for side in (before, after))
    for condition in sorted({*was, *now}, key=kind.shown):
        names, old, new = kind.shown(condition), was.get(condition, []), now.get(condition, [])
        if not wanted(names):
            continue
        if not old or not new:
            yield Condition(names, "new" if new else "gone")
        elif [before.content_hash(path) for path in old] != [after.content_hash(path) for path in new]:
            compared = _compared(kind, condition, (before, old), (after, new), items)
            if compared.flipped or compared.new or compared.gone:
                yield compared


def _conditions(side: Side, folder: str, kind: Kind) -> dict[tuple[str, ...], list[str]]:
    files: dict[tuple[str, ...], list[str]] = {}
    for path in side.files(folder):
        if condition := kind.condition_of(path.removeprefix(f"{folder}/")):
            files.setdefault(condition, []).append(path)
    return files


def _compared(
    kind: Kind, condition: tuple[str, ...], before: tuple[Side, list[str]], after: tuple[Side, list[str]], items: int
) -> Condition:
    with closing(sqlite3.connect("")) as joined:  # a temporary file: memory does not grow with the items
        for table, (side, files) in (("before", before), ("after", after)):
            joined.execute(f"CREATE TABLE {table} (key TEXT PRIMARY KEY, outcomes TEXT) WITHOUT ROWID")
            joined.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", _outcomes(kind, side, files))
        [both] = joined.execute(f"SELECT count(*) FROM ({_BOTH})").fetchone()
        [new] = joined.execute(_ALONE.format("after", "before")).fetchone()
        [gone] = joined.execute(_ALONE.format("before", "after")).fetchone()
        flipped, became, first = 0, dict[str, Counter[str]](), list[Item]()
        for key, was, now in joined.execute(f"{_BOTH} WHERE a.outcomes != b.outcomes ORDER BY key"):
            changes = _became(json.loads(was), json.loads(now))
            flipped += 1
            for metric, change in changes.items():
                became.setdefault(metric, Counter())[change] += 1
            if len(first) < items:
                first.append(Item(key, changes))
    counts = {metric: dict(sorted(changes.items())) for metric, changes in sorted(became.items())}
    with_stories = tuple(_with_stories(kind, condition, before[0], after[0], first))
    return Condition(kind.shown(condition), "changed", both, new, gone, flipped, counts, with_stories)


def _outcomes(kind: Kind, side: Side, files: list[str]) -> Iterator[tuple[str, str]]:
    for path in files:
        try:
            for row in kind.rows(side.lines(path)):
                yield kind.key(row), json.dumps(kind.outcomes(row), sort_keys=True)
        except (KeyError, ValueError) as error:
            raise InputError(f"{path} of {side.name}: not a file of scores ({error})") from None


def _became(was: Outcomes, now: Outcomes) -> dict[str, str]:
    metrics = [name for name in dict.fromkeys([*was, *now]) if name] or [""]
    became = {}
    for name in metrics:
        old, new = (outcomes.get(name) or outcomes.get("", "none") for outcomes in (was, now))
        if old != new:
            became[name or "status"] = f"{old} → {new}"
    return became


def _with_stories(
    kind: Kind, condition: tuple[str, ...], before: Side, after: Side, first: list[Item]
) -> Iterator[Item]:
    keys = [item.key for item in first]
    old, new = (kind.transcript(side, condition, keys) if keys else {} for side in (before, after))
    for item in first:
        yield Item(item.key, item.became, old.get(item.key, {}), new.get(item.key, {}))


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
        # A side whose tables are in git and whose scores were never brought here has not lost its conditions.
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
