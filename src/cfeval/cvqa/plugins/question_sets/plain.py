"""One's own questions, in any table: CSV, TSV, JSONL, JSON or Parquet; nothing of C-VQA's groups or format is needed.

A row needs `image`, `question` and `answer`. Without a second question, the one that is there is the counterfactual
question, and the tables have an accuracy and no drop. Columns, of which those in brackets are other names:

- `image` (`images`, `file_name`, `img_path`, `image_path`), a path in the folder of the table or in `images`; several
  images as a list, with `|` between them, or in the columns `image_1`, `image_2` …: all are shown.
- `question` (`query`) and `answer`: as the image is. `counterfactual_question` (`new query`) and
  `counterfactual_answer` (`new answer`): under the *if*.
- `options`, `counterfactual_options`: any number, as a list, with `|` between them, or in columns `A`, `B` …; the
  answer is then a letter or a text. Options may stand in the question too: `(A) red (B) blue`.
- `type` (`category`, `task`): any name. `id`: what tells the row from others. `counterfactual_image`: shown instead of
  the image with the second question, where the set changes the image.

Answers are numbers, yes or no, letters, or open: words of one's own, further accepted ones as a list or with `|`
between them.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.text_files import CsvFile
from cfeval.cvqa.choices import ALPHABET
from cfeval.cvqa.csv_format import COLUMNS, TYPES
from cfeval.cvqa.question_tables import Item, QuestionTablePlugin, UnusableError, question_of
from cfeval.datasets.pairs.rows import Place, Row, cell

NAMES = {
    "image": ("image", "images", "file_name", "img_path", "image_path"),
    "changed": ("counterfactual_image",),
    "question": ("question", "query"),
    "answer": ("answer", "answers"),
    "options": ("options", "choices"),
    "counterfactual_question": ("counterfactual_question", "new query"),
    "counterfactual_answer": ("counterfactual_answer", "new answer"),
    "counterfactual_options": ("counterfactual_options",),
    "type": ("type", "category", "task"),
    "id": ("id",),
}
"""The columns that are read, each with its other names."""
_NUMBERED = re.compile(r"image_?\d+")


class Plugin(QuestionTablePlugin):
    """Where the table is, and the images."""

    def read(self, place: Place, row: Row) -> Iterator[Item]:
        """The questions of a row; a row with one question has the counterfactual one alone."""
        asked = [_asked(row, ""), _asked(row, "counterfactual_")]
        given = [one for one in asked if one is not None]
        if not given:
            raise UnusableError("no question; name the columns image, question and answer")
        images = _images(row)
        if not images:
            raise UnusableError("no image; name the column image")
        kind = _text(row, "type") or "questions"
        if kind == "all" or len(kind) > 40 or "\n" in kind:
            raise UnusableError(f"the type {kind!r:.50} must be a name of one line, at most 40 letters, and not 'all'")
        yield Item(
            name=_text(row, "id") or f"{Path(place.source).stem}-{place.text.rpartition(' ')[2].zfill(5)}",
            images=tuple(images),
            counterfactual=given[-1],
            original=given[0] if len(given) > 1 else None,
            type=kind,
            changed_image=next(iter(_several(_value(row, "changed"))), None),
        )


def is_published(path: Path) -> bool:
    """Whether a file is of C-VQA's published layout, with its groups, so that the plugin `csv` reads it whole."""
    if path.suffix.lower() != ".csv":
        return False
    try:
        rows = [row.cells for row in CsvFile(path, COLUMNS, lambda row: row)]
    except InputError:
        return False
    return all(row["type"] in TYPES and row["query"].strip() and row["new query"].strip() for row in rows)


def _asked(row: Row, side: str) -> Any:
    """The question of a side; None where the row has none."""
    text = _text(row, f"{side}question")
    if not text:
        return None
    options = _several(_value(row, f"{side}options")) or _several(_value(row, "options"))
    return question_of(text, _several(_value(row, f"{side}answer")), options or _lettered(row))


def _lettered(row: Row) -> list[str]:
    """Options in the columns A, B, …"""
    found = []
    for letter in ALPHABET:
        value = row.get(letter)
        if value is None or not str(value).strip():
            break
        found.append(str(value))
    return found


def _images(row: Row) -> list[Any]:
    """The cells of a row's images."""
    value = _value(row, "image")
    if isinstance(value, dict):
        return [value]
    if found := _several(value):
        return found
    numbered = sorted((name for name in row if _NUMBERED.fullmatch(name)), key=lambda name: (len(name), name))
    return [content for name in numbered if (content := cell(row, name))]


def _value(row: Row, name: str) -> Any:
    """What stands in a column, under whichever of its names; None where nothing does."""
    values = (cell(row, column) for column in NAMES[name])
    return next((value for value in values if value is not None and value not in ("", [])), None)


def _text(row: Row, name: str) -> str:
    found = _several(_value(row, name), split=False)
    return found[0].strip() if found else ""


def _several(value: Any, split: bool = True) -> list[Any]:
    """The texts of a cell: a list, a JSON list, or parts with bars between them."""
    if value is None:
        return []
    if isinstance(value, dict):
        lettered = all(isinstance(key, str) and len(key) == 1 for key in value)
        return [_written(value[key]) for key in sorted(value)] if lettered else [value]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [one if isinstance(one, dict) else _written(one) for one in value]
    text = _written(value)
    if split and text.lstrip().startswith("["):
        try:
            return [_written(one) for one in json.loads(text)]
        except ValueError:
            return [text]
    return [part.strip() for part in text.split("|") if part.strip()] if split else [text]


def _written(value: Any) -> str:
    """A value as text: a truth as yes or no, a whole number without its point."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
