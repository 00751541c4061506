"""Reading what people said about the edits of a sheet: the files that its page saves, or its CSV filled in by hand."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from cfeval.core.errors import InputError
from cfeval.core.jsonl import first_fault, read_csv
from cfeval.core.text_files import CsvFile, read_text
from cfeval.edct.labelling.records import ASKED, KeyRow, Label, Marks, SavedLabels

CONTEXT = ("question", "changes", "answer", "explanation", "new_answer", "new_explanation")
"""The columns of a sheet's CSV that are there to be read by people only."""
_READ = {"sheet", "rater", *Marks.model_fields}
LabelRow = tuple[str, str, Marks]
"""Where it stands, who says it, and what is said."""
R = TypeVar("R", Marks, Label)


def read_key(path: Path) -> dict[int, KeyRow]:
    """The key of one sheet, by the items' numbers; InputError where it is none."""
    rows = read_csv(path, KeyRow)
    if not rows:
        raise InputError(f"{path}: has no items; give the file NAME.key.csv that `cfeval edct label-sheet` wrote")
    if len({row.sheet for row in rows}) > 1 or len({row.item for row in rows}) < len(rows):
        raise InputError(f"{path}: holds several sheets, or an item twice; give the key of one sheet")
    return {row.item: row for row in rows}


def read_labels(files: Sequence[Path], key: Mapping[int, KeyRow], adjudications: Sequence[Path] = ()) -> list[Label]:
    """What everybody said, by item, then by rater; an item about which somebody said nothing has no such row.

    Args:
        files: what the page of the sheet saved (.json), or its CSV filled in (.csv).
        key: of that sheet, see `read_key`.
        adjudications: files of the same kinds, with decisions where people disagree. They follow the labels.

    Raises:
        InputError: one line: no such file, another sheet, an item or answer that the sheet does not have, the same
            person twice, one who labelled as adjudicator, or two decisions about an item.
    """
    labels = _labels(files, key)
    raters, decided = {label.rater.casefold() for label in labels}, dict[int, str]()
    rulings = [label.model_copy(update={"adjudication": 1}) for label in _labels(adjudications, key)]
    for ruling in rulings:
        if ruling.rater.casefold() in raters:
            raise InputError(
                f"'{ruling.rater}' labelled the sheet and cannot adjudicate alone; let a further person decide, or all "
                "together under a name of their own"
            )
        if other := decided.get(ruling.item):
            raise InputError(f"item {ruling.item} is adjudicated by '{other}' and '{ruling.rater}'; keep one decision")
        decided[ruling.item] = ruling.rater
    return [*labels, *rulings]


def _labels(files: Sequence[Path], key: Mapping[int, KeyRow]) -> list[Label]:
    labels: dict[tuple[int, str], Label] = {}
    owners: dict[str, int] = {}
    for number, file in enumerate(files):
        for place, rater, marks in _said(file, key):
            who = rater.casefold()
            if (owner := owners.setdefault(who, number)) != number:
                raise InputError(
                    f"{place}: labels of '{rater}' are in {files[owner]} too; give each person's file once"
                )
            if (marks.item, who) in labels:
                raise InputError(f"{place}: item {marks.item} has labels of '{rater}' already; keep one row")
            labels[marks.item, who] = _label(place, key, rater, marks)
    return [labels[place] for place in sorted(labels)]


def _said(file: Path, key: Mapping[int, KeyRow]) -> Iterator[LabelRow]:
    if file.suffix.lower() == ".json":
        return _of_page(file, key)
    if file.suffix.lower() == ".csv":
        return _of_csv(file, key)
    raise InputError(f"{file}: labels are .json, as the page of the sheet saves them, or .csv")


def _label(place: str, key: Mapping[int, KeyRow], rater: str, marks: Marks) -> Label:
    row = key.get(marks.item)
    if row is None:
        raise InputError(f"{place}: the sheet has no item {marks.item}; its items are 1 to {len(key)}")
    odd = [name for name in marks.answered() if name not in row.asks.split()]
    if odd:
        raise InputError(
            f"{place}: item {marks.item} is not asked for {odd[0]}, only for {', '.join(row.asks.split())}"
        )
    return _valid(place, Label, {**row.model_dump(), **marks.model_dump(), "rater": rater})


def _of_page(file: Path, key: Mapping[int, KeyRow]) -> Iterator[LabelRow]:
    try:
        saved = SavedLabels.model_validate_json(read_text(file))
    except ValidationError as error:
        raise InputError(f"{file}: {first_fault(error)}") from None
    _same_sheet(str(file), saved.sheet, key)
    for marks in saved.labels:
        yield f"{file}, item {marks.item}", saved.rater, marks


def _of_csv(file: Path, key: Mapping[int, KeyRow]) -> Iterator[LabelRow]:
    rows = list(_rows(file))
    raters = {row["rater"] for _, row in rows if row.get("rater")}
    only = raters.pop() if len(raters) == 1 else ""
    for place, row in rows:
        said = {name: row[name] for name in Marks.model_fields if row.get(name)}
        if set(said) == {"item"}:
            continue
        _same_sheet(place, row.get("sheet", ""), key)
        if not (rater := row.get("rater") or only):
            raise InputError(f"{place}: says not whose labels these are; write a name or initials in the column rater")
        yield place, rater, _valid(place, Marks, said)


def _rows(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows with their places, cells stripped."""
    table = CsvFile(file, (), lambda row: row, strict=True)
    if not {*table.header} >= {"sheet", "item", "rater"} or {*table.header} - _READ - {*CONTEXT, ""}:
        raise InputError(f"{file}: not the CSV of a sheet; its columns are sheet, item, rater, … {', '.join(ASKED)}")
    for row in table:
        yield f"{file}, line {row.line}", {name: cell.strip() for name, cell in row.cells.items()}


def _valid(place: str, kind: type[R], content: Mapping[str, object]) -> R:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{place}: {first_fault(error)}") from None


def _same_sheet(place: str, sheet: str, key: Mapping[int, KeyRow]) -> None:
    wanted = next(iter(key.values())).sheet
    if sheet != wanted:
        this = sheet[:12] or "(none)"
        raise InputError(f"{place}: labels of the sheet {this}, but the key is that of {wanted[:12]}; give its own key")
