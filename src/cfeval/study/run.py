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

from cfeval.core.errors import InputError, StoppedError
from cfeval.core.folder import Folder, Name, ParamsFiles, study_in
from cfeval.core.process import is_ignored, silence_terminal
from cfeval.inference.remote.settings import Offline
from cfeval.inference.remote.stops import SIGNALS
from cfeval.study.command import command, shown, snakemake
from cfeval.study.consent import ask_before_money
from cfeval.study.ending import Ending
from cfeval.study.outcome import outcomes, report_of
from cfeval.study.schema import keep_schema
from cfeval.study.summary import only_json_on_stdout, summary
from cfeval.study.unscored import unscored
from cfeval.study.whole import Job, Whole, whole

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
    offline: Offline = False,
    probe: Annotated[
        bool, typer.Option("--probe/--no-probe", help="First send each hosted model one small request.")
    ] = True,
) -> None:
    """Run a study: check it, estimate its cost, ask before anything is spent, and summarize the results.

    Finished results are not made again, and no call is paid for twice: stop with Ctrl-C, and run the same command to
    resume. Options after `--` go to Snakemake: cfeval run DIR -- --profile slurm.
    """
    with (
        study_in(folder, [*(params or ()), *["offline"] * offline]) as files,
        only_json_on_stdout() if as_json else nullcontext(),
    ):
        # a printed command is pasted elsewhere, and Snakemake takes parameter files as seen from there
        overlays = [file.absolute() if show else file for file in files[1:]]
        words = snakemake(cores, overlays, name, list(more or ()))
        if show:
            print(shown(words, Path()))
            return
        study = whole(files, name)
        keep_schema(Path())
        jobs = study.jobs()
        ask_before_money(study, jobs, files, yes, probe)
        ending = Ending(study, jobs, folder)
        status = _run(words)
        if status:
            print("\n".join(ending.failed()), file=sys.stderr)
            raise typer.Exit(status)
        _conclude(study, jobs, folder, ending)
        content = summary(study.params, study.root, folder) if as_json else {}
    if as_json:
        print(json.dumps(content, ensure_ascii=False))


def _run(words: Sequence[str]) -> int:
    """Run Snakemake to its end; its exit status. Ctrl-C and a closed terminal go to it too, and it ends in order.

    Raises:
        StoppedError: a signal has ended it.
    """
    process = subprocess.Popen(command(words), env={**os.environ, "PYTHONSAFEPATH": "1"})
    came: list[int] = []

    def forward(number: int, _frame: object) -> None:
        came.append(number)
        if number == signal.SIGHUP:
            silence_terminal()
        if number != signal.SIGINT:  # a terminal sends that to both
            process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in SIGNALS if not is_ignored(number)}
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise StoppedError(came[0])
    return status


def _conclude(study: Whole, jobs: Sequence[Job], folder: Path, ending: Ending) -> None:
    """What came of the run, and where the report is; InputError where nothing was scored."""
    if empty := unscored(jobs):
        print("\n".join(ending.incomplete()))
        raise InputError("; ".join(empty))
    found = outcomes(study.params, study.root)
    report = folder / report_of(study.params, study.root)
    for line in found[:_SHOWN]:
        print(line)
    if len(found) > _SHOWN:
        print(f"and {len(found) - _SHOWN} more conditions")
    for line in ending.incomplete():
        print(line)
    print(f"report: {report}")
