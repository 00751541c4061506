"""`cfeval exam`: examine a judge of the study on cases with known scores; see `cfeval.edct.exam`."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.config import edct_of, load, named
from cfeval.core import registry
from cfeval.core.cli_options import TableOut
from cfeval.core.errors import InputError, nearest
from cfeval.core.folder import Folder, ParamsFiles, study_in
from cfeval.edct.exam.cli import ExamSeed, write_exam
from cfeval.inference.remote.settings import Offline, use, use_offline_cache


def run(
    out: TableOut,
    folder: Folder = Path(),
    judge: Annotated[str, typer.Option(metavar="NAME", help="From edct.judges. Default: the first.")] = "",
    params: ParamsFiles = None,
    seed: ExamSeed = 0,
    offline: Offline = False,
) -> None:
    """Examine a judge before a run: its sensitivity and specificity on texts with known scores.

    Prints a table and writes it to OUT.csv, OUT.md and OUT.tex, with one row per case in OUT-replies.csv. The judge is
    called twice per case: for its scores, and for whether the answer changed. A reply without a score counts as
    missing, not as an error.
    """
    table = out.absolute()
    with study_in(folder, params) as files:
        loaded = load(*files)
        judges = edct_of(loaded, named(files)).judges
        name = judge or next(iter(judges), "")
        if name not in judges:
            raise InputError(f"edct.judges of {named(files)} has no '{name}'; {nearest(name, judges)}")
        use(loaded.calls)
        use_offline_cache(offline)
        write_exam(registry.build("judges", judges[name].plugin_options()), table, seed)
