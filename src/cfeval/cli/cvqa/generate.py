"""Make synthetic puzzles in the layout of the published set: PNGs, their truth as JSON beside, one CSV of questions."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Seed
from cfeval.cli.output import writable
from cfeval.errors import InputError, nearest
from cfeval.records.cvqa import SYNTHETIC
from cfeval.world.puzzles.look import SIZE
from cfeval.world.puzzles.release import release


def run(
    out: Annotated[Path, typer.Option("--out", callback=writable, help="Folder to write; it must not exist yet.")],
    count: Annotated[int, typer.Option(min=1, help="How many; shared evenly among the types.")] = 3000,
    seed: Seed = 0,
    types: Annotated[
        list[str] | None, typer.Option("--type", help=f"{', '.join(SYNTHETIC)}; may be repeated; by default all.")
    ] = None,
    size: Annotated[int, typer.Option(min=112, max=2048, help="Width and height of the pictures, pixels.")] = SIZE,
    icons: Annotated[
        Path | None,
        typer.Option(help="Folder with own icons (PNG, JPEG) in place of the drawn flowers, e.g. Icons-50."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes that draw at the same time.")] = 2,
) -> None:
    """Make synthetic puzzles in the layout of the published set: PNGs, their truth as JSON beside, one CSV of questions."""
    wanted = tuple(kind for kind in SYNTHETIC if kind in (types or SYNTHETIC))
    for kind in types or ():
        if kind not in SYNTHETIC:
            raise InputError(f"--type: unknown type '{kind}'; {nearest(kind, SYNTHETIC)}")
    if out.exists():
        raise InputError(f"{out}: exists already; choose another folder")
    release(out, count, seed, size=size, icons=icons, jobs=jobs, types=wanted)
    print(f"{count} puzzles in {out}; ask them with {{backend: csv, questions: {out}/C-VQA-Synthetic_questions.csv}}")
