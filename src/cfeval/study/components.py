"""The plugins that a study's conditions use: whether all that they need is there, fits, and who they send to."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cfeval.config import Params, parse
from cfeval.core import registry
from cfeval.core.errors import CfevalError, InputError, ParamsError, PluginError
from cfeval.core.registry import Used
from cfeval.cvqa.config import FAMILIES as CVQA_FAMILIES
from cfeval.cvqa.config import used_by_cvqa
from cfeval.edct.config import FAMILIES, Edct, used_by_edct
from cfeval.edct.files import conversation_prompts
from cfeval.inference.remote.providers import on_this_machine
from cfeval.vce.config import FAMILIES as VCE_FAMILIES
from cfeval.vce.config import Vce, used_by_vce
from cfeval.vce.records import VceCondition
from cfeval.vce.stages.targets import advice, wordnet_if_there

# Which plugin family each section draws on, by evaluation.
FAMILIES_OF = {"edct": FAMILIES, "vce": VCE_FAMILIES, "cvqa": CVQA_FAMILIES}
# Models that a line names; of more, it gives the number.
_SHOWN = 6


def used(params: Params) -> list[Used]:
    """The plugins that the evaluations use, in the order of params.yaml."""
    plugins = used_by_edct(params.edct) if params.edct else []
    plugins += used_by_vce(params.vce) if params.vce else []
    return plugins + (used_by_cvqa(params.cvqa) if params.cvqa else [])


def missing_files(family: str, spec: Mapping[str, Any], protocols: Collection[str]) -> Iterator[str]:
    """What to say of each file that a plugin needs and that is not there, in its plugin's own words if it has any."""
    for file in registry.dependencies(family, spec, protocols):
        if not file.endswith("/") and not Path(file).is_file():  # of folders, plugins speak themselves
            fault = f"the file {file} is missing; "
            faults = []
            with suppress(Exception):
                for finding in registry.diagnose(family, spec, offline=True, protocols=protocols):
                    if not finding.fine:
                        faults.append(finding.text)
            own = (text for text in faults if text.startswith(fault))
            yield next(own, f"{fault}correct the path, or put the file there")


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
                place, options = f"{study}.{section}.{name}", spec.plugin_options()
                registry.check(family, options, f"{where}: {place}")
                for fault in missing_files(family, options, protocols.get(place, ())):
                    raise ParamsError(f"{where}: {place}: {fault}")
    if params.edct and params.edct.prompts:
        for wording in dict.fromkeys(target.wording for target in params.edct.vlms.values()):
            place = f"{where}: edct.prompts"
            if not Path(params.edct.prompts).is_dir():
                raise ParamsError(f"{place}: no folder {params.edct.prompts}; leave it empty for the package's prompts")
            try:
                conversation_prompts(params.edct.prompts, wording)
            except InputError as error:
                raise ParamsError(f"{place}: {error}; leave it empty for the package's prompts") from None
    for fault in unfit(params.edct) if params.edct else ():
        raise ParamsError(f"{where}: {fault}")
    for fault in unknown_classes(params.vce) if params.vce else ():
        raise ParamsError(f"{where}: {fault}")
    annotations = (
        [params.cvqa.genders, *(build.decisions for build in params.cvqa.builds.values())] if params.cvqa else []
    )
    for file in filter(None, annotations):
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


def unfit(study: Edct) -> Iterator[str]:
    """A line for each target or editor that a condition gives items of which it can do nothing with any.

    A dataset is looked at by its first item, and only where a plugin needs something special of it. What cannot be read
    is left to the stage that reads it.
    """

    @cache
    def first(dataset: str) -> Any:
        with suppress(CfevalError):
            built = registry.build("datasets", study.datasets[dataset].plugin_options())
            return next(iter(built.samples(1, study.seed)), None)
        return None

    uses = (
        (condition.dataset, section, name)
        for condition in study.conditions()
        for section, name in (("vlms", condition.vlm), ("editors", condition.editor))
    )
    for dataset, section, name in dict.fromkeys(uses):
        spec = getattr(study, section)[name].plugin_options()
        for demand in registry.demands(FAMILIES[section], spec):
            if study.datasets[dataset].plugin in demand.datasets:
                continue
            item = first(dataset)
            if item is not None and not demand.met(item):
                role = "target" if section == "vlms" else "editor"
                fitting = [other for other, spec in study.datasets.items() if spec.plugin in demand.datasets]
                none = f"none here, one of the plugin {' or '.join(demand.datasets)} has"
                yield (
                    f"edct: the {role} '{name}' (plugin {getattr(study, section)[name].plugin}) needs {demand.what}, "
                    f"which the dataset '{dataset}' does not have; datasets that have: {', '.join(fitting) or none}; "
                    f"take '{name}' out of the conditions of '{dataset}', or name another {role} there"
                )


