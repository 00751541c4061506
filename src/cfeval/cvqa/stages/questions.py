"""The pairs of a set of questions: filed with their images, written as the published CSV, and published as a folder.

A published folder loads with Hugging Face `datasets`, has a card, and Croissant:

FOLDER/README.md                the card: licence, task and configuration as YAML, then fields and figures
FOLDER/croissant.json           the same for machines (MLCommons Croissant 1.0)
FOLDER/test/metadata.jsonl      a line a pair
FOLDER/test/{id}.png            its image, as it was filed
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import Archive, Out, Seed, Shards, build, writable
from cfeval.core.errors import InputError
from cfeval.core.files import write_bytes, write_text
from cfeval.core.images import folder_of, load
from cfeval.core.jsonl import read_jsonl
from cfeval.core.shards import file_with_images, whole_or_shards_of_all
from cfeval.cvqa.csv_format import TYPES, CvqaRow, original_in_layout, write_questions
from cfeval.cvqa.files import name_unusable
from cfeval.cvqa.records import QuestionPair
from cfeval.datasets import croissant
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
    questions: Annotated[list[Path], typer.Argument(help="Pairs of questions (JSONL) with all their shards.")], out: Out
) -> None:
    """Write pairs of questions as the published CSV, for other tools.

    Its columns: img_path, query, answer, new query, new answer, type. Rows come file after file, and in each in the
    order of the set: a set that is cut into shards is written shard after shard. Where the order matters, make it with
    --shards 1.

    A set that this layout cannot hold is refused: counterfactual questions alone, several images, other types.
    """
    files = whole_or_shards_of_all(questions)
    pairs = enumerate(chain.from_iterable(read_jsonl(file, QuestionPair) for file in files), start=1)
    write_questions(out, (_csv_row(number, pair) for number, pair in pairs))


def _csv_row(number: int, pair: QuestionPair) -> CvqaRow:
    original = original_in_layout(pair, "C-VQA's CSV", TYPES)
    return CvqaRow(number, pair.img_path, original, pair.counterfactual, pair.type)


SPLIT, ROWS = "test", "metadata.jsonl"
# The fields of a row and what they mean.
FIELDS: Mapping[str, str] = {
    "file_name": "The image's file, beside this one",
    "id": "The pair's id",
    "type": "Group: of C-VQA direct, indirect, boolean, or a template abs_counting_1 to abs_counting_6",
    "question": "The question about the image as it is",
    "answer": "Its right answer: digits, yes or no, the letter of an option, or words",
    "counterfactual_question": "The same question under a counterfactual presupposition",
    "counterfactual_answer": "Its right answer",
    "img_path": "The image's name in the layout of C-VQA",
}


def publish(files: Sequence[Path], out: Path, title: str, licence: str) -> int:
    """Write pairs of questions as such a folder; the card comes last, so that a folder that has one is whole.

    Args:
        files: pairs (JSONL), whole or all shards; their images lie beside.
        out: a new or empty folder.
        title: what the card calls the set.
        licence: its identifier, as spdx.org/licenses has it.

    Returns:
        How many pairs there are.

    Raises:
        InputError: the folder is not empty, an image is missing or another one, or an id occurs twice.
        OutputError: a file cannot be written.
    """
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty; name a new folder")
    kinds: Counter[str] = Counter()
    lines: dict[str, str] = {}
    for pair, image in _with_images(files):
        if pair.id in lines:
            raise InputError(f"two pairs have the id '{pair.id}'; give each file once, and sets of one seed apart")
        name = f"{pair.id}.png"
        write_bytes(out / SPLIT / name, image)
        first, then = original_in_layout(pair, "a folder of pairs"), pair.counterfactual
        values = (name, pair.id, pair.type, first.question, first.answer, then.question, then.answer, pair.img_path)
        lines[pair.id] = json.dumps(dict(zip(FIELDS, values, strict=True)), ensure_ascii=False)
        kinds[pair.type] += 1
    rows = "".join(f"{line}\n" for line in lines.values())
    write_text(out / SPLIT / ROWS, rows)
    described = _croissant(title, licence, len(lines), hashlib.sha256(rows.encode()).hexdigest())
    write_text(out / croissant.NAME, described)
    # The card, as huggingface.co/docs/hub/datasets-cards has it.
    count = sum(kinds.values())
    fields = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in FIELDS.items())
    types = "\n".join(f"| {kind} | {number} |" for kind, number in sorted(kinds.items()))
    head = croissant.hub_card_head(title, licence, count, {"default": f"{SPLIT}/**"}, SPLIT)
    write_text(
        out / "README.md",
        (
            f"{head}\n# {title}\n\n{count} pairs of questions about images: each question as it is, and under a "
            "counterfactual presupposition, in the manner of C-VQA (Zhang et al. 2023). Made by cfeval.\n\n"
            f"| field | meaning |\n|---|---|\n{fields}\n\n| type | pairs |\n|---|---|\n{types}\n"
        ),
    )
    return len(lines)


def _with_images(files: Sequence[Path]) -> Iterator[tuple[QuestionPair, bytes]]:
    for file in files:
        for pair in read_jsonl(file, QuestionPair):
            yield pair, load(folder_of(file), pair.image).png


def _croissant(title: str, licence: str, count: int, sha256: str) -> str:
    about = f"{title}: {count} pairs of questions about images, original and counterfactual."
    files = [croissant.jsonl_file("rows", f"{SPLIT}/{ROWS}", sha256)]
    return croissant.description(title, about, licence, files, [croissant.record_set("pairs", "rows", FIELDS)])


def run_dataset(
    questions: Annotated[list[Path], typer.Argument(help="Pairs of questions (JSONL) with all their shards.")],
    out: Annotated[Path, typer.Option("--out", callback=writable, help="Folder to write, new or empty.")],
    licence: Annotated[
        str, typer.Option("--license", help="Its licence, as spdx.org/licenses names it, such as CC-BY-4.0.")
    ],
    title: Annotated[str, typer.Option(help="What the card calls the set.")] = "Counterfactual questions",
) -> None:
    """Write pairs of questions as a folder for Hugging Face `datasets`, with a card, and as Croissant.

    Whether you may pass on the images, and under which licence, is yours to know.
    """
    count = publish(whole_or_shards_of_all(questions), out, title, licence)
    print(f"{count} pairs in {out}; load them with datasets.load_dataset({str(out)!r})")
