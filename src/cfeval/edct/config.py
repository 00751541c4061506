"""The section `edct`: which models, data and conditions the study has.

The plugins that the conditions of the studies use, each once; what params.yaml only defines is left out. `calibrate:
true` adds test models whose faithfulness is known to a study.
"""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import product
from typing import Any, Literal

import yaml
from pydantic import Field, field_validator, model_validator

from cfeval.core import registry
from cfeval.core.config import Name, Section, Share, Spec
from cfeval.core.errors import nearest
from cfeval.core.registry import Used
from cfeval.edct.files import Wording
from cfeval.edct.pairs.records import PairCondition
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, LISTED, PAIRS_2026, objects_drawn
from cfeval.edct.records import Condition, ProtocolName
from cfeval.stats.intervals import Interval

# Which plugin family each section of a study's plugins draws on.
FAMILIES = {
    "datasets": "datasets",
    "vlms": "chat",
    "instruction_writers": "instruction_writers",
    "editors": "editors",
    "judges": "judges",
    "verifiers": "verifiers",
    "readers": "chat",
    "pair_sets": "pair_sets",
    "pair_judges": "pair_judges",
}


class Target(Spec):
    """A model under test: a chat plugin, and how it is asked."""

    wording: Wording = Field(
        "a", description="Which of two wordings of the question and of the request for a reason it is sent."
    )


class Names(Section):
    """A cross product of names, under the protocols of the block: its own, else edct-2025 with all controls."""

    dataset: tuple[Name, ...] = Field(min_length=1, description="Names from `datasets`.")
    vlm: tuple[Name, ...] = Field(min_length=1, description="Names from `vlms`.")
    writer: tuple[Name, ...] = Field(min_length=1, description="Names from `instruction_writers`.")
    editor: tuple[Name, ...] = Field(min_length=1, description="Names from `editors`.")
    judge: tuple[Name, ...] = Field(min_length=1, description="Names from `judges`.")

    def conditions(self) -> list[Condition]:
        """The conditions of this block, in the order of the lists."""
        protocols: Iterable[ProtocolName] = getattr(self, "protocol", (EDCT_2025, *CONTROLS))
        lists = (self.dataset, self.vlm, self.writer, protocols, self.editor, self.judge)
        return [Condition(**dict(zip(Condition.model_fields, names, strict=True))) for names in product(*lists)]


class Block(Names):
    """Conditions of the 2025 protocol."""

    protocol: tuple[Literal["edct-2025"], ...] = Field(("edct-2025",), min_length=1, description="Protocols.")


class BenchBlock(Names):
    """Conditions of the 2026 protocol."""

    protocol: tuple[Literal["edct-bench-2026"], ...] = Field(
        ("edct-bench-2026",), min_length=1, description="Protocols."
    )


class EitherBlock(Names):
    """Conditions of either paper's protocol."""

    protocol: tuple[Literal["edct-2025", "edct-bench-2026"], ...] = Field(
        ("edct-2025",), min_length=1, description="Protocols."
    )


class ControlBlock(Names):
    """Conditions of the 2025 protocol, each with its controls."""


class Tables(Section):
    """Which conditions each table shows."""

    table1: tuple[Block, ...] = Field(description="Targets side by side (EDCT 2025, Table 1).")
    table2: tuple[Block, ...] = Field(
        (), description="One target under several editors and judges (EDCT 2025, Table 2)."
    )
    bench: tuple[BenchBlock, ...] = Field((), description="Targets, editors and judges under EDCT-Bench 2026.")
    controls: tuple[ControlBlock, ...] = Field(
        (), description="FIT, trust card, noise floor and completeness beside CCS: each condition with its controls."
    )
    calibration: tuple[EitherBlock, ...] = Field((), description="Targets whose faithfulness is known beforehand.")
    variance: tuple[EitherBlock, ...] = Field((), description="Where the variance of CCS comes from.")
    more: dict[Name, tuple[EitherBlock, ...]] = Field({}, description="Tables that other packages offer, by name.")

    @field_validator("more")
    @classmethod
    def _are_offered(cls, more: dict[str, Any]) -> dict[str, Any]:
        offered = registry.places("tables") if more else {}
        for name in more:
            if name not in offered:
                raise ValueError(f"no installed package offers the table '{name}'; {nearest(name, offered)}")
        return more

    def names(self) -> list[str]:
        """The tables that have conditions of their own here."""
        return [*(name for name in type(self).model_fields if name != "more"), *self.more]

    def conditions(self, table: str) -> list[Condition]:
        """The conditions of a table, each once."""
        own = table in self.names() and table not in self.more
        blocks = getattr(self, table) if own else self.more.get(table, ())
        return list(dict.fromkeys(condition for block in blocks for condition in block.conditions()))


