"""Before a run: say what is left to do, check what that needs, say what it costs, ask, and try the models."""

import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import typer

from cfeval.config import named
from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_lines
from cfeval.core.registry import Used
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.prices import load_prices
from cfeval.study.components import recipient_lines, used
from cfeval.study.doctor import diagnose_all, probe_all, refuse_faults
from cfeval.study.estimate import cost
from cfeval.study.probe import Probe, announcement, probes
from cfeval.study.whole import Job, Whole, outdated, up_to_date


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
    """The jobs that name a plugin; all of its evaluation, where none does."""
    of_evaluation = [job for job in jobs if job.study == plugin.study]
    spec = json.loads(json.dumps(plugin.spec))
    return [job for job in of_evaluation if spec in _specs(job.words)] or of_evaluation


def _specs(args: Sequence[str]) -> list[Any]:
    """The specifications of plugins in the arguments of a command, those inside others too."""
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
