"""Looks at everything at once, each within a time limit, and never breaks: what goes wrong in a check is a finding."""

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from cfeval.audit import machine
from cfeval.audit.components import missing_files, used
from cfeval.audit.fits import unfit
from cfeval.config import Params, load
from cfeval.core import registry, run_locks
from cfeval.core.cli_options import ParamsFiles
from cfeval.core.errors import CfevalError, InputError
from cfeval.core.registry import Diagnostic, Used
from cfeval.core.roots import PARAMS
from cfeval.edct.files import conversation_prompts
from cfeval.inference.remote.settings import use

SECONDS = 30.0
"""How long any check may take."""


@dataclass(frozen=True)
class Check:
    """Something to look at: what it is called, and how it is done."""

    name: str
    look: Callable[[], Iterable[Diagnostic]]


@dataclass
class _Looking:
    check: Check
    found: list[Diagnostic] = field(default_factory=list)

    def run(self) -> None:
        try:
            for finding in self.check.look():
                self.found.append(finding)
        except CfevalError as error:
            self.found.append(Diagnostic(False, str(error)))
        except Exception as error:  # a defect of the check; its text is left out, because it may hold a key
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
            self.found.append(Diagnostic(False, f"the check itself broke ({place}); please report that"))


def look(checks: Iterable[Check], seconds: float) -> Iterator[tuple[str, list[Diagnostic]]]:
    """Do all checks side by side; yields each one's name and findings, in order.

    A check that is not done after `seconds` is left behind: its thread ends with the process.
    """
    started = [(looking := _Looking(check), _start(looking)) for check in checks]
    until = time.monotonic() + seconds
    for looking, thread in started:
        thread.join(max(0.0, until - time.monotonic()))
        found = list(looking.found)
        if thread.is_alive():
            found.append(
                Diagnostic(
                    False,
                    f"no answer within {seconds:g} s; network or machine are slow: try again, or raise --seconds",
                )
            )
        yield looking.check.name, found or [Diagnostic(True, "ready")]


def of_plugin(use: Used, offline: bool) -> Check:
    """What can be said about a plugin: its files, and what it and its parts say themselves."""

    def about() -> Iterator[Diagnostic]:
        registry.check(use.family, use.spec, use.place)
        for fault in missing_files(use.family, use.spec, use.protocols):
            yield Diagnostic(False, fault)
        yield from registry.diagnose(use.family, use.spec, offline, use.protocols)

    return Check(use.place, about)


def _start(looking: _Looking) -> threading.Thread:
    thread = threading.Thread(target=looking.run, daemon=True, name=looking.check.name)
    thread.start()
    return thread


def run(
    folder: Annotated[Path, typer.Option(help="The project's folder.")] = Path(),
    params: ParamsFiles = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell, change nothing.")] = False,
    seconds: Annotated[float, typer.Option(min=1, help="How long to wait for any answer.")] = SECONDS,
) -> None:
    """Mend what a killed run left; say whether keys, models, GPU and disk will do, before anything is spent.

    Finished jobs are kept; run `snakemake` or `dvc repro` again to go on. Nothing is touched while a run is alive.
    Every plugin that the tables use is examined: nothing is paid for, no weights are read. Ends with status 2 where
    something will not work. Without a parameter file in the folder it only mends.
    """
    _mend(folder, dry_run)
    if params or (folder / PARAMS).is_file():
        loaded = load(*(params or [folder / PARAMS]))
        with chdir(folder):
            examine(loaded, seconds, every=True)


def _mend(folder: Path, dry_run: bool) -> None:
    found = list(run_locks.complaints(folder))
    for path, what in found:
        run = run_locks.runner(folder)
        running = [run] if run is not None else run_locks.alive(folder, ("snakemake", "dvc"))
        other = run_locks.elsewhere(folder) if path == folder / run_locks.SNAKEMAKE_LOCKS else ""
        if other:
            print(f"{path}: {what} that began on {other}; where none is alive there, run `snakemake --unlock`")
        elif running:
            print(f"{path}: {what}, but process {running[0]} is at work in {folder.resolve()}; left alone")
        elif dry_run:
            print(f"{path}: {what}")
        else:
            run_locks.remove(path)
            print(f"{path}: {what}; removed")
    if not found:
        print("nothing to mend")


def examine(params: Params, seconds: float = SECONDS, every: bool = False) -> None:
    """Say what will not work, or with `every` what each check found; InputError where something will not work."""
    use(params.calls)
    wrong = 0
    for name, findings in look(_checks(params), seconds):
        faults = list(dict.fromkeys(finding for finding in findings if not finding.fine))
        wrong += len(faults)
        fine = [Diagnostic(True, "; ".join(dict.fromkeys(finding.text for finding in findings)))] if every else []
        for finding in faults or fine:
            _say(name, finding)
    if wrong:
        raise InputError(f"{wrong} thing{'s' * (wrong > 1)} will not work; see above what to do, nothing was spent")


def _checks(params: Params) -> Iterator[Check]:
    # Before any check runs: two threads must not import the same modules.
    misfits = list(unfit(params.edct)) if params.edct else []
    uses = used(params)
    for one in uses:
        yield of_plugin(one, params.calls.offline)
    if params.edct and (prompts := params.edct.prompts):
        yield Check("edct.prompts", lambda: _prompts(prompts))
    if misfits:
        yield Check("edct", lambda: (Diagnostic(False, line) for line in misfits))
    sound = [one for one in uses if one.sound]
    remote = [one for one in sound if one.needs.api]
    yield Check(f"cache {params.calls.cache}", lambda: machine.cache(params.calls, bool(remote)))
    if remote and not params.calls.offline:
        yield Check("prices", lambda: machine.prices(params.calls, remote))
    for folder in {machine.RESULTS: None, Path(params.calls.cache).parent: None}:
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
