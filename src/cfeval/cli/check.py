"""Check params.yaml: every key, every plug-in and its options, before anything runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.backends import registry
from cfeval.cli.common import conversation_prompts
from cfeval.errors import InputError, ParamsError
from cfeval.params import FAMILIES, Params, load, parse


def run(params: Annotated[Path, typer.Option(help="The parameter file.")] = Path("params.yaml")) -> None:
    """Check params.yaml: every key, every plug-in and its options, before anything runs."""
    checked = check_backends(load(params), str(params))
    print(f"{params}: fine; {len(checked.edct.arms())} arms, {checked.edct.items} items of each data set")


def check_params(content: Any, where: str = "params.yaml") -> Params:
    """Check parameters that are in memory, their plug-ins and prompt folder included.

    Raises:
        ParamsError: one line that names the key, the fault and what is allowed.
    """
    return check_backends(parse(content, where), where)


def check_backends(params: Params, where: str) -> Params:
    """Check what the classes of the parameters cannot: plug-ins, their options and files, the prompt folder."""
    for section, family in FAMILIES.items():
        for name, spec in getattr(params.edct, section).items():
            _check_backend(family, spec.model_dump(), f"{where}: edct.{section}.{name}")
    if params.edct.prompts:
        _check_prompts(params.edct.prompts, f"{where}: edct.prompts")
    return params


def _check_prompts(folder: str, place: str) -> None:
    if not Path(folder).is_dir():
        raise ParamsError(f"{place}: no folder {folder}; leave it empty for the package's prompts")
    try:
        conversation_prompts(folder)
    except InputError as error:
        raise ParamsError(f"{place}: {error}; leave it empty for the package's prompts") from None


def _check_backend(family: str, spec: dict[str, Any], place: str) -> None:
    registry.check(family, spec, place)
    for file in registry.depends_on(family, spec):
        if not Path(file).is_file():
            raise ParamsError(
                f"{place}: the file {file} is missing; correct the path, or put the file there "
                "(the built-in models come with the repository, in data/models)"
            )
