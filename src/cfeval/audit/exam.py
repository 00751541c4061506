"""`cfeval exam`: examine a judge of the study on cases with known scores; see `cfeval.edct.exam`."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.config import edct_of, load, named
from cfeval.core.cli_options import TableOut
from cfeval.core.errors import InputError, nearest
from cfeval.core.folder import Folder, ParamsFiles, study_in
from cfeval.edct.exam.cli import Cases, ExamSeed, write_exam
from cfeval.inference.remote.settings import Offline, use, use_offline_cache


def run(
    out: TableOut,
    folder: Folder = Path(),
    judge: Annotated[str, typer.Option(metavar="NAME", help="From edct.judges. Default: the first.")] = "",
    params: ParamsFiles = None,
    cases: Cases = None,
    seed: ExamSeed = 0,
    offline: Offline = False,
) -> None:
    """Examine a judge before a run: its sensitivity and specificity on texts with known scores, and whether it is fit.

    Prints a table and writes it to OUT.csv, OUT.md and OUT.tex, with one row per case in OUT-replies.csv. The judge is
    called twice per case: for its scores, and for whether the answer changed. A reply without a score counts as
    missing, not as an error.

    Ends with pass or fail in words. Exit status 0: fit for use, that is at least 90 % of replies have a score, the
    lower 95 % limit of sensitivity is .5 or more, specificity is .9 or more and its lower limit .75, for CCS and for
    the comparison of answers. 1: not fit. 2: bad input, or calls failed; what was answered is kept, and the same
    command goes on. The table names the judge it is about, and a study takes it for no other (`edct.exams`).
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
        write_exam(judges[name].plugin_options(), table, seed, cases)
