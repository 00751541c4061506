"""The pairs of a set of questions: filed with their images, and written as the published CSV for other tools."""

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import Archive, Out, Seed, Shards, build
from cfeval.core.jsonl import read_jsonl
from cfeval.core.shards import file_with_images, whole_or_shards_of_all
from cfeval.cvqa.csv_format import TYPES, CvqaRow, original_in_layout, write_questions
from cfeval.cvqa.files import name_unusable
from cfeval.cvqa.records import QuestionPair
from cfeval.datasets.sample import as_record, left_out_by


def run(
    set_: Annotated[str, typer.Option("--set", help="The set of questions, as JSON: its plugin and options.")],
    seed: Seed,
    out: Out,
    items: Annotated[int | None, typer.Option(min=1, help="Pairs at most; by default all.")] = None,
    shards: Shards = 1,
    archive: Archive = False,
) -> None:
    """File the pairs of a set of questions with their images, cut into shards by a hash of the id.

    A row that cannot be used (no image, malformed) is named in one line and left out; the rest goes on, and the number
    of those left out is told.
    """
    source = build("question_sets", set_, "--set")
    filed = ((as_record(raw, QuestionPair), raw.all_images) for raw in source.pairs(items, seed))
    items_ = (
        (pair.id, pair, {ref.path: image for ref, image in zip(pair.all_images, images, strict=True)})
        for pair, images in filed
    )
    file_with_images(out, items_, shards, archive, lambda: left_out_by(source))
    name_unusable(source.skipped)


def run_export(
    questions: Annotated[list[Path], typer.Argument(help="Pairs of questions (JSONL) with all their shards.")],
    out: Out,
) -> None:
    """Write pairs of questions as the published CSV, for other tools.

    Its columns: img_path, query, answer, new query, new answer, type. Rows come file after file, and in each in the
    order of the set: a set that is cut into shards is written shard after shard. Where the order matters, make it with
    --shards 1.

    A set that this layout cannot hold is refused: counterfactual questions alone, several images, other types.
    """
    files = whole_or_shards_of_all(questions)
    pairs = enumerate(chain.from_iterable(read_jsonl(file, QuestionPair) for file in files), start=1)
    write_questions(out, (_published(number, one) for number, one in pairs))


def _published(number: int, pair: QuestionPair) -> CvqaRow:
    original = original_in_layout(pair, "C-VQA's CSV", TYPES)
    return CvqaRow(number, pair.img_path, original, pair.counterfactual, pair.type)
