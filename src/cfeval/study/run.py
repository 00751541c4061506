"""Run a study: check it, estimate its cost, ask, run the workflow that comes with cfeval, and summarize the results."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.errors import InputError, StoppedError
from cfeval.core.folder import Folder, Name, ParamsFiles, study_in
from cfeval.core.process import is_ignored, silence_terminal
from cfeval.core.progress import FAILURES, REPORTS
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.sessions import SIGNALS
from cfeval.inference.remote.settings import Offline
from cfeval.study.consent import ask_before_money
from cfeval.study.schema import keep_schema
from cfeval.study.summary import only_json_on_stdout, outcomes, report_of, summary
from cfeval.study.unscored import missing, unscored
from cfeval.study.whole import Job, Whole, command, shown, snakemake, whole

# Conditions whose figures are printed at the end, where a table shows the rest; failed jobs that are.
_CONDITIONS, _FAILURES = 12, 3


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
        args = snakemake(cores, overlays, name, list(more or ()))
        if show:
            print(shown(args, Path()))
            return
        study = whole(files, name)
        keep_schema(Path())
        jobs = study.jobs()
        ask_before_money(study, jobs, files, yes, probe)
        ending = Ending(study, jobs, folder)
        status = _run_snakemake(args)
        if status:
            print("\n".join(ending.failed()), file=sys.stderr)
            raise typer.Exit(status)
        _conclude(study, jobs, folder, ending)
        content = summary(study.params, study.root, folder) if as_json else {}
    if as_json:
        print(json.dumps(content, ensure_ascii=False))


def _run_snakemake(args: Sequence[str]) -> int:
    """Run Snakemake to its end; its exit status. Ctrl-C and a closed terminal go to it too, and it ends in order.

    Raises:
        StoppedError: a signal has ended it.
    """
    process = subprocess.Popen(command(args), env={**os.environ, "PYTHONSAFEPATH": "1"})
    received: list[int] = []

    def forward(number: int, _frame: object) -> None:
        received.append(number)
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
    if received:
        raise StoppedError(received[0])
    return status


def _conclude(study: Whole, jobs: Sequence[Job], folder: Path, ending: "Ending") -> None:
    """Print what came of the run, and where the report is; InputError where nothing was scored."""
    if empty := unscored(jobs):
        print("\n".join(ending.incomplete()))
        raise InputError("; ".join(empty))
    lines = outcomes(study.params, study.root)
    more = [f"and {len(lines) - _CONDITIONS} more conditions"] if len(lines) > _CONDITIONS else []
    for line in [*lines[:_CONDITIONS], *more, *ending.incomplete()]:
        print(line)
    print(f"report: {folder / report_of(study.params, study.root)}")


class Ending:
    """The last lines of a run, which depend on what was there when it began.

    Args:
        study: the study.
        jobs: all of it.
        folder: the study's, as it is seen from where the command was typed.
    """

    def __init__(self, study: Whole, jobs: Sequence[Job], folder: Path) -> None:
        self._study, self._jobs, self._folder = study, jobs, folder
        with self._cache() as cache:
            self._first = cache.last_sent() if cache else 0
        (REPORTS / FAILURES).unlink(missing_ok=True)

    @contextmanager
    def _cache(self) -> Iterator[ResponseCache | None]:
        """The study's response cache; None where there is none."""
        file = Path(self._study.params.calls.cache)
        with closing(ResponseCache(file)) if file.is_file() else nullcontext() as cache:
            yield cache

    def failed(self) -> Iterator[str]:
        """Why the workflow has failed: the jobs, else the items without a score."""
        file = REPORTS / FAILURES
        failures = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []
        for failure in failures[:_FAILURES]:
            yield f"Failed: {failure['title']}"
            yield f"  {failure['why']}"
            if not failure["why"].startswith("cfeval: "):
                yield "  This may be a defect of cfeval: please report it with the log"
            yield from (f"  log: {log}" for log in failure["logs"])
        if len(failures) > _FAILURES:
            yield f"and {len(failures) - _FAILURES} more; see the folder logs"
        unexplained = [] if failures else list(self.incomplete())
        yield from unexplained
        yield from self.slow() if failures else ()
        if not failures and not unexplained:
            yield "The workflow has failed; the lines above say why"
        yield "Finished results and all replies are kept: correct the cause, then run the same command again"

    def incomplete(self) -> Iterator[str]:
        """Why items have no score, and which calls were too slow."""
        yield from missing(self._jobs, self._study.root, self._folder)
        yield from self.slow()

    def slow(self) -> Iterator[str]:
        """What to raise where calls of this run got no reply in time."""
        calls = self._study.params.calls
        with self._cache() as cache:
            attempts = cache.sent_since(self._first) if cache else None
        if attempts and attempts.timed_out:
            late = "1 call" if attempts.timed_out == 1 else f"{attempts.timed_out} calls"
            yield (
                f"{late} timed out after {calls.timeout:g} s, "
                f"{attempts.sent_again} sent again; if the server is only slow, raise calls.timeout in params.yaml, or "
                "lower calls.max_connections"
            )
