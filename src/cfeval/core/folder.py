"""The folder of a study, as every command takes it: as its argument, or else the current folder.

Commands that have other arguments are told by `-C DIR`, as git and make are (cfeval/cli.py).
"""

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core import environment
from cfeval.core.errors import InputError, nearest
from cfeval.core.package import carried
from cfeval.core.roots import PARAMS
from cfeval.core.shell import cfeval, quoted

EVALUATIONS = ("edct", "vce", "cvqa")
Folder = Annotated[
    Path, typer.Argument(metavar="DIR", show_default=False, help="The study's folder; default: the current folder.")
]
ParamsFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--params",
        metavar="FILE",
        help="Parameters laid over params.yaml: a file, or the name of one that comes with cfeval; may be repeated.",
    ),
]
Name = Annotated[
    str, typer.Option("--name", metavar="NAME", help="Name of the run with other parameters: results/NAME.")
]
Evaluations = Annotated[
    list[str] | None,
    typer.Option("--evaluation", metavar="NAME", help="Only edct, vce or cvqa; may be repeated. Default: all."),
]


@contextmanager
def study_in(folder: Path, params: Sequence[str] | None = None) -> Iterator[list[Path]]:
    """Work in a study's folder, with the keys of its `.env`; yields its parameter files, params.yaml first.

    Args:
        folder: the study's folder.
        params: files laid over params.yaml, as seen from the current folder, or names of those that come with cfeval.

    Raises:
        InputError: the folder holds no study, or a file is missing.
    """
    _refuse_no_study(folder)
    files = [PARAMS, *(file for name in params or () if (file := overlay_file(name, folder)) != PARAMS)]
    before = Path.cwd()
    try:
        enter(folder)
        yield files
    finally:
        os.chdir(before)


def enter(folder: str | Path) -> None:
    """Go into a folder, with the keys of its `.env`; InputError where there is none."""
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: no such folder; {near(Path(folder)) or 'give one that exists'}")
    os.chdir(folder)
    environment.read_keys()


def overlay_file(name: str, folder: Path = Path()) -> Path:
    """A parameter file as seen from a study's folder: one of the user's, or by its bare name one of cfeval's.

    Raises:
        InputError: neither exists.
    """
    own, brought = Path(name), carried("workflow") / "params" / f"{name}.yaml"
    if own.is_file():
        inside = os.path.relpath(own.resolve(), folder.resolve())
        return own.absolute() if inside.startswith(os.pardir) else Path(inside)
    if brought.is_file():
        return brought
    if (folder / own).is_file():
        raise InputError(f"--params {name}: no such file; did you mean {quoted(folder / own)}?")
    names = (file.stem for file in brought.parent.glob("*.yaml"))
    raise InputError(f"--params {name}: no such file, and none of cfeval's has that name; {nearest(name, names)}")


def check_evaluations(names: Sequence[str] | None) -> None:
    """Refuse names that are no evaluations (InputError)."""
    for name in names or ():
        if name not in EVALUATIONS:
            raise InputError(f"--evaluation: unknown evaluation '{name}'; {nearest(name, EVALUATIONS)}")


def _refuse_no_study(folder: Path) -> None:
    """Refuse a folder without params.yaml, naming the study that was probably meant (InputError)."""
    if (folder / PARAMS).is_file():
        return
    if folder.name in EVALUATIONS and not folder.exists():
        raise InputError(f"{folder}: no such folder; to choose an evaluation, write --evaluation {folder}")
    if folder.is_file():
        raise InputError(f"{folder} is a file; give the study's folder: {quoted(folder.parent)}")
    new = f"`{cfeval('init', folder)}` makes a study"
    if not folder.exists():
        raise InputError(f"{folder}: no such folder; {near(folder) or new}")
    studies = [quoted(study) for study in _studies_in(folder)[:3]]
    hint = f"did you mean {' or '.join(studies)}?" if studies else new
    raise InputError(f"{'this folder' if folder == Path() else folder} has no {PARAMS}; {hint}")


def near(folder: Path) -> str:
    """The study beside a missing folder whose name is nearest, as a question; empty where there is none."""
    close = difflib.get_close_matches(folder.name, [one.name for one in _studies_in(folder.parent)], 1, 0.6)
    return f"did you mean {quoted(folder.parent / close[0])}?" if close else ""


def _studies_in(folder: Path) -> list[Path]:
    """The studies that lie in a folder."""
    return sorted(file.parent for file in folder.glob(f"[!.]*/{PARAMS}"))