class PairBlock(Section):
    """A cross product of names, for given pairs."""

    pair_set: tuple[Name, ...] = Field(min_length=1, description="Names from `pair_sets`.")
    vlm: tuple[Name, ...] = Field(min_length=1, description="Names from `vlms`.")
    pair_judge: tuple[Name, ...] = Field(min_length=1, description="Names from `pair_judges`.")

    def conditions(self) -> list[PairCondition]:
        """The conditions of this block, in the order of the lists."""
        lists = (self.pair_set, self.vlm, self.pair_judge)
        return [PairCondition(**dict(zip(PairCondition.model_fields, names, strict=True))) for names in product(*lists)]


# Where each plugin that a condition of given pairs names is defined.
PAIR_SECTIONS = {"pair_set": "pair_sets", "vlm": "vlms", "pair_judge": "pair_judges"}

# Where each plugin that a condition names is defined.
SECTIONS = {
    "dataset": "datasets",
    "vlm": "vlms",
    "writer": "instruction_writers",
    "editor": "editors",
    "judge": "judges",
}


def with_tables(content: Any) -> Any:
    """The section `edct`, with the tables of the recommended run (workflow/params/audit.yaml) where it has none.

    Every target on every dataset, judged by every judge, and once more with all controls, judged by the first, so that
    the trust card can say more than that a claim is open.
    """
    if not isinstance(content, Mapping) or content.get("tables") is not None:
        return content
    if not all(isinstance(content.get(section), Mapping) and content[section] for section in SECTIONS.values()):
        return content  # what is missing is told by its own name
    block = {field: [str(name) for name in content[section]] for field, section in SECTIONS.items()}
    return {**content, "tables": {"table1": [block], "controls": [{**block, "judge": block["judge"][:1]}]}}


class Expected(Section):
    """What is known of a test model's figures (docs/concepts/estimand.md)."""

    faithful: Share = Field(description="Mean over items of |cited ∩ used| / |cited ∪ used|, as the model was made.")
    noise: Share = Field(0, description="Its noise floor: how often its answer changes although nothing did.")
    ccs: Share | None = Field(None, description="What CCS should be; empty where nothing is derived.")
    strict_ccs: Share | None = Field(None, description="The same of strict CCS.")
    fit: Share | None = Field(None, description="The same of FIT.")
    phi: float | None = Field(None, ge=-1, le=1, description="What phi over given pairs should be.")
    no_phi: str = Field("", description="Why phi over given pairs should have no figure.")

    @model_validator(mode="after")
    def _one_of_both(self) -> "Expected":
        if self.phi is not None and self.no_phi:
            raise ValueError("phi and no_phi exclude each other; take one out")
        return self


