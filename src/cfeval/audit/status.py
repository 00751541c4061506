"""Say which results are not what would be made now, and why."""

from collections import Counter
from typing import Annotated

import typer

from cfeval.audit.plan import Name, Overlays, Studies, whole


def run(
    studies: Studies = None,
    overlay: Overlays = None,
    name: Name = "",
    every: Annotated[bool, typer.Option("--all", help="Name every file, not only the first of each kind.")] = False,
) -> None:
    """Say which results are not what would be made now, and why.

    Ends with status 1 where there are such; nothing is changed.
    """
    study = whole(overlay, name)
    state = study.state(studies)
    stale = state.stale()
    study.planner.remember()
    told: Counter[tuple[str, str]] = Counter()
    for job in state.jobs:
        if job.name in stale:
            why = "not made yet" if stale[job.name].endswith(" is missing") else stale[job.name]
            told[job.stage, why] += 1
            if every or told[job.stage, why] == 1:
                print(f"{job.name}: {why}")
    if not every:
        for (stage, why), number in told.items():
            if number > 1:
                print(f"  and {number - 1} more of {stage}: {why}")
    print(f"{study.root}: {len(state.jobs) - len(stale)} of {len(state.jobs)} jobs are what would be made now")
    raise typer.Exit(int(bool(stale)))
