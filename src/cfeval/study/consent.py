"""Before a run: say what is left to do, check what that needs, say what it costs, ask, and try the models."""

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from cfeval.config import named
from cfeval.core.errors import InputError
from cfeval.core.registry import Used
from cfeval.inference.remote.prices import load_prices
from cfeval.study.components import used
from cfeval.study.doctor import diagnose_all, probe_all, refuse_faults
from cfeval.study.estimate import cost
from cfeval.study.needed import needed, stored
from cfeval.study.probe import Probe, announcement, probes
from cfeval.study.recipients import recipient_lines
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
    asked = _asked([plugin for plugin in hosted if plugin.place not in in_cache], study) if probe else []
    _agree(yes)
    refuse_faults(probe_all(params, asked, named(files), seed=0), spent=bool(asked))


def _asked(hosted: Sequence[Used], study: Whole) -> list[Probe]:
    """The models that are tried before the run; prints which."""
    prices = load_prices(study.params.calls.prices)
    cheap = [probe for probe in probes(hosted) if probe.is_cheap(prices)]
    if cheap:
        print(announcement(cheap, prices), flush=True)
    return cheap


def _agree(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(
            "the calls of this run may cost money, and there is no terminal to ask on; confirm with --yes, or let the "
            "stored replies answer alone with --offline"
        )
    if not typer.confirm("Run the study?"):
        raise InputError("cancelled: nothing was run and nothing was spent")
