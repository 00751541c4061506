"""The folder of a study, as every command takes it, and where its results lie.

Commands take it as their argument, or else the current folder; those that have other arguments take it from `-C DIR`,
like git and make (cfeval/cli.py). Results of params.yaml lie in `results`, those of other parameters in a folder of
their own: a quick look with fewer items never overwrites results that were verified.
"""

import difflib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.core import process
from cfeval.core.errors import InputError, ParamsError, nearest
from cfeval.core.package import carried

RESULTS = "results"
# The parameter file where none is named; that of a named study is in its folder of results.
PARAMS = Path("params.yaml")
# Names of folders below `results`, or once there, and words that `cfeval diff` has for others.
_TAKEN = ("edct", "vce", "cvqa", "try", "tables", "figures", "report", "default", "workspace")
# Sections on which no result depends.
_NO_MATTER = ("name", "calls", "limits", "container")


def root_of(base: Any, merged: Any, overlays: Sequence[Path]) -> str:
    """The folder of results of some parameters.

    Args:
        base: what params.yaml says, unchecked.
        merged: the same with overlays and `--config` laid over.
        overlays: the files that were laid over; the last gives the name where they give none of their own.

    Raises:
        ParamsError: the parameters are not those of params.yaml, and nobody gave them a name; or the name is taken.
    """
    own = base.get("name") if isinstance(base, Mapping) else None
    named = merged.get("name")
    same = _matter(base) == _matter(merged)
    name = named if same or named != own else _stem(overlays)
    if name in _TAKEN:
        raise ParamsError(f"name: '{name}' is the name of a folder in {RESULTS}; take another")
    return f"{RESULTS}/{name}" if name else RESULTS


def _stem(overlays: Sequence[Path]) -> str:
    if not overlays:
        raise ParamsError(
            "these are not the parameters of params.yaml, whose results would be overwritten; give them a name: "
            "snakemake --config name=NAME …, and they lie in results/NAME"
        )
    return overlays[-1].stem


def _matter(content: Any) -> dict[str, Any]:
    sections = content if isinstance(content, Mapping) else {}
    return {key: value for key, value in sections.items() if key not in _NO_MATTER}


def quoted(path: str | Path) -> str:
    """A file or folder as a shell takes it; one that begins with a dash gets `./` before it, as it is no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def cfeval(command: str, folder: str | Path = "") -> str:
    """A `cfeval` command about a study's folder; of the current folder nothing is said."""
    return f"cfeval {command}" if Path(folder) == Path() else f"cfeval {command} {quoted(folder)}"


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
    process.read_keys()


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
    close = difflib.get_close_matches(folder.name, [study.name for study in _studies_in(folder.parent)], 1, 0.6)
    return f"did you mean {quoted(folder.parent / close[0])}?" if close else ""


def _studies_in(folder: Path) -> list[Path]:
    return sorted(file.parent for file in folder.glob(f"[!.]*/{PARAMS}"))
