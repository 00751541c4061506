"""Examine a judge of the parameter file on the cases of the judge exam; see `cfeval.edct.exam`."""

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
    judge: Annotated[str, typer.Option(help="A name from edct.judges; empty: the first.")] = "",
    params: ParamsFiles = None,
    seed: ExamSeed = 0,
    offline: Offline = False,
) -> None:
    """Examine a judge before a run: its sensitivity and specificity on text cases with known scores.

    Writes the table (OUT.csv, OUT.md, OUT.tex) and OUT-replies.csv, a row for each case, and prints the table. A reply
    without a score is counted as missing, never as an error. A judge is asked twice about each case: for its scores,
    and whether the answer changed.
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
