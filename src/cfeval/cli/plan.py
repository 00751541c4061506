"""Write what every study would be made from now, in short, for DVC to see what changed."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.planning import Whole, whole
from cfeval.io.atomic import write_text
from cfeval.jobs import STUDIES
from cfeval.provenance.state import plan_of_all


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
