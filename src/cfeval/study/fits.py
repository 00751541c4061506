"""Whether the conditions can be made: target models and editors fit the items, classifiers know the classes."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from cfeval.core import registry
from cfeval.core.errors import CfevalError
from cfeval.edct.config import FAMILIES, Edct
from cfeval.vce.config import FAMILIES as VCE_FAMILIES
from cfeval.vce.config import Vce
from cfeval.vce.records import VceCondition
from cfeval.vce.stages.class_match import advice, wordnet_if_there

_ROLES = {"vlms": "target", "editors": "editor"}


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

    named = ((c.dataset, section, name) for c in study.conditions() for section, name in _who(c.vlm, c.editor))
    for dataset, section, name in dict.fromkeys(named):
        spec = getattr(study, section)[name].plugin_options()
        for demand in registry.demands(FAMILIES[section], spec):
            if study.datasets[dataset].plugin in demand.datasets:
                continue
            item = first(dataset)
            if item is not None and not demand.met(item):
                yield _line(study, dataset, section, name, demand)


def _who(vlm: str, editor: str) -> tuple[tuple[str, str], ...]:
    return ("vlms", vlm), ("editors", editor)


def _line(study: Edct, dataset: str, section: str, name: str, demand: registry.Demand) -> str:
    role = _ROLES[section]
    fitting = [each for each, spec in study.datasets.items() if spec.plugin in demand.datasets]
    allowed = ", ".join(fitting) if fitting else f"none here, one of the plugin {' or '.join(demand.datasets)} has"
    return (
        f"edct: the {role} '{name}' (plugin {getattr(study, section)[name].plugin}) needs {demand.what}, which the "
        f"dataset '{dataset}' does not have; datasets that have: {allowed}; take '{name}' out of the conditions of "
        f"'{dataset}', or name another {role} there"
    )


def unknown_classes(study: Vce) -> Iterator[str]:
    """A line for each class of a group that an image set, classifier, robust classifier or oracle does not tell apart.

    Nothing is loaded or fetched. What cannot say its classes before it is loaded is left to the job that loads it.
    """

    @cache
    def known(section: str, name: str) -> tuple[str, ...] | None:
        with suppress(CfevalError):
            return registry.class_names(VCE_FAMILIES[section], getattr(study, section)[name].plugin_options())
        return None

    wanted = (one for condition in study.all_conditions() for one in _classes_of(study, condition))
    ignorant: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for section, name, role, label in dict.fromkeys(wanted):
        classes = known(section, name)
        if classes is not None and label not in classes:
            ignorant.setdefault((label, classes), []).append(f"{role} '{name}'")
    for (label, classes), who in ignorant.items():
        others = f" and {len(who) - 1} more" if len(who) > 1 else ""
        fault = f"vce: groups name the class '{label}', which the {who[0]}{others} cannot tell apart"
        yield f"{fault}; {advice(label, classes, wordnet_if_there())}"


def _classes_of(study: Vce, condition: VceCondition) -> Iterator[tuple[str, str, str, str]]:
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