def unknown_classes(study: Vce) -> Iterator[str]:
    """A line for each class of a group that an image set, classifier, robust classifier or oracle does not tell apart.

    Nothing is loaded or fetched. What cannot say its classes before it is loaded is left to the job that loads it.
    """

    @cache
    def classes_of(section: str, name: str) -> tuple[str, ...] | None:
        with suppress(CfevalError):
            return registry.class_names(VCE_FAMILIES[section], getattr(study, section)[name].plugin_options())
        return None

    needs = (need for condition in study.all_conditions() for need in _classes_needed(study, condition))
    lacking: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for section, name, role, label in dict.fromkeys(needs):
        classes = classes_of(section, name)
        if classes is not None and label not in classes:
            lacking.setdefault((label, classes), []).append(f"{role} '{name}'")
    for (label, classes), plugins in lacking.items():
        others = f" and {len(plugins) - 1} more" if len(plugins) > 1 else ""
        fault = f"vce: groups name the class '{label}', which the {plugins[0]}{others} cannot tell apart"
        yield f"{fault}; {advice(label, classes, wordnet_if_there())}"


def _classes_needed(study: Vce, condition: VceCondition) -> Iterator[tuple[str, str, str, str]]:
    """Section, name and role of all that must know a class for a condition, and the class."""
    method = study.methods.get(condition.method)
    cone = method is not None and method.projection == "cone" and study.robust
    for group in study.groups_of(condition):
        for label in (group.source, *((group.target,) if study.target_images else ())):
            yield "image_sets", condition.image_set, "image set", label
        for label in (group.source, group.target):
            yield "classifiers", condition.classifier, "classifier", label
        if cone:
            yield "classifiers", cone, "robust classifier", group.target
        for oracle in study.oracles_of(condition):
            yield "classifiers", oracle, "oracle", group.target


def recipients(plugins: Iterable[Used]) -> dict[str, dict[str, bool]]:
    """By host: its models, each with whether it is sent images; without, it is sent texts alone."""
    hosts: dict[str, dict[str, bool]] = {}
    for plugin in plugins:
        for recipient in registry.recipients(plugin.family, plugin.spec, plugin.protocols):
            address = recipient.address
            models = hosts.setdefault(urlsplit(address).netloc if "://" in address else address, {})
            models[recipient.model] = models.get(recipient.model, False) or recipient.images
    return hosts


def recipient_lines(params: Params, plugins: Iterable[Used] | None = None) -> list[str]:
    """What to print before anything is sent: who will receive images, and who texts alone.

    Args:
        params: the study's.
        plugins: those that are used; None: all of the study.
    """
    if params.calls.offline:
        return ["Nothing is sent: calls.offline is set."]
    hosts = recipients(used(params) if plugins is None else plugins)
    if not hosts:
        return ["Nothing is sent: all models run in this process."]
    lines = [line for host, models in hosts.items() for line in _host_lines(host, models)]
    if all(_is_here(host) for host in hosts):
        lines.append("Nothing leaves this machine, unless a server on it passes it on.")
    return lines


def _host_lines(host: str, models: dict[str, bool]) -> Iterator[str]:
    place = f"{host}, on this machine" if _is_here(host) else host
    for what, images in (("Images and texts", True), ("Only texts", False)):
        if names := [model for model, seen in models.items() if seen == images]:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield f"{what} go to {place}: {', '.join(names[:_SHOWN])}{more}"


def _is_here(host: str) -> bool:
    return " " not in host and on_this_machine(f"http://{host}")
