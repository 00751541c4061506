"""Run one job of the workflow: what the rules call, and what a person calls to make one file by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.provenance import loading

loading.record()

from cfeval.core.errors import InputError, nearest  # noqa: E402 (what is loaded from here on is recorded)
from cfeval.core.progress import begin_job  # noqa: E402
from cfeval.core.provenance.frozen import Planned, thaw  # noqa: E402
from cfeval.core.provenance.making import make  # noqa: E402
from cfeval.core.provenance.plans import plan_hash  # noqa: E402


def run(
    output: Annotated[str, typer.Argument(help="The job's first output, or a storage provider's copy of it.")],
    params: Annotated[
        list[Path] | None,
        typer.Option("--params", help="By hand: the parameter file; several are merged in order, as by --configfile."),
    ] = None,
) -> None:
    """Run one job of the workflow: what the rules call; or by hand, with --params, any job whose inputs are there.

    What a job runs, without a plan: `cfeval stage edct …`, `cfeval stage vce …`, `cfeval stage cvqa …`.

    The job's command comes from the plan of the run that started it, or by hand from the parameters. Where the output
    is what the job would make, nothing is done; else its provenance record says afterwards what it was made
    from.
    """
    from cfeval import cli as main

    planned, place = (by_hand(output, params), "") if params else thaw().named(output)
    begin_job(planned.job.stage, planned.job.name)
    raise typer.Exit(make(planned, lambda words: main.run(["stage", *words]), place))


def by_hand(output: str, files: Sequence[Path]) -> Planned:
    """The job that makes a file, planned from parameter files as a run of the workflow plans it.

    Raises:
        ParamsError: the parameters cannot be used.
        InputError: a run is at work in this folder; no job makes the file; or something that the job rests on is
            missing or stale.
    """
    from cfeval.audit.plan import whole_of
    from cfeval.core import run_locks
    from cfeval.core.jobs import behind
    from cfeval.core.provenance.state import State
    from cfeval.inference.remote import settings

    if process := run_locks.runner(Path()):
        raise InputError(f"process {process} is at work in this folder; wait for it, or work in a copy")
    study = whole_of(files)
    jobs = study.jobs()
    makers = {path: job for job in jobs for path in job.made_files}
    if output not in makers:
        raise InputError(f"{output}: no job of {' + '.join(map(str, files))} makes it; {nearest(output, makers)}")
    job, state = makers[output], State(jobs, study.planner)
    for parent in behind(job, jobs):
        if reason := state.reason(parent):
            what = "" if reason.startswith(parent.name) else f"{parent.name}: "
            raise InputError(f"{output} rests on another file: {what}{reason}; make that first, with the same --params")
    settings.use(study.params.calls)
    planned = Planned(job, plan_hash(study.planner.plan(job)))
    study.planner.remember()
    return planned
