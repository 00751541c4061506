"""`cfeval status`: list outdated results and explain why."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.folder import Evaluations, Folder, Name, ParamsFiles, study_in
from cfeval.study.whole import outdated, up_to_date, whole


def run(
    folder: Folder = Path(),
    evaluation: Evaluations = None,
    params: ParamsFiles = None,
    name: Name = "",
    every: Annotated[bool, typer.Option("--all", help="List every result, not only the first of each kind.")] = False,
) -> None:
    """List outdated results and explain why.

    The exit status is 1 if there are any. Nothing is changed.
    """
    with study_in(folder, params) as files:
        study = whole(files, name)
        jobs = study.jobs(evaluation)
    wrong = outdated(jobs)
    shown: Counter[tuple[str, str]] = Counter()
    for job in jobs:
        if why := wrong.get(job.name):
            kind = job.rule, job.reason or "made from other outdated results"
            shown[kind] += 1
            if every or shown[kind] == 1:
                print(f"{job.name}: {why}")
    if not every:
        for (rule, why), number in shown.items():
            if number > 1:
                print(f"  and {number - 1} more of {rule}: {why}")
    print(up_to_date(study.root, len(wrong), len(jobs)))
    raise typer.Exit(int(bool(wrong)))
