"""Run a study: check it, estimate its cost, ask, run the workflow that comes with cfeval, and summarize the results."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from cfeval.audit.command import command, shown, snakemake
from cfeval.audit.doctor import diagnose_all
from cfeval.audit.estimate import cost
from cfeval.audit.recipients import recipient_lines
from cfeval.audit.unscored import unscored
from cfeval.audit.whole import Job, Whole, outdated, up_to_date, whole
from cfeval.core.errors import InputError, StoppedError
from cfeval.core.folder import Folder, Name, ParamsFiles, study_in
from cfeval.study.outcome import outcomes, report_of
from cfeval.study.schema import keep_schema
from cfeval.study.summary import only_json_on_stdout, summary

_SHOWN = 12
"""Conditions whose figures are printed at the end; a table shows the rest."""


def run(
    folder: Folder = Path(),
    more: Annotated[list[str] | None, typer.Argument(metavar="-- OPTIONS", help="Options for Snakemake.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending money.")] = False,
    show: Annotated[
        bool, typer.Option("--print", help="Print the equivalent snakemake command, and run nothing.")
    ] = False,
    cores: Annotated[str, typer.Option(help="Number of processor cores to use.")] = "all",
    params: ParamsFiles = None,
    name: Name = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object at the end, for scripts; all else goes to stderr.")
    ] = False,
) -> None:
    """Run a study: check it, estimate its cost, ask before anything is spent, and summarize the results.

    Finished results are not made again, and no call is paid for twice: stop with Ctrl-C, and run the same command to
    resume. Options after `--` go to Snakemake: cfeval run DIR -- --profile slurm.
    """
    with study_in(folder, params) as files, only_json_on_stdout() if as_json else nullcontext():
        if show:
            overlays = [file.absolute() for file in files[1:]]  # Snakemake takes them as seen from the shell
            print(shown(snakemake(cores, overlays, name, list(more or ())), Path()))
            return
        words = snakemake(cores, files[1:], name, list(more or ()))
        study = whole(files, name)
        keep_schema(Path())
        jobs = study.jobs()
        _ask_before_money(study, jobs, files, yes)
        status = _run(words)
        if status:
            raise typer.Exit(status)
        _conclude(study, jobs, folder)
        content = summary(study.params, study.root, folder) if as_json else {}
    if as_json:
        print(json.dumps(content, ensure_ascii=False))


def _ask_before_money(study: Whole, jobs: Sequence[Job], files: Sequence[Path], yes: bool) -> None:
    """Print what is left to do and what it will cost, and ask before anything is spent.

    Raises:
        InputError: something will not work; or there is something to pay, no `--yes`, and nobody to ask.
    """
    to_do = outdated(jobs)
    print(up_to_date(study.root, len(to_do), len(jobs)), flush=True)
    if not to_do:
        return
    for line in recipient_lines(study.params):
        print(line, flush=True)
    diagnose_all(study.params)
    bill = cost(study.params, " + ".join(map(str, files)))
    for line in bill.lines:
        print(line)
    if not bill.calls or study.params.calls.offline or yes:
        return
    if not sys.stdin.isatty():
        raise InputError("the calls of this run may cost money, and there is no terminal to ask on; confirm with --yes")
    if not typer.confirm("Run the study?"):
        raise InputError("cancelled: nothing was run and nothing was spent")


def _run(words: Sequence[str]) -> int:
    """Run Snakemake to its end; its exit status. Ctrl-C goes to it too, and it ends in order.

    Raises:
        StoppedError: a signal has ended it.
    """
    process = subprocess.Popen(command(words), env={**os.environ, "PYTHONSAFEPATH": "1"})
    came: list[int] = []

    def forward(number: int, _frame: object) -> None:
        came.append(number)
        if number != signal.SIGINT:  # a terminal sends that to both
            process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise StoppedError(came[0])
    return status


def _conclude(study: Whole, jobs: Sequence[Job], folder: Path) -> None:
    """What came of the run, and where the report is; InputError where nothing was scored."""
    if empty := unscored(jobs):
        raise InputError("; ".join(empty))
    found = outcomes(study.params, study.root)
    report = folder / report_of(study.params, study.root)
    for line in found[:_SHOWN]:
        print(line)
    if len(found) > _SHOWN:
        print(f"and {len(found) - _SHOWN} more conditions")
    print(f"report: {report}")
