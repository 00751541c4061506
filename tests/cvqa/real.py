"""The published questions of C-VQA-Real where this machine has them, else a few of our own in the same format."""

import csv
from pathlib import Path

from cfeval.cvqa.records import Question
from cfeval.cvqa.tables.replies import PairStatistics

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "cvqa_real_questions.csv"
OWN = """img_path,query,answer,new query,new answer,type
COCO_val2014_000000000001.jpg,How many cups are here?,2,How many cups would be here if one broke?,1,direct
COCO_val2014_000000000001.jpg,How many spoons are here?,2,If 2 spoons were added how many would there be?,4,direct
COCO_val2014_000000000002.jpg,How many cats?,2,How many cats would you see if it was dark?,2,indirect
COCO_val2014_000000000003.jpg,Is it dry?,yes,Would it be dry if it rained?,no,boolean
COCO_val2014_000000000003.jpg,Is it day?,yes,Would it be day if it rained?,yes,boolean
"""


def real_pairs() -> tuple[list[PairStatistics], bool]:
    """The pairs, and whether they are the published ones."""
    text = PUBLISHED.read_text(encoding="utf-8") if PUBLISHED.exists() else OWN
    return [_pair(row) for row in csv.DictReader(text.splitlines())], PUBLISHED.exists()


def _pair(row: dict[str, str]) -> PairStatistics:
    first = Question(question=row["query"], answer=row["answer"])
    then = Question(question=row["new query"], answer=row["new answer"])
    return PairStatistics(first, then, row["type"], row["img_path"])  # type: ignore[arg-type]
