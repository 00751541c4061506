"""Human labels: the key of a labelling sheet, what its page saves, and the labels as they are kept (labels.csv).

What people said is read from the files that the page saves, or from its CSV filled in by hand.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, model_validator

from cfeval.core.errors import InputError
from cfeval.core.jsonl import first_fault, read_csv
from cfeval.core.records import Binary, ItemId, Record, Sha256, Status
from cfeval.core.text_files import CsvFile, read_text
from cfeval.edct.protocols.rules import CONTROLS, PAIRS_2026, RULES, Rules
from cfeval.edct.records import Score


def _word(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return "_".join(value.split()).lower() if isinstance(value, str) else value


EditWord = Annotated[Literal["valid", "invalid", "cannot_tell"], BeforeValidator(_word)]
Mark = Annotated[Literal["0", "1", "not_assessable"], BeforeValidator(_word)]
GradeMark = Annotated[Literal["1", "2", "3", "4", "5", "not_assessable"], BeforeValidator(_word)]
# Name or initials of a person, at most 40 characters on one line.
Rater = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40, pattern=r"^[^\x00-\x1f\x7f]+$")
]


# What is asked under each protocol whose results people can label; nothing of a given pair is edited here.
LABELLED = {**RULES, PAIRS_2026: Rules("none", chained=False, scores=("answer_moved", "named"))}
# Protocols that have no CCS.
WITHOUT_PRODUCT = (*CONTROLS, PAIRS_2026)


class Edited(Record):
    """One edit of one item, and what the target said to it: what people look at, whichever judge reads it too."""

    dataset: str
    vlm: str
    writer: str
    protocol: str
    editor: str
    id: ItemId
    edit: int = Field(default=1, ge=1)


class PairScore(Edited):
    """What a judge says of a given pair, as far as people can say it too; the pair counts as one edit."""

    judge: str
    cluster: str = ""
    status: Status = Status.OK
    answer_moved: Binary | None = None
    named: Binary | None = None
    verified: None = None


# What a tool said of an edit or of a given pair.
Judged = Score | PairScore


class KeyRow(Edited):
    """What stands behind an item of a sheet (NAME.key.csv). People who label must not see it."""

    sheet: Sha256
    """The hash of the sheet's contents."""
    item: int = Field(ge=1)
    """The item's number on the sheet."""
    asks: str
    """What people are asked about it, separated by blanks: fields of `Marks`."""
    cluster: str = ""
    """See `Score.cluster`."""
    weight: float = Field(gt=0)
    """For how many edits of the study the item stands: the size of its stratum by how many of it were drawn."""
    gate: Binary | None = None
    """Whether the editor's own gate accepted the edit; None: the editor has none."""


class Marks(Record):
    """What one person said about one item; None: not answered, which is as missing as `not_assessable`."""

    item: int = Field(ge=1)
    edit_valid: EditWord | None = None
    pcs: Mark | None = None
    ncc: Mark | None = None
    ac: Mark | None = None
    ef: Mark | None = None
    answer_moved: Mark | None = None
    explanation_moved: Mark | None = None
    named: Mark | None = None
    grade: GradeMark | None = None
    comment: str = Field(default="", max_length=10_000)

    def answered(self) -> dict[str, str]:
        """The answers that were given, by name."""
        return {name: answer for name in QUESTIONS if (answer := getattr(self, name)) is not None}

    @model_validator(mode="after")
    def _no_scores_of_an_invalid_edit(self) -> "Marks":
        if self.edit_valid == "invalid" and len(self.answered()) > 1:
            raise ValueError("an invalid edit has no scores; leave them empty")
        return self


# What people may be asked.
QUESTIONS = tuple(name for name in Marks.model_fields if name not in ("item", "comment"))


class SavedLabels(Record):
    """The file that the page of a sheet saves."""

    format: Literal["cfeval-labels-1"]
    sheet: Sha256
    rater: Rater
    labels: tuple[Marks, ...]


class Label(Marks, KeyRow):
    """What one person said about one edit (labels.csv)."""

    rater: Rater
    adjudication: Binary = 0
    """1: a decision where people disagree, made by a further person or by all together; no label of its own."""


def edited_of(row: Any) -> Edited:
    """The edit that a row of a key, of labels or of scores is about."""
    return Edited(**{name: getattr(row, name) for name in Edited.model_fields})


# The columns of a sheet's CSV that are there to be read by people only.
CONTEXT = ("question", "changes", "answer", "explanation", "new_answer", "new_explanation")
_READ = {"sheet", "rater", *Marks.model_fields}
# Where it stands, who says it, and what is said.
LabelRow = tuple[str, str, Marks]
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
        reader = {".json": _of_page, ".csv": _of_csv}.get(file.suffix.lower())
        if reader is None:
            raise InputError(f"{file}: labels are .json, as the page of the sheet saves them, or .csv")
        for place, rater, marks in reader(file, key):
            who = rater.casefold()
            if (owner := owners.setdefault(who, number)) != number:
                raise InputError(
                    f"{place}: labels of '{rater}' are in {files[owner]} too; give each person's file once"
                )
            if (marks.item, who) in labels:
                raise InputError(f"{place}: item {marks.item} has labels of '{rater}' already; keep one row")
            row = key.get(marks.item)
            if row is None:
                raise InputError(f"{place}: the sheet has no item {marks.item}; its items are 1 to {len(key)}")
            odd = [name for name in marks.answered() if name not in row.asks.split()]
            if odd:
                raise InputError(
                    f"{place}: item {marks.item} is not asked for {odd[0]}, only for {', '.join(row.asks.split())}"
                )
            labels[marks.item, who] = _valid(place, Label, {**row.model_dump(), **marks.model_dump(), "rater": rater})
    return [labels[place] for place in sorted(labels)]


def _of_page(file: Path, key: Mapping[int, KeyRow]) -> Iterator[LabelRow]:
    try:
        saved = SavedLabels.model_validate_json(read_text(file))
    except ValidationError as error:
        raise InputError(f"{file}: {first_fault(error)}") from None
    _same_sheet(str(file), saved.sheet, key)
    for marks in saved.labels:
        yield f"{file}, item {marks.item}", saved.rater, marks


def _of_csv(file: Path, key: Mapping[int, KeyRow]) -> Iterator[LabelRow]:
    table = CsvFile(file, (), lambda row: row, strict=True)
    if not {*table.header} >= {"sheet", "item", "rater"} or {*table.header} - _READ - {*CONTEXT, ""}:
        raise InputError(
            f"{file}: not the CSV of a sheet; its columns are sheet, item, rater, … {', '.join(QUESTIONS)}"
        )
    rows = [(f"{file}, line {row.line}", {name: cell.strip() for name, cell in row.cells.items()}) for row in table]
    raters = {row["rater"] for _, row in rows if row.get("rater")}
    only = raters.pop() if len(raters) == 1 else ""
    for place, row in rows:
        answers = {name: row[name] for name in Marks.model_fields if row.get(name)}
        if set(answers) == {"item"}:
            continue
        _same_sheet(place, row.get("sheet", ""), key)
        if not (rater := row.get("rater") or only):
            raise InputError(f"{place}: says not whose labels these are; write a name or initials in the column rater")
        yield place, rater, _valid(place, Marks, answers)


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
