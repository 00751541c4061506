"""Writes puzzles to a folder in the layout of the published set, and beside each image its truth.

FOLDER/abs_counting_000001.png …       blocks of equal size, a block a type
FOLDER/abs_counting_000001.json …      the record (`cfeval.cvqa.synthetic.records.PuzzleTruth`)
FOLDER/C-VQA-Synthetic_questions.csv
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import Seed, writable
from cfeval.core.errors import InputError, nearest
from cfeval.core.files import ensure_writable, write_bytes, write_text
from cfeval.core.streams import batched
from cfeval.cvqa.csv_format import CvqaRow, write_questions
from cfeval.cvqa.synthetic.drawing import Icons, icons_of, png_of
from cfeval.cvqa.synthetic.puzzles import counterfactual_of, make_puzzle, original_of
from cfeval.cvqa.synthetic.records import GREATEST_SIZE, LEAST_SIZE, PUZZLE_TYPES, SIZE, Puzzle, PuzzleTruth, PuzzleType

QUESTIONS = "C-VQA-Synthetic_questions.csv"
# Puzzles that a process is given at once, and how often each process is given some before all are waited for.
_CHUNK, _AHEAD = 25, 20
_Chunk = Sequence[tuple[int, PuzzleType]]


@dataclass(frozen=True)
class _Order:
    """What all puzzles of a release share."""

    folder: Path
    seed: int
    size: int
    icons: Path | None


def release(
    folder: Path,
    count: int,
    seed: int,
    size: int = SIZE,
    icons: Path | None = None,
    jobs: int = 1,
    types: Sequence[PuzzleType] = PUZZLE_TYPES,
) -> Path:
    """Write puzzles; the questions come last, so that a folder that has them is whole.

    Args:
        folder: new or empty.
        count: puzzles in all; where it cannot be divided, the first types have one more.
        seed: of the set.
        size: width and height of the images, pixels.
        icons: a folder of flowers, see `FolderIcons`; without it the project's own.
        jobs: processes; the files are the same for any number.
        types: the templates, a block each, in this order.

    Returns:
        The file of the questions.

    Raises:
        InputError: one line: the folder is not empty, a number is out of range, or the icons cannot be used.
        OutputError: a file cannot be written.
    """
    check_size(size)
    if not 1 <= count <= 999_999:
        raise InputError(f"the number of puzzles must be 1 to 999,999, but got {count}")
    if jobs < 1:
        raise InputError(f"the number of processes must be at least 1, but got {jobs}")
    odd = [kind for kind in types if kind not in PUZZLE_TYPES]
    if odd or not types or len(set(types)) < len(types):
        named = ", ".join(types) or "none"
        raise InputError(f"types must be some of {', '.join(PUZZLE_TYPES)}, each once, but got {named}")
    ensure_writable(folder / QUESTIONS)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not empty; empty it or name a new folder")
    icons_of(icons)
    order = _Order(folder, seed, size, icons)
    chunks = batched(enumerate(blocks(count, types), start=1), _CHUNK)
    rows = _written(order, chunks, min(jobs, -(-count // _CHUNK)))
    write_questions(folder / QUESTIONS, chain.from_iterable(rows))
    return folder / QUESTIONS


def blocks(count: int, types: Sequence[PuzzleType]) -> Iterator[PuzzleType]:
    """The type of each puzzle, in order."""
    share, more = divmod(count, len(types))
    for place, kind in enumerate(types):
        for _ in range(share + (place < more)):
            yield kind


def image_name(number: int) -> str:
    """The name of a puzzle's image, as in the published set."""
    return f"abs_counting_{number:06d}.png"


def row_of(puzzle: Puzzle) -> CvqaRow:
    """A puzzle's row in the file of questions."""
    return CvqaRow(
        number=puzzle.number,
        img_path=image_name(puzzle.number),
        original=original_of(puzzle),
        counterfactual=counterfactual_of(puzzle),
        type=puzzle.type,
    )


def check_size(size: int) -> None:
    """Refuse a size of images that puzzles cannot have.

    Raises:
        InputError: too small or too large.
    """
    if not LEAST_SIZE <= size <= GREATEST_SIZE:
        raise InputError(f"the size of images must be {LEAST_SIZE} to {GREATEST_SIZE} pixels, but got {size}")


def _written(order: _Order, chunks: Iterable[_Chunk], jobs: int) -> Iterator[list[CvqaRow]]:
    if jobs == 1:
        yield from (_write_chunk(order, chunk) for chunk in chunks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for some in batched(chunks, jobs * _AHEAD):  # a pool takes all that it is given at once
            yield from pool.map(_write_chunk, [order] * len(some), some)


def _write_chunk(order: _Order, chunk: _Chunk) -> list[CvqaRow]:
    icons = _icons(order.icons)
    rows = []
    for number, kind in chunk:
        puzzle = make_puzzle(order.seed, number, kind, order.size, icons.names)
        path = order.folder / image_name(number)
        write_bytes(path, png_of(puzzle, icons))
        truth = PuzzleTruth(counts=puzzle.scene.counts(), puzzle=puzzle)
        write_text(path.with_suffix(".json"), truth.model_dump_json() + "\n")
        rows.append(row_of(puzzle))
    return rows


@lru_cache(maxsize=1)
def _icons(folder: Path | None) -> Icons:
    return icons_of(folder)


def run(
    out: Annotated[Path, typer.Option("--out", callback=writable, help="Folder to write, new or empty.")],
    count: Annotated[int, typer.Option(min=1, help="How many; shared evenly among the types.")] = 3000,
    seed: Seed = 0,
    types: Annotated[
        list[str] | None, typer.Option("--type", help=f"{', '.join(PUZZLE_TYPES)}; may be repeated; by default all.")
    ] = None,
    size: Annotated[
        int, typer.Option(min=LEAST_SIZE, max=GREATEST_SIZE, help="Width and height of the images, pixels.")
    ] = SIZE,
    icons: Annotated[
        Path | None,
        typer.Option(help="Folder with own icons (PNG, JPEG) in place of the drawn flowers, e.g. Icons-50."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes that draw at the same time.")] = 2,
) -> None:
    """Make synthetic puzzles in the layout of the published set: PNGs, their truth beside, one CSV of questions."""
    wanted = tuple(kind for kind in PUZZLE_TYPES if kind in (types or PUZZLE_TYPES))
    for kind in types or ():
        if kind not in PUZZLE_TYPES:
            raise InputError(f"--type: unknown type '{kind}'; {nearest(kind, PUZZLE_TYPES)}")
    release(out, count, seed, size=size, icons=icons, jobs=jobs, types=wanted)
    print(f"{count} puzzles in {out}; ask them with {{plugin: csv, questions: {out}/{QUESTIONS}, images: {out}}}")
