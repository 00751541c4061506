"""Write pairs of questions as the published CSV, for other tools."""

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Out
from cfeval.io.cvqa_csv import CvqaRow, write_questions
from cfeval.io.records import read_jsonl
from cfeval.io.sharded_files import whole_or_shards_of_all
from cfeval.records.cvqa import Pair


def run(
    questions: Annotated[list[Path], typer.Argument(help="Pairs of questions (JSONL) with all their shards.")],
    out: Out,
) -> None:
    """Write pairs of questions as the published CSV, for other tools.

    Its columns: img_path, query, answer, new query, new answer, type. Rows come file after file, and in each in the
    order of the set: a set that is cut into shards is written shard after shard. Where the order matters, make it with
    --shards 1.
    """
    files = whole_or_shards_of_all(questions)
    pairs = chain.from_iterable(read_jsonl(file, Pair) for file in files)
    write_questions(out, (_row(number, pair) for number, pair in enumerate(pairs, start=1)))


def _row(number: int, pair: Pair) -> CvqaRow:
    return CvqaRow(number, pair.img_path, pair.original, pair.counterfactual, pair.type)
