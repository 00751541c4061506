"""The backends that the arms of the studies use, each once; what params.yaml only defines is left out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cfeval.backends import registry
from cfeval.errors import ParamsError
from cfeval.params.cvqa import FAMILIES as CVQA_FAMILIES
from cfeval.params.cvqa import Cvqa
from cfeval.params.edct import FAMILIES, Edct
from cfeval.params.study import Params
from cfeval.params.vce import FAMILIES as VCE_FAMILIES
from cfeval.params.vce import Vce
from cfeval.records.edct import Arm


@dataclass(frozen=True)
class Used:
    """A backend of a study: the section of params.yaml and the name in it, its family, its specification."""

    study: str
    section: str
    name: str
    family: str
    spec: dict[str, Any]
    protocols: tuple[str, ...] = ()
    """Under which it is used, in a study that has protocols."""

    @property
    def place(self) -> str:
        """Where it stands in params.yaml."""
        return f"{self.study}.{self.section}.{self.name}"

    @property
    def sound(self) -> bool:
        """Whether its name and options are right."""
        try:
            registry.check(self.family, self.spec, self.place)
        except ParamsError:
            return False
        return True

    @property
    def needs(self) -> registry.Resources:
        """What a job that uses it holds."""
        return registry.resources(self.family, self.spec)


def used(params: Params) -> list[Used]:
    """The backends that the studies use, in the order of params.yaml."""
    found = used_by_edct(params.edct)
    found += used_by_vce(params.vce) if params.vce else []
    return found + (used_by_cvqa(params.cvqa) if params.cvqa else [])


def used_by_edct(study: Edct) -> list[Used]:
    """The backends that edct uses, in the order of params.yaml."""
    wanted: dict[tuple[str, str], dict[str, None]] = {}
    for arm in study.arms():
        for named in _named(arm):
            wanted.setdefault(named, {})[arm.protocol] = None
    return [
        Used("edct", section, name, family, spec.plugin(), tuple(wanted[section, name]))
        for section, family in FAMILIES.items()
        for name, spec in getattr(study, section).items()
        if (section, name) in wanted
    ]


def _named(arm: Arm) -> Iterator[tuple[str, str]]:
    for field in ("dataset", "vlm", "writer", "editor", "judge"):
        yield f"{field}s", getattr(arm, field)
    yield "verifiers", arm.dataset


def used_by_vce(study: Vce) -> list[Used]:
    """The backends that vce uses, in the order of params.yaml."""
    wanted = {(f"{field}s", getattr(arm, field)) for arm in study.all_arms() for field in arm.model_fields_set}
    wanted |= {("classifiers", name) for name in (*study.oracles, study.robust)}
    wanted |= {(section, name) for section in ("perceptual", "features") for name in getattr(study, section)}
    return [
        Used("vce", section, name, family, spec.plugin())
        for section, family in VCE_FAMILIES.items()
        for name, spec in getattr(study, section).items()
        if (section, name) in wanted
    ]


def used_by_cvqa(study: Cvqa) -> list[Used]:
    """The backends that cvqa uses, in the order of params.yaml."""
    wanted = {pair for arm in study.all_arms() for pair in (("sets", arm.set), ("answerers", arm.answerer))}
    for build in study.builds_asked().values():
        wanted |= {("sources", build.source), ("builders", build.builder), ("checkers", build.checker)}
    return [
        Used("cvqa", section, name, family, spec.plugin())
        for section, family in CVQA_FAMILIES.items()
        for name, spec in getattr(study, section).items()
        if (section, name) in wanted
    ]
