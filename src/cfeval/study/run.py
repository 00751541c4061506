"""Run a study: check it, estimate its cost, ask, run the workflow that comes with cfeval, and summarize the results."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.config import named
from cfeval.core import registry
from cfeval.core.errors import InputError, StoppedError
from cfeval.core.folder import Folder, Name, ParamsFiles, study_in
from cfeval.core.jsonl import read_lines
from cfeval.core.process import is_ignored, silence_terminal
from cfeval.core.progress import FAILURES, REPORTS
from cfeval.core.registry import Used
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.prices import load_prices
from cfeval.inference.remote.sessions import SIGNALS
from cfeval.inference.remote.settings import Offline
from cfeval.study.components import recipient_lines, used
from cfeval.study.doctor import diagnose_all, probe_all, refuse_faults
from cfeval.study.estimate import cost
from cfeval.study.outcomes import missing, unscored
from cfeval.study.probe import Probe, announcement, probes
from cfeval.study.schema import keep_schema
from cfeval.study.summary import only_json_on_stdout, outcomes, report_of, summary
from cfeval.study.whole import Job, Whole, command, outdated, shown, snakemake, up_to_date, whole

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


def ask_before_money(study: Whole, jobs: Sequence[Job], files: Sequence[Path], yes: bool, probe: bool) -> None:
    """Check what outdated jobs need; where models outside are among it, say the cost, ask, and try each of them.

    Raises:
        InputError: something will not work; or there is something to pay, no `--yes`, and nobody to ask.
    """
    outdated_jobs = outdated(jobs)
    print(up_to_date(study.root, len(outdated_jobs), len(jobs)), flush=True)
    if not outdated_jobs:
        return
    params = study.params
    uses = needed(used(params), jobs, outdated_jobs)
    hosted = [plugin for plugin in uses if plugin.resources.api]
    in_cache = set() if params.calls.offline else stored(hosted, jobs, outdated_jobs, Path(params.calls.cache))
    for line in recipient_lines(params, uses):
        print(line, flush=True)
    refuse_faults(diagnose_all(params, uses, stored=in_cache), spent=False)
    if not hosted:
        return
    bill = cost(params, named(files))
    for line in bill.lines:
        print(line)
    if not bill.calls or params.calls.offline:
        return
    cheap: list[Probe] = []
    if probe:
        prices = load_prices(params.calls.prices)
        uncached = [plugin for plugin in hosted if plugin.place not in in_cache]
        cheap = [request for request in probes(uncached) if request.is_cheap(prices)]
        if cheap:
            print(announcement(cheap, prices), flush=True)
    if not yes and not sys.stdin.isatty():
        raise InputError(
            "the calls of this run may cost money, and there is no terminal to ask on; confirm with --yes, or let the "
            "stored replies answer alone with --offline"
        )
    if not yes and not typer.confirm("Run the study?"):
        raise InputError("cancelled: nothing was run and nothing was spent")
    refuse_faults(probe_all(params, cheap, named(files), seed=0), spent=bool(cheap))


def needed(uses: Iterable[Used], jobs: Sequence[Job], outdated: Collection[str]) -> list[Used]:
    """The plugins that an outdated job names.

    Args:
        uses: all of the study.
        jobs: all of the study.
        outdated: the first outputs of those that have to run.
    """
    return [plugin for plugin in uses if any(job.name in outdated for job in _jobs_of(plugin, jobs))]


def stored(uses: Iterable[Used], jobs: Sequence[Job], outdated: Collection[str], cache: Path) -> set[str]:
    """The places of plugins whose calls seem to be in the cache, so that nothing need be asked of their models now.

    That is so where everything that their jobs read is there, and the cache has a reply of each model for each of these
    items at least. A call that is missing after all is sent, or ends the run with its own line.
    """
    if not cache.is_file():
        return set()
    with closing(ResponseCache(cache)) as opened:
        replies = {model: final for model, (final, _) in opened.counts().items()}
    return {plugin.place for plugin in uses if _is_stored(plugin, jobs, outdated, replies)}


def _is_stored(plugin: Used, jobs: Sequence[Job], outdated: Collection[str], replies: dict[str, int]) -> bool:
    models = {recipient.model for recipient in registry.recipients(plugin.family, plugin.spec, plugin.protocols)}
    to_run = [job for job in _jobs_of(plugin, jobs) if job.name in outdated]
    if not models or any(path in outdated or not Path(path).exists() for job in to_run for path in job.inputs):
        return False
    items = sum(_least_items(job) for job in to_run)
    return all(replies.get(model, 0) >= max(1, items) for model in models)


def _least_items(job: Job) -> int:
    """The items that a job has to do with at least: those that have not ended, of the input that has fewest."""
    counts = []
    for path in map(Path, job.inputs):
        if path.is_dir() or path.suffix == ".jsonl":
            files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
            rows = (json.loads(line) for file in files for line in read_lines(file) if line.strip())
            counts.append(sum(row.get("status", "ok") == "ok" for row in rows))
    return min(counts, default=0)


def _jobs_of(plugin: Used, jobs: Sequence[Job]) -> list[Job]:
    of_evaluation = [job for job in jobs if job.study == plugin.study]
    spec = json.loads(json.dumps(plugin.spec))
    return [job for job in of_evaluation if spec in _specs(job.words)] or of_evaluation


def _specs(args: Sequence[str]) -> list[Any]:
    specs: list[Any] = []
    for arg in args:
        if match := re.match(r"(?:--[^{\[]*=)?([{\[].*)", arg, re.DOTALL):
            with suppress(ValueError):  # a pattern, such as {protocol}.jsonl
                specs += _inside(json.loads(match[1]))
    return specs


def _inside(content: Any) -> Iterator[Any]:
    if isinstance(content, dict):
        if "plugin" in content:
            yield content
        content = list(content.values())
    if isinstance(content, list):
        for part in content:
            yield from _inside(part)
