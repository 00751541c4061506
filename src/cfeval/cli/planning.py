"""What the verbs share that look at a study as a whole: its parameters, where its results lie, its jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.cli.check import check_backends
from cfeval.cli.common import PARAMS
from cfeval.errors import InputError, nearest
from cfeval.jobs import STUDIES, jobs
from cfeval.params.roots import root_of
from cfeval.params.study import Params, merged, named, parse, read
from cfeval.provenance.jobs import Job
from cfeval.provenance.plans import Planner
from cfeval.provenance.state import State

Overlays = Annotated[
    list[Path] | None,
    typer.Option("--overlay", help="Parameters laid over params.yaml, as by --configfile; may be repeated."),
]
Name = Annotated[str, typer.Option("--name", help="The study's name, as by --config name=NAME.")]
Studies = Annotated[list[str] | None, typer.Argument(help="Which studies: edct, vce, cvqa; empty: all.")]


@dataclass(frozen=True)
class Whole:
    """A study's parameters, and the folder of results that they are for."""

    params: Params
    root: str

    def jobs(self, studies: Sequence[str] | None = None) -> list[Job]:
        """The jobs of some studies, parents first; of all where none is named."""
        wanted = list(studies or STUDIES)
        for study in wanted:
            if study not in STUDIES:
                raise InputError(f"unknown study '{study}'; {nearest(study, STUDIES)}")
        return [job for study in wanted for job in jobs(self.params, self.root, study)]

    @cached_property
    def planner(self) -> Planner:
        """Plans of the jobs from what is on disk now."""
        return Planner()

    def state(self, studies: Sequence[str] | None = None) -> State:
        """The jobs of some studies, and the files that lie there now."""
        return State(self.jobs(studies), self.planner)


def whole(overlays: Sequence[Path] | None = None, name: str = "") -> Whole:
    """The study of params.yaml in this folder, with others laid over; ParamsError where it cannot be used."""
    base = read(PARAMS)
    content: Any = base
    for file in overlays or ():
        content = merged(content, read(file) or {})
    if name:
        content = merged(content, {"name": name})
    where = named([PARAMS, *(overlays or ())])
    return Whole(check_backends(parse(content, where), where), root_of(base, content, overlays or ()))
