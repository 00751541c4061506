"""The backends that the arms of the tables use, each once; what params.yaml only defines is left out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cfeval.backends import registry
from cfeval.errors import ParamsError
from cfeval.params.edct import FAMILIES, Edct
from cfeval.records.edct import Arm


@dataclass(frozen=True)
class Used:
    """A backend of a study: the section of params.yaml and the name in it, its family, its specification."""

    section: str
    name: str
    family: str
    spec: dict[str, Any]
    protocols: tuple[str, ...]
    """Under which it is used."""

    @property
    def place(self) -> str:
        """Where it stands in params.yaml."""
        return f"edct.{self.section}.{self.name}"

    @property
    def sound(self) -> bool:
        """Whether its name and options are right."""
        try:
            registry.check(self.family, self.spec, self.place)
        except ParamsError:
            return False
        return True

    @property
    def needs(self) -> registry.Needs:
        """What a job that uses it holds."""
        return registry.needs(self.family, self.spec)


def used(study: Edct) -> list[Used]:
    """The backends in use, in the order of params.yaml."""
    wanted: dict[tuple[str, str], dict[str, None]] = {}
    for arm in study.arms():
        for named in _named(arm):
            wanted.setdefault(named, {})[arm.protocol] = None
    return [
        Used(section, name, family, spec.plugin(), tuple(wanted[section, name]))
        for section, family in FAMILIES.items()
        for name, spec in getattr(study, section).items()
        if (section, name) in wanted
    ]


def _named(arm: Arm) -> Iterator[tuple[str, str]]:
    for field in ("dataset", "vlm", "writer", "editor", "judge"):
        yield f"{field}s", getattr(arm, field)
    yield "verifiers", arm.dataset