class Edct(Section):
    """The edct study."""

    items: int = Field(120, ge=1, description="Items taken from each dataset.")
    seed: int = Field(20250929, ge=0, description="Seed of every draw of the study; each item derives its own from it.")
    edits: int = Field(2, ge=1, le=9, description="Edits an explanation, at most, where a protocol has several.")
    one_item_in: dict[ProtocolName, int] = Field(
        default={"null-edit": 2, "editor-null": 2, "blank-image": 3},
        description="Of one item in so many, on average, a control is made; of every item where it is not named.",
    )
    uncited_objects: int | None = Field(
        None,
        ge=1,
        le=LISTED,
        description="Objects of an item, drawn by lot among those that the explanation does not cite, that are edited; "
        "empty: 3 of up to 90 items, 2 of up to 250, else 1.",
    )
    sham_every: int = Field(
        4,
        ge=1,
        description="For one cited edit in this many, the verifier is also shown a sham edit, one that was not made.",
    )
    failed_edits: Share = Field(
        0.0,
        description="Share of edits that failed though a verifier took them, where a label sheet told.",
    )
    prompts: str | None = Field(None, description="Folder with own prompt templates; empty: the package's.")
    datasets: dict[Name, Spec] = Field(default_factory=dict, description="Where samples come from.")
    vlms: dict[Name, Target] = Field(min_length=1, description="Target models.")
    instruction_writers: dict[Name, Spec] = Field(
        default_factory=dict, description="Explanation → concept and instruction."
    )
    editors: dict[Name, Spec] = Field(default_factory=dict, description="Image and instruction → counterfactual image.")
    judges: dict[Name, Spec] = Field(default_factory=dict, description="Texts before and after → PCS and NCC.")
    verifiers: dict[Name, Spec] = Field(default_factory=dict, description="For each dataset, who checks the edits.")
    readers: dict[Name, Spec] = Field(
        default_factory=dict,
        description="For each dataset, a second model that answers the questions about edited images: what its answer "
        "does not confirm counts against no target.",
    )
    pair_sets: dict[Name, Spec] = Field(default_factory=dict, description="Where given pairs of images come from.")
    pair_judges: dict[Name, Spec] = Field(
        default_factory=dict, description="Explanation and changed thing → is it named; two answers → did it move."
    )
    pairs: tuple[PairBlock, ...] = Field(
        (), description="Conditions of `pairs-2026`: given pairs, without writer and editor. They need no `tables`."
    )
    again: int = Field(
        2, ge=1, description="Of one given pair in so many the image that comes first is asked about again."
    )
    tables: Tables = Field(
        Tables(table1=()), description="Conditions; left out: every target on every dataset, with all controls."
    )
    known: dict[Name, Share] = Field(
        default_factory=dict,
        description="Share of items that a target answers unfaithfully, known by construction.",
    )
    expected: dict[Name, Expected] = Field(
        default_factory=dict,
        description="What is known of the figures of test models: `faithful`, their truth; `ccs`, `strict_ccs`, `fit`.",
    )
    exams: dict[Name, str] = Field(
        default_factory=dict,
        description="Of each judge, the table (CSV) that `cfeval exam` wrote of it: its error stands beside CCS.",
    )
    judge_error: tuple[Name, ...] = Field(
        (), description="Targets of known share 0 or 1 on which the error of the judges is measured."
    )
    compared_with: Name | None = Field(
        None,
        description="Target with which each other one is compared; left out: every two, or of more than 12 in a "
        "setting each with the first.",
    )
    all_pairs: bool = Field(False, description="Compare every two targets of a setting, however many it has.")
    edit_times: str | None = Field(
        None,
        min_length=1,
        description="A copy of `.cfeval/edit-times.jsonl` of the run that edited: the report says what an edit cost.",
    )
    usd_per_gpu_hour: float | None = Field(
        None, ge=0, description="Price of an hour of the machine that edited, likewise."
    )
    interval: Interval = Interval()

    @model_validator(mode="before")
    @classmethod
    def _with_tables(cls, content: Any) -> Any:
        return with_tables(content)

    @model_validator(mode="after")
    def _names_are_defined(self) -> "Edct":
        for section in () if self.pairs else SECTIONS.values():
            if not getattr(self, section):
                raise ValueError(f"{section} must define at least one; only a study of `pairs` alone needs none")
        for who, conditions, places in (
            ("tables name", self.conditions(), SECTIONS),
            ("pairs name", self.pair_conditions(), PAIR_SECTIONS),
        ):
            for condition, (field, place) in product(conditions, places.items()):
                name, section = getattr(condition, field), getattr(self, place)
                if name not in section:
                    raise ValueError(
                        f"{who} the {field} '{name}', which edct.{place} does not define; {nearest(name, section)}"
                    )
        for section, keys, among in (
            ("verifiers", self.verifiers, self.datasets),
            ("readers", self.readers, self.datasets),
            ("known", self.known, self.vlms),
            ("expected", self.expected, self.vlms),
            ("exams", self.exams, self.judges),
            ("judge_error", self.judge_error, self.known),
        ):
            for name in keys:
                if name not in among:
                    raise ValueError(f"{section} names '{name}'; {nearest(name, among)}")
        for section in FAMILIES:
            for name, spec in getattr(self, section).items():
                if section != "vlms" and spec.repeat != 1:
                    raise ValueError(f"{section}.{name}: only targets, `vlms`, are repeated; take `repeat` out")
        for condition in self.conditions():
            if (reader := self.readers.get(condition.dataset)) and _same_model(reader, self.vlms[condition.vlm]):
                raise ValueError(
                    f"readers.{condition.dataset} is the model of vlms.{condition.vlm}, which cannot confirm its own "
                    "answers; name another model"
                )
        for name, many in self.one_item_in.items():
            if name not in CONTROLS:
                raise ValueError(f"one_item_in names '{name}'; {nearest(name, CONTROLS)}")
            if many < 1:
                raise ValueError(f"one_item_in.{name} must be at least 1, but is {many}; 1 takes every item")
        if (reference := self.compared_with) is not None and reference not in self.vlms:
            raise ValueError(f"compared_with names '{reference}'; {nearest(reference, self.vlms)}")
        if reference is not None and self.all_pairs:
            raise ValueError("compared_with and all_pairs exclude each other; take one out")
        for name in self.judge_error:
            if self.known[name] not in (0, 1):
                raise ValueError(f"judge_error names '{name}', whose share in `known` must be 0 or 1")
        return self

    @property
    def objects(self) -> int:
        """How many uncited objects of an item are edited: the fewer items, the more, so that a hidden cause is met."""
        return self.uncited_objects or objects_drawn(self.items)

    def repeats(self) -> dict[str, str]:
        """The target that another one repeats: the first that differs from it in `repeat` and in nothing else."""
        keys = {name: str([spec.wording, *sorted(spec.plugin_options().items())]) for name, spec in self.vlms.items()}
        first: dict[str, str] = {}
        for name, key in keys.items():
            first.setdefault(key, name)
        bases = {name: first[key] for name, key in keys.items()}
        return {name: base for name, base in bases.items() if self.vlms[name].repeat != self.vlms[base].repeat}

    def conditions(self) -> list[Condition]:
        """Every condition that some table shows, each once, in the order of the tables."""
        tables = self.tables
        return list(dict.fromkeys(condition for table in tables.names() for condition in tables.conditions(table)))

    def pair_conditions(self) -> list[PairCondition]:
        """Every condition of given pairs, each once, in the order of the blocks."""
        return list(dict.fromkeys(condition for block in self.pairs for condition in block.conditions()))


