"""Whether the conditions can be made: whether targets and editors can do anything with the items of their datasets."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from cfeval.core import registry
from cfeval.core.errors import CfevalError
from cfeval.edct.config import FAMILIES, Edct

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
