"""What the steps of a vce study are told, worked out from its parameters; the plugins that a step runs.

The rules write it (`workflow/rules/vce.smk`), the steps that see the whole study read it (`--study`).
"""

from collections.abc import Iterable
from typing import Any

from cfeval.core import registry
from cfeval.core.cli_options import StudyParams
from cfeval.core.config import Spec
from cfeval.core.errors import ParamsError
from cfeval.vce.config import FAMILIES, Roles, Vce
from cfeval.vce.estimate import passes_of
from cfeval.vce.records import VceCondition

_TEST_BED = "world"
"""The plugin of the test bed's classifiers, which stand for no real model."""
Plugins = list[tuple[str, Spec]]
"""Plugins, each with its family."""


class Conditions(StudyParams):
    """What is looked at.

    Attributes:
        conditions: in order.
        shards: into how many files each stage of a condition is cut, but its groups.
    """

    conditions: tuple[VceCondition, ...] = ()
    shards: int = 1


class AskedReport(Conditions):
    """What the page of a study is made of.

    Attributes:
        roles: what each method and classifier is.
        built_in: the classifiers of the test bed; conditions of others come first.
    """

    roles: Roles = Roles()
    built_in: tuple[str, ...] = ()


class AskedTables(AskedReport):
    """What all tables of a study are made of.

    Attributes:
        cost: passes of networks by method.
    """

    cost: dict[str, dict[str, float]] = {}


def asked_report(study: Vce, shards: int) -> AskedReport:
    """What the page of a study is made of."""
    built_in = tuple(name for name, spec in study.classifiers.items() if spec.plugin == _TEST_BED)
    conditions = sorted(study.all_conditions(), key=lambda condition: condition.classifier in built_in)
    return AskedReport(conditions=tuple(conditions), shards=shards, roles=study.roles, built_in=built_in)


def asked_tables(study: Vce, shards: int) -> AskedTables:
    """What all tables of a study are made of."""
    cost = {name: passes_of(method) for name, method in study.methods.items()}
    return AskedTables(**dict(asked_report(study, shards)), cost=cost)


def robust_of(study: Vce, condition: VceCondition) -> str:
    """The classifier whose gradients the cone of a condition projects; empty where it has no cone."""
    method = study.methods.get(condition.method)
    return str(study.robust) if method and method.projection == "cone" else ""


def perceptual_of(study: Vce, condition: VceCondition) -> str:
    """The distance of a condition's perceptual term; empty where it has none."""
    method = study.methods.get(condition.method)
    return str(study.dime_perceptual) if method and method.perceptual_weight else ""


def makers(study: Vce, condition: VceCondition) -> Plugins:
    """The plugins that make the counterfactuals of a condition."""
    if condition.method in study.concept_editors:
        return _plugins(study, concept_editors=[condition.method], classifiers=[condition.classifier])
    return _plugins(
        study,
        denoisers=[condition.denoiser],
        classifiers=[condition.classifier, robust_of(study, condition)],
        perceptual_metrics=[perceptual_of(study, condition)],
    )


def measures(study: Vce, condition: VceCondition) -> Plugins:
    """The plugins that score each counterfactual of a condition."""
    return _plugins(
        study,
        classifiers=[condition.classifier, *study.oracles],
        perceptual_metrics=study.perceptual_metrics,
        embeddings=study.embeddings,
    )


def measures_of_groups(study: Vce, condition: VceCondition) -> Plugins:
    """The plugins that score the groups of a condition."""
    return _plugins(
        study,
        image_sets=[condition.image_set],
        perceptual_metrics=study.perceptual_metrics,
        feature_extractors=study.feature_extractors,
        attribute_classifiers=study.attribute_classifiers,
    )


def classifiers(study: Vce, image_set: str) -> list[str]:
    """The classifiers that a study asks about the images of a set, in the order of params.yaml."""
    names = {condition.classifier for condition in study.all_conditions() if condition.image_set == image_set}
    names |= {*study.oracles, *filter(None, [study.robust])}
    return [name for name in study.classifiers if name in names]


def resources(plugins: Plugins) -> dict[str, Any]:
    """What a job holds that runs some plugins; they share a GPU. ParamsError where they want different ones."""
    held = [(spec, registry.resources(family, spec.plugin_options())) for family, spec in plugins]
    models = sorted({spec.gpu_model for spec, needs in held if needs.gpu} - {""})
    if len(models) > 1:
        raise ParamsError(
            f"params.yaml: plugins of one job want different GPUs ({', '.join(models)}); set one gpu_model"
        )
    return {
        "gpu": max((needs.gpu for _, needs in held), default=0),
        "gpu_model": "".join(models),
        "api_slots": int(any(needs.api for _, needs in held)),
    }


def _plugins(study: Vce, **names: Iterable[str]) -> Plugins:
    return [
        (FAMILIES[section], getattr(study, section)[name])
        for section, in_section in names.items()
        for name in in_section
        if name
    ]
