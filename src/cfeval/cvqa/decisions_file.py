"""The file in which people decide about drafts: a CSV to be filled in, with what they need to know beside it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from cfeval.core.errors import InputError, nearest
from cfeval.core.files import atomic_writer
from cfeval.core.jsonl import first_fault
from cfeval.core.records import Status
from cfeval.core.text_files import CsvFile, csv_line
from cfeval.cvqa.records import Decision, Draft, Review, form_of, has_if_clause

CONTEXT = (
    "image",
    "type",
    "original_question",
    "original_answer",
    "new_question",
    "new_answer",
    "step1",
    "step2",
    "sum",
    "related",
    "reasonable",
    "reason",
)
"""Columns to be read only; what is written in them counts for nothing, and new question and answer must stay."""
ASKED = ("accept", "question", "answer", "comment")
"""Columns to be filled in: yes or no; a corrected question and answer where they need it; anything."""
_COLUMNS = ("id", *CONTEXT, *ASKED)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_BOM = "\ufeff"
_ANSWERS = {"number": ("0|[1-9][0-9]{0,8}", "digits"), "boolean": ("yes|no", "yes or no"), "choice": ("[A-D]", "A–D")}


def write_decisions(path: Path, drafts: Iterable[Draft], reviews: Mapping[str, Review]) -> None:
    """Write the file for every draft that could be read, to be filled in; `reviews` by id.

    UTF-8 with the mark by which spreadsheets know it; a text that one would take for a formula has an apostrophe in
    front.
    """
    with atomic_writer(path) as add:
        add(_BOM + csv_line(_COLUMNS))
        for draft in drafts:
            if draft.status == Status.OK:
                add(csv_line([_cell(value) for value in _row(draft, reviews.get(draft.id))]))


def read_decisions(path: Path, drafts: Mapping[str, Draft]) -> dict[str, Decision]:
    """What was decided, by id; rows in which nothing was filled in are left out.

    Args:
        path: the file, filled in.
        drafts: what was to be decided about, by id.

    Raises:
        InputError: one line that names the line and what is wrong with it.
    """
    found: dict[str, Decision] = {}
    seen: set[str] = set()
    for place, row in _rows(path):
        item = row["id"]
        draft = drafts.get(item)
        if draft is None:
            raise InputError(f"{place}: no draft '{item[:40]}'; {nearest(item, drafts) if drafts else 'there is none'}")
        if item in seen:
            raise InputError(f"{place}: '{item}' is decided a second time; keep one row")
        seen.add(item)
        decision = _decision(place, row, draft)
        if decision != Decision(id=item):
            found[item] = decision
    return found


def _row(draft: Draft, review: Review | None) -> tuple[str, ...]:
    related, reasonable = (review.related, review.reasonable) if review else (None, None)
    said = (review.reason_given or review.reason) if review else ""
    context = (
        draft.image.path,
        draft.type,
        draft.original.question,
        draft.original.answer,
        draft.question,
        draft.answer,
        draft.step1,
        draft.step2,
        *("" if value is None else str(value) for value in (draft.arithmetic, related, reasonable)),
        said,
    )
    return (draft.id, *context, *[""] * len(ASKED))


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _bare(cell: str) -> str:
    """A cell as it was before `_cell`."""
    plain = cell.strip()
    return plain[1:] if plain.startswith("'") and plain[1:].startswith(_FORMULA) else plain


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows with their places; InputError where the file is no such CSV."""
    table = CsvFile(path, ("id", *ASKED), lambda row: row)
    for name in table.header:
        if name and name not in _COLUMNS:
            raise InputError(f"{path}: unknown column {name!r}; {nearest(name, _COLUMNS)}")
    for row in table:
        yield f"{path}, line {row.line}", {name: _bare(cell) for name, cell in row.cells.items()}
    if table.faults:
        raise InputError(table.faults[0])


def _decision(place: str, row: Mapping[str, str], draft: Draft) -> Decision:
    accept, question, answer = row["accept"].lower(), row["question"], row["answer"]
    if accept not in ("", "yes", "no"):
        raise InputError(f"{place}: accept must be yes, no, or empty, but got {row['accept'][:40]!r}")
    for name, was in (("new_question", draft.question), ("new_answer", draft.answer)):
        if name in row and row[name] != _bare(was):
            asked = name.removeprefix("new_")
            raise InputError(f"{place}: {name} is there to be read; write the correction in the column '{asked}'")
    if (question or answer) and accept != "yes":
        raise InputError(f"{place}: a correction counts only where accept is yes; write yes, or leave it empty")
    if question and not has_if_clause(question):
        raise InputError(f"{place}: the question supposes nothing: it has no 'if'; write it as a counterfactual one")
    pattern, allowed = _ANSWERS[form_of(draft.original)]
    if answer and not re.fullmatch(pattern, answer):
        raise InputError(f"{place}: the answer to a {draft.type} question is {allowed}, but got {answer[:40]!r}")
    try:
        return Decision.model_validate(
            {"id": draft.id, "accept": accept, "question": question, "answer": answer, "comment": row["comment"]}
        )
    except ValidationError as error:
        raise InputError(f"{place}: {first_fault(error)}") from None
