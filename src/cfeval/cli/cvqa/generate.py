"""Make synthetic puzzles in the layout of the published set: PNGs, their truth beside, one CSV of questions."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Seed
from cfeval.cli.output import writable
from cfeval.errors import InputError, nearest
from cfeval.records.puzzles import PUZZLE_TYPES
from cfeval.world.puzzles.look import GREATEST_SIZE, LEAST_SIZE, SIZE
from cfeval.world.puzzles.release import QUESTIONS, release


def run(
    out: Annotated[Path, typer.Option("--out", callback=writable, help="Folder to write, new or empty.")],
    count: Annotated[int, typer.Option(min=1, help="How many; shared evenly among the types.")] = 3000,
    seed: Seed = 0,
    types: Annotated[
        list[str] | None, typer.Option("--type", help=f"{', '.join(PUZZLE_TYPES)}; may be repeated; by default all.")
    ] = None,
    size: Annotated[
        int, typer.Option(min=LEAST_SIZE, max=GREATEST_SIZE, help="Width and height of the pictures, pixels.")
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
    print(f"{count} puzzles in {out}; ask them with {{backend: csv, questions: {out}/{QUESTIONS}, images: {out}}}")
