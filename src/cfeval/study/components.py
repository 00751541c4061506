"""The plugins that the studies' conditions use, and whether all that they need is there."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cfeval.config import Params, parse
from cfeval.core import registry
from cfeval.core.errors import InputError, ParamsError, PluginError
from cfeval.core.registry import Used
from cfeval.cvqa.config import FAMILIES as CVQA_FAMILIES
from cfeval.cvqa.config import used_by_cvqa
from cfeval.edct.config import FAMILIES, used_by_edct
from cfeval.edct.files import Wording, conversation_prompts
from cfeval.study.fits import unfit, unknown_classes
from cfeval.vce.config import FAMILIES as VCE_FAMILIES
from cfeval.vce.config import used_by_vce

FAMILIES_OF = {"edct": FAMILIES, "vce": VCE_FAMILIES, "cvqa": CVQA_FAMILIES}
"""Which plugin family each section draws on, by study."""


def used(params: Params) -> list[Used]:
    """The plugins that the studies use, in the order of params.yaml."""
    found = used_by_edct(params.edct) if params.edct else []
    found += used_by_vce(params.vce) if params.vce else []
    return found + (used_by_cvqa(params.cvqa) if params.cvqa else [])


def missing_files(family: str, spec: Mapping[str, Any], protocols: Collection[str]) -> Iterator[str]:
    """What to say of each file that a plugin needs and that is not there, in its plugin's own words if it has any."""
    for file in registry.dependencies(family, spec, protocols):
        if not file.endswith("/") and not Path(file).is_file():  # of folders, plugins speak themselves
            fault = f"the file {file} is missing; "
            own = (text for text in _faults(family, spec, protocols) if text.startswith(fault))
            yield next(own, f"{fault}correct the path, or put the file there")


def _faults(family: str, spec: Mapping[str, Any], protocols: Collection[str]) -> list[str]:
    """What a plugin finds wrong while a file of it is missing; where that stops it, what it found before."""
    found = []
    with suppress(Exception):
        for finding in registry.diagnose(family, spec, offline=True, protocols=protocols):
            if not finding.fine:
                found.append(finding.text)
    return found


def check_params(content: Any, where: str = "params.yaml") -> Params:
    """Check parameters that are in memory, their plugins and prompt folder included.

    Raises:
        ParamsError: one line that names the key, the fault and what is allowed.
    """
    return check_plugins(parse(content, where), where)


def check_plugins(params: Params, where: str) -> Params:
    """Check what the classes of the parameters cannot: plugins, their options and files, the prompt folder.

    An evaluation whose packages are not installed is no fault as long as another one can run here: `require_packages`
    refuses it where it is asked for.
    """
    protocols = {use.place: use.protocols for use in used(params)}
    for study, families in FAMILIES_OF.items():
        for section, family in families.items():
            for name, spec in getattr(getattr(params, study), section, {}).items():
                place = f"{study}.{section}.{name}"
                _check_plugin(family, spec.plugin_options(), f"{where}: {place}", protocols.get(place, ()))
    if params.edct and params.edct.prompts:
        for wording in dict.fromkeys(target.wording for target in params.edct.vlms.values()):
            _check_prompts(params.edct.prompts, wording, f"{where}: edct.prompts")
    for fault in unfit(params.edct) if params.edct else ():
        raise ParamsError(f"{where}: {fault}")
    for fault in unknown_classes(params.vce) if params.vce else ():
        raise ParamsError(f"{where}: {fault}")
    for file in _files_of_people(params):
        if not file.endswith("/") and not Path(file).is_file():  # of folders, plugins speak themselves
            raise ParamsError(f"{where}: cvqa: the file {file} is missing; correct the path, or leave it empty")
    evaluations = [study for study in FAMILIES_OF if getattr(params, study)]
    if len(missing_packages(params, where)) == len(evaluations):
        require_packages(params, where, evaluations)
    return params


def missing_packages(params: Params, where: str) -> dict[str, str]:
    """By evaluation that cannot run here: the first plugin that lacks a package, and the extra that has it."""
    missing: dict[str, str] = {}
    for use in used(params):
        try:
            registry.check_installed(use.family, use.spec, f"{where}: {use.place}")
        except PluginError as error:
            missing.setdefault(use.study, str(error))
    return missing


def require_packages(params: Params, where: str, evaluations: Collection[str]) -> None:
    """Refuse evaluations whose plugins lack a package.

    Raises:
        PluginError: one line that names the plugin, the package and the extra that has it.
    """
    for study, fault in missing_packages(params, where).items():
        if study in evaluations:
            raise PluginError(fault)


def _files_of_people(params: Params) -> list[str]:
    """Labels and decisions that people made."""
    if not params.cvqa:
        return []
    named = [params.cvqa.genders, *(build.decisions for build in params.cvqa.builds.values())]
    return [file for file in named if file]


def _check_prompts(folder: str, wording: Wording, place: str) -> None:
    if not Path(folder).is_dir():
        raise ParamsError(f"{place}: no folder {folder}; leave it empty for the package's prompts")
    try:
        conversation_prompts(folder, wording)
    except InputError as error:
        raise ParamsError(f"{place}: {error}; leave it empty for the package's prompts") from None


def _check_plugin(family: str, spec: dict[str, Any], place: str, protocols: Sequence[str]) -> None:
    registry.check(family, spec, place)
    for fault in missing_files(family, spec, protocols):
        raise ParamsError(f"{place}: {fault}")
