"""Mend what a killed run left; say whether keys, models, GPU and disk will do, before anything is spent."""

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from cfeval.backends.registry import Diagnostic
from cfeval.calls.settings import use
from cfeval.cli.common import PARAMS, ParamsFiles, conversation_prompts
from cfeval.errors import InputError
from cfeval.params.study import Params, load
from cfeval.preflight import checks, locks, machine
from cfeval.preflight.checks import Check
from cfeval.preflight.used import used


def run(
    folder: Annotated[Path, typer.Option(help="The project's folder.")] = Path(),
    params: ParamsFiles = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell, change nothing.")] = False,
    seconds: Annotated[float, typer.Option(min=1, help="How long to wait for any answer.")] = 30,
) -> None:
    """Mend what a killed run left; say whether keys, models, GPU and disk will do, before anything is spent.

    Finished jobs are kept; run `snakemake` or `dvc repro` again to go on. Nothing is touched while a run is alive.
    Every backend that the tables use is examined: nothing is paid for, no weights are read. Ends with status 2 where
    something will not work. Without a parameter file in the folder it only mends.
    """
    _mend(folder, dry_run)
    if params or (folder / PARAMS).is_file():
        loaded = load(*(params or [folder / PARAMS]))
        with chdir(folder):
            _examine(loaded, seconds)


def _mend(folder: Path, dry_run: bool) -> None:
    found = list(locks.complaints(folder))
    for path, what in found:
        run = locks.runner(folder)
        running = [run] if run is not None else locks.alive(folder, ("snakemake", "dvc"))
        other = locks.elsewhere(folder) if path == folder / locks.SNAKEMAKE_LOCKS else ""
        if other:
            print(f"{path}: {what} that began on {other}; where none is alive there, run `snakemake --unlock`")
        elif running:
            print(f"{path}: {what}, but process {running[0]} is at work in {folder.resolve()}; left alone")
        elif dry_run:
            print(f"{path}: {what}")
        else:
            locks.remove(path)
            print(f"{path}: {what}; removed")
    if not found:
        print("nothing to mend")


def _examine(params: Params, seconds: float) -> None:
    """Say what every check found; InputError where something will not work."""
    use(params.calls)
    wrong = 0
    for name, findings in checks.look(_checks(params), seconds):
        faults = list(dict.fromkeys(finding for finding in findings if not finding.fine))
        wrong += len(faults)
        for finding in faults or [Diagnostic(True, "; ".join(dict.fromkeys(finding.text for finding in findings)))]:
            _say(name, finding)
    if wrong:
        raise InputError(f"{wrong} thing{'s' * (wrong > 1)} will not work; see above what to do, nothing was spent")


def _checks(params: Params) -> Iterator[Check]:
    uses = used(params)
    for one in uses:
        yield checks.of_backend(one, params.calls.offline)
    if params.edct.prompts:
        yield Check("edct.prompts", lambda: _prompts(params.edct.prompts or ""))
    sound = [one for one in uses if one.sound]
    remote = [one for one in sound if one.needs.api]
    yield Check(f"store {params.calls.store}", lambda: machine.store(params.calls, bool(remote)))
    if remote and not params.calls.offline:
        yield Check("prices", lambda: machine.prices(params.calls, remote))
    for folder in {machine.RESULTS: None, Path(params.calls.store).parent: None}:
        yield Check(f"disk {folder}", lambda folder=folder: machine.disk(folder))  # type: ignore[misc]
    if local := [one.place for one in sound if one.needs.gpu]:
        yield Check("gpu", lambda: machine.gpu(local))


def _prompts(folder: str) -> Iterator[Diagnostic]:
    conversation_prompts(folder)
    yield Diagnostic(True, "both templates are there")


def _say(name: str, finding: Diagnostic) -> None:
    text = " ".join(finding.text.split()).removeprefix(f"{name}: ")
    mark = Text("ok   ", style="green") if finding.fine else Text("FAIL ", style="bold red")
    Console(soft_wrap=True, highlight=False).print(mark + Text(f"{name}: {text}"))
