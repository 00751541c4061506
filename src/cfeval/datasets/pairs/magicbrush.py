"""MagicBrush and sets like it: a photograph, an instruction, the edited photograph, and the mask of the edit.

- Data: 10,000 edits of COCO's photographs by people with an editor and a mask: train 8,807 rows, dev 528.
- Paper: Zhang, Mo, Chen, Sun and Su, MagicBrush: A Manually Annotated Dataset for Instruction-Guided Image Editing
  (NeurIPS 2023 Datasets and Benchmarks, arXiv:2306.10012).
- License: CC BY 4.0; photographs as COCO has them.
- Where: dataset osunlp/MagicBrush at Hugging Face: the Parquet files of `dev` or `train`.
- Fields: `img_id`, `turn_index`, `source_img`, `mask_img` (white where the edit is), `instruction`, `target_img`.
- Known faults: edits of turn 2 and later start from an edited image; an edit may leave its mask, which the column
  `outside` of the table tells. It has no questions, and no right answers.

By rule: one question is asked about all images (option `question`), or each has its own in a file that is given
(`questions`: CSV with the columns `img_id`, `turn_index`, `question`). What was changed is the instruction.
"""

from functools import partial
from pathlib import Path

from cfeval.core import plugin
from cfeval.core.errors import InputError
from cfeval.core.text_files import csv_rows
from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.rows import Place, Row, TablePlugin, cell, image, mask, simple, text


class Plugin(TablePlugin):
    """Where the Parquet files are, and what is asked."""

    question: str = ""
    """Asked about every image that has no question of its own."""
    questions: str | None = plugin.file(None)
    """A CSV file with questions: `img_id`, `turn_index`, `question`."""

    def build(self) -> PairSet:
        """The set."""
        own = _questions(Path(self.questions)) if self.questions else {}
        return simple(self, partial(_pair, own=own, question=self.question), _name)


def _name(row: Row) -> str:
    return f"{row.get('img_id')}-{row.get('turn_index')}"


def _questions(source: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in csv_rows(source, ("img_id", "turn_index", "question")):
        name = _name(row.cells)
        if name in found:
            raise InputError(f"{source}, line {row.line}: a second question about image {name}; keep one")
        found[name] = row.cells["question"]
    return found


def _pair(place: Place, row: Row, item: str, own: dict[str, str], question: str) -> RawPair:
    asked = own.get(_name(row)) or question
    if not asked.strip():
        raise InputError(
            f"{place.text}: no question about image {_name(row)}; set the option 'question' or 'questions'"
        )
    images = image(place, row, "source_img"), image(place, row, "target_img")
    return RawPair(
        id=item,
        images=images,
        question=asked,
        before="",
        after=text(place, row, "instruction"),
        kind="other",
        verified="people (MagicBrush)",
        region=mask(place, row, "mask_img", images[0].pixels.shape[:2]) if cell(row, "mask_img") else None,
    )
