"""The folder of a study: its keys and its parameters."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core import environment
from cfeval.core.errors import InputError
from cfeval.core.package import carried
from cfeval.core.roots import PARAMS

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="The study's folder.")]


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a study's folder, with the keys of its `.env`; InputError where it is no study."""
    if not (folder / PARAMS).is_file():
        raise InputError(f"{folder / PARAMS}: no such parameter file; `cfeval init {folder}` makes a study")
    before = Path.cwd()
    os.chdir(folder)
    try:
        environment.read_keys()
        yield
    finally:
        os.chdir(before)


def overlay_file(name: str) -> Path:
    """A parameter file that is laid over: one of the user's, or by its bare name one that comes with cfeval.

    Raises:
        InputError: neither is there.
    """
    own, brought = Path(name), carried("workflow") / "params" / f"{name}.yaml"
    if own.is_file():
        return own
    if brought.is_file():
        return brought
    known = ", ".join(sorted(file.stem for file in brought.parent.glob("*.yaml")))
    raise InputError(f"{name}: no such file, and no overlay of that name comes with cfeval; those that do: {known}")
