"""Do the rows of a table follow from the scores? Each is made anew, and every column of it compared.

That goes for tables with one condition a row, as the record of their rows says. Left aside is only what the scores do
not tell: what papers printed, what is a test model and, where nobody says how they were computed, intervals.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cfeval.core.errors import InputError
from cfeval.core.text_files import CsvFile
from cfeval.edct.files import NAMES
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables import TABLES
from cfeval.edct.tables.scores import TableData, condition_of, label, material
from cfeval.edct.verification.links import Link
from cfeval.report.tables import csv_text
from cfeval.stats.intervals import Interval
from cfeval.stats.misclassification import JudgeError

_NOT_OF_SCORES = ("paper_", "test_world")
_OF_INTERVALS = ("_lo", "_hi")
_OF_MORE = ("test_models", "bounds")
"""Tables whose rows rest on more than scores, or of which a condition has several."""


def of_conditions() -> list[str]:
    """The tables with one condition a row that follows from scores."""
    return [name for name, listed in TABLES.items() if issubclass(listed.row(), Condition) and name not in _OF_MORE]


def read_table(file: Path) -> tuple[str, list[dict[str, str]]]:
    """Which table a file holds, by its columns, and its rows; InputError where it has not one condition a row."""
    table = CsvFile(file, (), lambda row: dict(row.cells), strict=True)
    rows, columns = list(table), set(table.header)
    checked = of_conditions()
    names = [name for name in checked if columns <= set(TABLES[name].row().model_fields)]
    if not names or not {*NAMES, "n"} <= columns:
        raise InputError(f"--table: {file} has not one condition a row; {', '.join(checked)} and pairs can be checked")
    return names[0], rows


def table_links(
    name: str,
    rows: Sequence[Mapping[str, str]],
    scores: Sequence[Score],
    how: Interval | None,
    failed_edits: float = 0.0,
    exams: Mapping[str, JudgeError] | None = None,
) -> Iterator[Link]:
    """A link for each cell that follows from scores.

    Args:
        name: of the table.
        rows: its rows as the CSV has them.
        scores: of all conditions that are checked.
        how: how intervals were computed; None: they are not compared.
        failed_edits: the share of edits that are known to have failed unseen, in [0, 1).
        exams: the error of judges in their exams, as far as the tables show it.
    """
    by_condition: dict[Condition, list[Score]] = {}
    for score in scores:
        by_condition.setdefault(condition_of(score), []).append(score)
    settings = {"how": how or Interval(resamples=100), "failed_edits": failed_edits, "exams": exams or {}}
    known = material(by_condition, **settings)
    for row in rows:
        condition = Condition.model_validate({part: row[part] for part in NAMES})
        try:
            found = _cells(name, condition, known)
        except InputError as error:
            yield Link("tables", ("", 0), str(error))
            continue
        for column, cell in row.items():
            if _follows(column, how):
                fault = f"{label(condition)}: {column} is {cell!r}, not {found[column]!r}"
                yield Link("tables", ("", 0), "" if cell == found[column] else fault)


def _cells(name: str, condition: Condition, known: TableData) -> dict[str, str]:
    """The row of a condition as the CSV has it, made from the scores; InputError where it cannot be made."""
    table = TABLES[name].load()
    header, *lines = csv.reader(csv_text(table.row, table.rows([condition], known)).splitlines())
    if not lines:
        raise InputError(f"the condition {label(condition)} is not one of the table {name}")
    return dict(zip(header, lines[0], strict=True))


def _follows(column: str, how: Interval | None) -> bool:
    """Whether a column follows from what is known."""
    return not column.startswith(_NOT_OF_SCORES) and (
        how is not None or not (column == "ci" or column.endswith(_OF_INTERVALS))
    )
