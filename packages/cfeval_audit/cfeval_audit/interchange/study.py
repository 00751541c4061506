"""A finished study of edct as its exports see it: the rows of its tables, its target models, its conditions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from cfeval.config import Params
from cfeval.core.errors import InputError, nearest
from cfeval.core.jsonl import read_csv
from cfeval.core.records import Record
from cfeval.edct.asked import TEST_MODELS
from cfeval.edct.config import Edct
from cfeval.edct.files import conversation_prompts, stage_files
from cfeval.edct.pairs.records import PairCondition, item_files
from cfeval.edct.protocols.rules import CONTROLS
from cfeval.edct.records import Condition
from cfeval.edct.stages.baselines import Prompts
from cfeval.edct.tables import TABLES as ALL_TABLES
from cfeval.inference.remote.provider_table import PROVIDERS, find_provider
from cfeval_audit.bundle.about import licences
from cfeval_audit.interchange.metrics import TABLES

SHOWN = ("table1", "table2", "bench", "controls")
"""Sections of `edct.tables` whose conditions are of target models, not of the instrument."""
ON_THIS_MACHINE = ("transformers", "blip", *TEST_MODELS)
"""Chat plugins that run a model in the study's own processes."""
VENDORS = {"anthropic": "anthropic", "google": "google"}
"""By chat plugin: whose models they are."""
OF_PROVIDERS = {"openai": "openai", "gemini": "google"}
"""The same by the provider of the plugin `openai`."""
_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.:-]+)+")


class Target(NamedTuple):
    """A target model as others name it."""

    name: str
    """In params.yaml."""
    id: str
    """DEVELOPER/MODEL."""
    plugin: str
    deployment: str
    """`self_deployed`, `externally_managed` or `unknown`."""
    weights: str
    """`open_weights`, `closed_weights` or `unknown`."""
    test: bool
    """It is a built-in test model, which stands for no real one."""


@dataclass(frozen=True)
class Finished:
    """A study that is run to its end."""

    params: Params
    edct: Edct
    results: Path
    """The folder of results of edct."""
    tables: Mapping[str, Sequence[Record]]
    """Rows by table, of those that show target models."""

    @cached_property
    def terms(self) -> dict[str, str]:
        """The terms of the datasets; see `cfeval_audit.bundle.about.licences`."""
        return licences(self.params)

    @property
    def vlms(self) -> list[str]:
        """The target models that have a row, in the order of the tables."""
        return list(dict.fromkeys(row.vlm for rows in self.tables.values() for row in rows))  # type: ignore[attr-defined]

    @property
    def conditions(self) -> list[Condition | PairCondition]:
        """Those that tables of target models show: of the papers' protocols, and of given pairs.

        Controls are part of the conditions that they control.
        """
        shown = dict.fromkeys(one for table in SHOWN for one in self.edct.tables.conditions(table))
        return [*(one for one in shown if one.protocol not in CONTROLS), *self.edct.pair_conditions()]

    def prompts(self, vlm: str) -> Prompts:
        """The two turns of every conversation with a target."""
        return Prompts(*conversation_prompts(self.edct.prompts or "", self.edct.vlms[vlm].wording))

    def items(self) -> Iterator[tuple[str, str, str, list[Path]]]:
        """The datasets and sets of given pairs of the conditions.

        Yields:
            `items` or `pairs`, the section of params.yaml that defines it, its name, its record files.
        """
        for condition in {one.dataset: one for one in self.edct.conditions()}.values():
            files = stage_files(self.results, "items", condition, self.params.shards)
            yield "items", "datasets", condition.dataset, files
        for name in dict.fromkeys(one.pair_set for one in self.edct.pair_conditions()):
            yield "pairs", "pair_sets", name, item_files(self.results, name, self.params.shards)


def finished(params: Params, root: str) -> Finished:
    """What is there to be exported.

    Raises:
        InputError: there is no edct, or a table of it is not made.
    """
    if params.edct is None:
        raise InputError("the study has no edct, which alone is exported")
    results = Path(root, "edct")
    tables: dict[str, Sequence[Record]] = {}
    for name in TABLES:
        wanted = params.edct.pairs if name == "pairs" else params.edct.tables.conditions(_shown(name))
        file = results / "tables" / f"edct_{name}.csv"
        if wanted and not file.is_file():
            raise InputError(f"{file}: not made yet; run the study to its end first")
        if wanted:
            tables[name] = list(read_csv(file, ALL_TABLES[name].row()))
    return Finished(params, params.edct, results, tables)


def _shown(table: str) -> str:
    return "controls" if table in ("faithfulness", "card") else table


def targets(of: Finished, given: Mapping[str, str]) -> dict[str, Target]:
    """The target models by name.

    Args:
        of: the study.
        given: by name, DEVELOPER/MODEL as the user says it.

    Raises:
        InputError: a given name is no target model, an id has no developer, or it is not known who made a model.
    """
    for name in given:
        if name not in of.vlms:
            raise InputError(f"--model: no target model '{name}' in the tables; {nearest(name, of.vlms)}")
    return {name: _target(name, of.edct.vlms[name].plugin_options(), given.get(name, "")) for name in of.vlms}


def _target(name: str, spec: Mapping[str, Any], given: str) -> Target:
    plugin, model = spec["plugin"], str(spec.get("model", ""))
    provider = find_provider(str(spec.get("provider", "other")))
    local, test = plugin in ON_THIS_MACHINE, plugin in TEST_MODELS
    own = model.startswith((".", "/", "~")) or (local and bool(model) and Path(model).exists())
    found = given or (f"cfeval/{name}" if test else "" if own else model)
    if "/" not in found and (vendor := VENDORS.get(plugin) or OF_PROVIDERS.get(provider)):
        found = f"{vendor}/{found}"
    if not _ID.fullmatch(found):
        raise InputError(
            f"who made the target model '{name}' is not known; name it: --model {name}=DEVELOPER/MODEL, "
            "as at Hugging Face or as its provider does"
        )
    hosted = plugin in VENDORS or bool(PROVIDERS[provider].key_env)
    deployment = "self_deployed" if local else "externally_managed" if hosted else "unknown"
    return Target(name, found, plugin, deployment, "open_weights" if local and not own else "unknown", test)


def pairs_of(option: str, said: Sequence[str], right: str) -> dict[str, str]:
    """NAME=VALUE options as a mapping.

    Raises:
        InputError: one has another form, or a name comes twice.
    """
    found: dict[str, str] = {}
    for one in said:
        name, _, value = one.partition("=")
        if not name or not _ID.fullmatch(value):
            raise InputError(f"--{option}: {one!r} is not of the form NAME={right}")
        if name in found:
            raise InputError(f"--{option}: '{name}' is named twice")
        found[name] = value
    return found
