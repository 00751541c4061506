"""Make the tables of an unpacked bundle again, by the commands that made them, and compare every byte."""

import contextlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from typer.main import get_command

from cfeval.audit.bundle.contents import TABLE_STAGES, place_of
from cfeval.core.errors import CfevalError, InputError
from cfeval.core.names import load
from cfeval.core.provenance.sidecars import Sidecar
from cfeval.cvqa.verbs import STAGES as CVQA
from cfeval.edct.verbs import STAGES as EDCT
from cfeval.vce.verbs import STAGES as VCE

STAGES = {"edct": EDCT, "vce": VCE, "cvqa": CVQA}


@dataclass(frozen=True)
class Made:
    """A job that made tables: its provenance record, and the files that it names as its outputs."""

    record: Sidecar
    outputs: tuple[str, ...]


def makes_tables(record: Sidecar) -> bool:
    """Whether a job's stage makes tables from records or from other tables."""
    return record.plan.stage.partition(".")[2] in TABLE_STAGES


def lacking(record: Sidecar, there: Mapping[str, str]) -> str:
    """The first input that a table rests on and that was left out of the bundle; empty where there is none.

    Args:
        record: of the table's job.
        there: the files of the bundle that are as they were, their hashes by path.
    """
    return next((path for path in sorted(record.inputs) if path not in there), "")


def differences(made: Made, folder: Path, scratch: Path) -> Iterator[str]:
    """What is wrong with each table that a job made: empty where it comes out the same again.

    Args:
        made: the job.
        folder: the unpacked bundle.
        scratch: where the table is made, a folder outside the bundle.

    Raises:
        InputError: the job's command is none that makes a table.
    """
    words = _words(made.record, scratch)
    try:
        _run(words, folder)
    except CfevalError as error:
        yield f"{made.outputs[0]}: cannot be made again ({error})"
        return
    for path in made.outputs:
        again = scratch / path
        same = again.is_file() and again.read_bytes() == (folder / path).read_bytes()
        yield "" if same else f"{path}: comes out different when it is made again from what it rests on"


def _words(record: Sidecar, scratch: Path) -> list[str]:
    """The words of a job's command, with files where the bundle has them and its output elsewhere."""
    study, stage, *words = record.plan.command
    if f"{study}.{stage}" != record.plan.stage or stage not in TABLE_STAGES or stage not in STAGES.get(study, {}):
        raise InputError(f"{record.plan.stage}: no stage that makes a table; the bundle is not one of cfeval's")
    for name, sha256 in record.plan.files.items():
        if sha256 and (place := place_of(name, sha256)) != name:
            words = [word.replace(name, place) for word in words]
    if "--out" not in words[:-1]:
        raise InputError(f"{record.plan.stage}: its command names no output; the bundle is not one of cfeval's")
    at = words.index("--out") + 1
    words[at] = str(scratch / words[at])
    return [study, stage, *words]


def _run(words: Sequence[str], folder: Path) -> None:
    """Run the command of a stage in a folder, in this process and silently; CfevalError where it refuses."""
    study, stage, *rest = words
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(load(STAGES[study][stage]))
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            get_command(app).main(args=list(rest), prog_name="cfeval", standalone_mode=False)
    except (SystemExit, typer.Exit) as ended:
        raise InputError(f"it ended with {ended}") from None
    except CfevalError:
        raise
    except Exception as error:  # what a command line of a stranger's makes of it is told, and is no defect of cfeval
        raise InputError(f"{type(error).__name__}: {' '.join(str(error).split())}") from None
    finally:
        os.chdir(before)
