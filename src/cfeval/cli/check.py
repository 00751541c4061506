"""Check params.yaml: every key, every plug-in and its options, before anything runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cfeval.backends import registry
from cfeval.cli.common import PARAMS, ParamsFiles, conversation_prompts
from cfeval.errors import InputError, ParamsError
from cfeval.params.cvqa import FAMILIES as CVQA_FAMILIES
from cfeval.params.edct import FAMILIES
from cfeval.params.study import Params, load, named, parse
from cfeval.params.vce import FAMILIES as VCE_FAMILIES
from cfeval.preflight.used import used
from cfeval.world.weights import models_dir

FAMILIES_OF = {"edct": FAMILIES, "vce": VCE_FAMILIES, "cvqa": CVQA_FAMILIES}
"""Which plug-in family each section draws on, by study."""


def run(params: ParamsFiles = None) -> None:
    """Check params.yaml: every key, every plug-in and its options, before anything runs."""
    checked = load_checked(params)
    arms = [f"edct has {len(checked.edct.arms())} arms, {checked.edct.items} items of each data set"]
    if checked.vce:
        arms.append(f"vce has {len(checked.vce.all_arms())} arms, {checked.vce.images} images of each class")
    if checked.cvqa:
        arms.append(
            f"cvqa has {len(checked.cvqa.all_arms())} arms and {len(checked.cvqa.builds_asked())} sets to build"
        )
    print(f"{named(params or [PARAMS])}: fine; {'; '.join(arms)}")


def load_checked(params: Sequence[Path] | None) -> Params:
    """Read parameter files, `params.yaml` where none is named, and check them as `check_params` does."""
    files = params or [PARAMS]
    return check_backends(load(*files), named(files))


def check_params(content: Any, where: str = "params.yaml") -> Params:
    """Check parameters that are in memory, their plug-ins and prompt folder included.

    Raises:
        ParamsError: one line that names the key, the fault and what is allowed.
    """
    return check_backends(parse(content, where), where)


def check_backends(params: Params, where: str) -> Params:
    """Check what the classes of the parameters cannot: plug-ins, their options and files, the prompt folder."""
    protocols = {use.place: use.protocols for use in used(params)}
    for study, families in FAMILIES_OF.items():
        for section, family in families.items():
            for name, spec in getattr(getattr(params, study), section, {}).items():
                place = f"{study}.{section}.{name}"
                _check_backend(family, spec.plugin(), f"{where}: {place}", protocols.get(place, ()))
    if params.edct.prompts:
        _check_prompts(params.edct.prompts, f"{where}: edct.prompts")
    for file in _files_of_people(params):
        if not file.endswith("/") and not Path(file).is_file():  # of folders, plug-ins speak themselves
            raise ParamsError(f"{where}: cvqa: the file {file} is missing; correct the path, or leave it empty")
    return params


def _files_of_people(params: Params) -> list[str]:
    """Labels and decisions that people made."""
    if not params.cvqa:
        return []
    named = [params.cvqa.genders, *(build.decisions for build in params.cvqa.builds.values())]
    return [file for file in named if file]


def _check_prompts(folder: str, place: str) -> None:
    if not Path(folder).is_dir():
        raise ParamsError(f"{place}: no folder {folder}; leave it empty for the package's prompts")
    try:
        conversation_prompts(folder)
    except InputError as error:
        raise ParamsError(f"{place}: {error}; leave it empty for the package's prompts") from None


def _check_backend(family: str, spec: dict[str, Any], place: str, protocols: Sequence[str]) -> None:
    registry.check(family, spec, place)
    for file in registry.dependencies(family, spec, protocols):
        if not file.endswith("/") and not Path(file).is_file():  # of folders, plug-ins speak themselves
            shipped = Path(file).resolve().parent == models_dir()
            advice = "it is part of cfeval; restore it" if shipped else "correct the path, or put the file there"
            raise ParamsError(f"{place}: the file {file} is missing; {advice}")
