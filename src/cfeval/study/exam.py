"""`cfeval exam`: examine a judge or verifier of the study on cases of known truth; see `cfeval.edct.exam`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.config import edct_of, load, named
from cfeval.core import registry
from cfeval.core.cli_options import TableOut
from cfeval.core.errors import InputError, nearest
from cfeval.core.folder import Folder, ParamsFiles, study_in
from cfeval.edct.config import Edct
from cfeval.edct.exam.cli import Cases, ExamSeed, write_exam, write_verifier_exam
from cfeval.inference.remote.settings import Offline, use, use_offline_cache


def run(
    out: TableOut,
    folder: Folder = Path(),
    judge: Annotated[str, typer.Option(metavar="NAME", help="From edct.judges. Default: the first.")] = "",
    verifier: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Instead of a judge: from edct.verifiers, or an editor, whose gate is meant."
        ),
    ] = "",
    params: ParamsFiles = None,
    cases: Cases = None,
    seed: ExamSeed = 0,
    offline: Offline = False,
) -> None:
    """Examine a judge or verifier before a run, on cases of known truth: is it fit for use?

    A judge is shown texts, and called twice per case: for its scores, and for whether the answer changed. A verifier is
    shown edits of drawn scenes, right and wrong. Prints a table of sensitivity and specificity by kind of case and
    writes it to OUT.csv, OUT.md and OUT.tex, with one row per case in OUT-replies.csv. A reply without a score counts
    as missing, not as an error.

    Ends with pass or fail in words. Exit status 0: fit for use, that is at least 90 % of replies have a score, the
    lower 95 % limit of sensitivity is .5 or more, specificity is .9 or more and its lower limit .75; for a judge both
    of CCS and of the comparison of answers. 1: not fit. 2: bad input, or calls failed; what was answered is kept, and
    the same command goes on. The table names the judge it is about, and a study takes it for no other (`edct.exams`).
    """
    table = out.absolute()
    with study_in(folder, params) as files:
        loaded = load(*files)
        study, where = edct_of(loaded, named(files)), named(files)
        if judge and verifier:
            raise InputError("--judge and --verifier: one of them at a time; run the command twice")
        use(loaded.calls)
        use_offline_cache(offline)
        if verifier:
            write_verifier_exam(_verifier(study, verifier, where), table, seed, cases)
        else:
            name = judge or next(iter(study.judges), "")
            if name not in study.judges:
                raise InputError(f"edct.judges of {where} has no '{name}'; {nearest(name, study.judges)}")
            write_exam(study.judges[name].plugin_options(), table, seed, cases)


def _verifier(study: Edct, name: str, where: str) -> dict[str, Any]:
    specs = {each: spec.plugin_options() for each, spec in study.verifiers.items()}
    for editor, spec in study.editors.items():
        gate = [part for family, part in registry.components("editors", spec.plugin_options()) if family == "verifiers"]
        if gate:
            specs.setdefault(editor, dict(gate[0]))
    if name not in specs:
        raise InputError(
            f"edct.verifiers of {where} has no '{name}', and no editor of that name has a gate; {nearest(name, specs)}"
        )
    return specs[name]