def _same_model(first: Spec, other: Spec) -> bool:
    """Whether two chat plugins ask the same model, wherever it is."""
    options = [spec.plugin_options() for spec in (first, other)]
    models = [str(option.get("model", "")).rstrip("/").rpartition("/")[2].lower() for option in options]
    return models[0] == models[1] if all(models) else options[0] == options[1]


def used_by_edct(study: Edct) -> list[Used]:
    """The plugins that edct uses, in the order of params.yaml."""
    wanted: dict[tuple[str, str], dict[str, None]] = {}
    for condition in study.conditions():
        named = [(section, getattr(condition, field)) for field, section in SECTIONS.items()]
        named.append(("verifiers", condition.dataset))
        named += [("readers", condition.dataset)] * (condition.protocol == EDCT_2025)
        for section, name in named:
            wanted.setdefault((section, name), {})[condition.protocol] = None
    for given in study.pair_conditions():
        for field, section in PAIR_SECTIONS.items():
            wanted.setdefault((section, getattr(given, field)), {})[PAIRS_2026] = None
    return [
        Used("edct", section, name, family, spec.plugin_options(), tuple(wanted[section, name]))
        for section, family in FAMILIES.items()
        for name, spec in getattr(study, section).items()
        if (section, name) in wanted
    ]


def calibrated(content: Any) -> Any:
    """The section `edct`, with test models of known faithfulness, judged by their own judge and by the study's.

    What the study itself defines under one of their names stays as it is.
    """
    if not isinstance(content, Mapping):
        return content
    whole = with_tables(content)
    added = yaml.safe_load(files("cfeval.edct").joinpath("test_models.yaml").read_text(encoding="utf-8"))
    judges = list(dict.fromkeys([*added["judges"], *(whole.get("judges") or {})]))
    sections = {
        name: {**section, **(whole.get(name) or {})} for name, section in added.items() if isinstance(section, Mapping)
    }
    blocks = [{**block, "judge": judges} for block in added["calibration"]]
    tables = {
        "calibration": blocks,
        **{name: section for name, section in (whole.get("tables") or {}).items() if section},
    }
    return {**whole, **sections, "tables": tables, "judge_error": whole.get("judge_error") or added["judge_error"]}
