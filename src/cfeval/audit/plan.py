"""A study as a whole: its parameters, folder of results and jobs; and what it would be made from now, for DVC."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.audit.components import check_plugins
from cfeval.config import Params, merged, named, parse, read
from cfeval.core.errors import InputError, nearest
from cfeval.core.files import write_text
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.plans import Planner
from cfeval.core.provenance.state import State, plan_of_all
from cfeval.core.roots import PARAMS, root_of
from cfeval.jobs import STUDIES, jobs

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
    return whole_of([PARAMS, *(overlays or ())], name)


def whole_of(files: Sequence[Path], name: str = "") -> Whole:
    """The study of some parameter files, each laid over those before it.

    Its results lie in `results` where the parameters are those of params.yaml in this folder; see `roots.root_of`.

    Raises:
        ParamsError: the parameters cannot be used, or there is no params.yaml.
    """
    content: Any = read(files[0])
    for file in files[1:]:
        content = merged(content, read(file, overlay=True) or {})
    if name:
        content = merged(content, {"name": name})
    where, overlays = named(files), [file for file in files if file != PARAMS]
    return Whole(check_plugins(parse(content, where), where), root_of(read(PARAMS), content, overlays))


def run(
    out: Annotated[Path, typer.Option(help="The folder to write to: a file a study.")] = Path(".cfeval/plans"),
    overlay: Annotated[
        list[Path] | None, typer.Option("--overlay", help="Parameters of a further study, laid over params.yaml.")
    ] = None,
) -> None:
    """Write what every study would be made from now, in short, for DVC to see what changed.

    `STUDY.json` for each study of params.yaml, `NAME.json` for each overlay (of its edct). A file that would stay the
    same is not touched.
    """
    study = whole()
    for name in STUDIES:
        _write(out / f"{name}.json", text_of(study, name))
    study.planner.remember()
    for file in overlay or ():
        other = whole([file])
        _write(out / f"{Path(other.root).name}.json", text_of(other, "edct"))
        other.planner.remember()


def text_of(study: Whole, name: str) -> str:
    """A hash a stage."""
    return json.dumps(plan_of_all(study.jobs([name]), study.planner), indent=1) + "\n"


def _write(file: Path, text: str) -> None:
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        write_text(file, text)
