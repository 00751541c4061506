"""Check, before DVC hashes anything, that every file of a study is what would be made now."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.audit.plan import Name, Overlays, Studies, Whole, text_of, whole
from cfeval.audit.unscored import unscored
from cfeval.core.errors import InputError
from cfeval.core.provenance.state import remove
from cfeval.jobs import folders

_SHOWN = 10


def run(
    studies: Studies = None,
    overlay: Overlays = None,
    name: Name = "",
    plan: Annotated[
        Path | None, typer.Option(help="What `cfeval plan` wrote when DVC began; nothing may have changed since.")
    ] = None,
) -> None:
    """Check, before DVC hashes anything, that every file of a study is what would be made now.

    From the tables back to the items: each output is the one its job made, each input the output of another such
    job, each job's parameters, code, prompts, data and packages those of now. Files of former jobs are removed where
    their provenance records prove them to be such, and unchanged; files of anybody else are named and stay. Ends with
    status 2 where something is stale: nothing gets a hash then.
    """
    study = whole(overlay, name)
    names = studies or [one for one in ("edct", "vce", "cvqa") if study.jobs([one])]
    for one in names:
        _seal(study, one)
    if plan is not None:
        for one in names:
            if not plan.is_file() or plan.read_text(encoding="utf-8") != text_of(study, one):
                raise InputError(f"{plan}: parameters, code or files changed while DVC ran; run it again")
    study.planner.remember()


def _seal(study: Whole, name: str) -> None:
    folder = f"{study.root}/{name}"
    state = study.state([name])
    found = state.seal(folder)
    for path in found.foreign:
        print(f"{path}: nobody here made it, or it was changed since; left alone")
    if found.wrong:
        for path, why in list(found.wrong.items())[:_SHOWN]:
            print(f"stale: {path}: {why}")
        raise InputError(
            f"{folder}: {len(found.wrong)} of {len(state.jobs)} jobs are not what would be made now; run snakemake"
        )
    for line in unscored(state.jobs):
        raise InputError(line)
    remove(found.former)
    for one in folders(name):  # DVC wants each, one without a file too
        Path(folder, one).mkdir(parents=True, exist_ok=True)
    for path in found.former:
        print(f"{path}: of a former study, removed")
    print(f"{folder}: sealed, {len(state.jobs)} jobs are what would be made now")
