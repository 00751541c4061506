"""The section `edct`: which models, data and arms the study has.

The backends that the arms of the studies use, each once; what params.yaml only defines is left out.
"""

from collections.abc import Iterator
from itertools import product
from typing import Literal

from pydantic import Field, model_validator

from cfeval.core.config import Name, Section, Share, Spec
from cfeval.core.errors import nearest
from cfeval.core.registry import Used
from cfeval.edct.records import Arm, ProtocolName
from cfeval.stats.intervals import Interval

FAMILIES = {
    "datasets": "datasets",
    "vlms": "chat",
    "writers": "writers",
    "editors": "editors",
    "judges": "judges",
    "verifiers": "verifiers",
}
"""Which plug-in family each section of a study's backends draws on."""


class Names(Section):
    """A cross product of names, for every protocol."""

    dataset: tuple[Name, ...] = Field(min_length=1, description="Names from `datasets`.")
    vlm: tuple[Name, ...] = Field(min_length=1, description="Names from `vlms`.")
    writer: tuple[Name, ...] = Field(min_length=1, description="Names from `writers`.")
    editor: tuple[Name, ...] = Field(min_length=1, description="Names from `editors`.")
    judge: tuple[Name, ...] = Field(min_length=1, description="Names from `judges`.")

    def arms_of(self, *protocols: ProtocolName) -> list[Arm]:
        """The arms of this block under these protocols, in the order of the lists."""
        lists = (self.dataset, self.vlm, self.writer, protocols, self.editor, self.judge)
        return [Arm(**dict(zip(Arm.model_fields, names, strict=True))) for names in product(*lists)]


class Block(Names):
    """Arms of the 2025 protocol."""

    protocol: tuple[Literal["edct-2025"], ...] = Field(("edct-2025",), min_length=1, description="Protocols.")

    def arms(self) -> list[Arm]:
        """The arms of this block."""
        return self.arms_of(*self.protocol)


class BenchBlock(Names):
    """Arms of the 2026 protocol."""

    protocol: tuple[Literal["edct-bench-2026"], ...] = Field(
        ("edct-bench-2026",), min_length=1, description="Protocols."
    )

    def arms(self) -> list[Arm]:
        """The arms of this block."""
        return self.arms_of(*self.protocol)


class EitherBlock(Names):
    """Arms of either paper's protocol."""

    protocol: tuple[Literal["edct-2025", "edct-bench-2026"], ...] = Field(
        ("edct-2025",), min_length=1, description="Protocols."
    )

    def arms(self) -> list[Arm]:
        """The arms of this block."""
        return self.arms_of(*self.protocol)


class ControlBlock(Names):
    """Arms of the 2025 protocol, each with its two controls."""

    def arms(self) -> list[Arm]:
        """The arms of this block."""
        return self.arms_of("edct-2025", "null-edit", "placebo-edit")


class Tables(Section):
    """Which arms each table shows."""

    table1: tuple[Block, ...] = Field(description="Targets side by side (EDCT 2025, Table 1).")
    table2: tuple[Block, ...] = Field(
        (), description="One target under several editors and judges (EDCT 2025, Table 2)."
    )
    bench: tuple[BenchBlock, ...] = Field((), description="Targets, editors and judges under EDCT-Bench 2026.")
    controls: tuple[ControlBlock, ...] = Field((), description="Noise floor and completeness beside CCS.")
    calibration: tuple[EitherBlock, ...] = Field((), description="Targets whose faithfulness is known beforehand.")
    variance: tuple[EitherBlock, ...] = Field((), description="Where the variance of CCS comes from.")

    def arms(self, table: str) -> list[Arm]:
        """The arms of a table, each once."""
        return list(dict.fromkeys(arm for block in getattr(self, table) for arm in block.arms()))


class Edct(Section):
    """The edct study."""

    items: int = Field(ge=1, description="Items taken from each data set.")
    seed: int = Field(ge=0, description="Seed of every draw of the study; each item derives its own from it.")
    edits: int = Field(2, ge=1, le=9, description="Edits an explanation, at most, where a protocol has several.")
    prompts: str | None = Field(None, description="Folder with own prompt templates; empty: the package's.")
    datasets: dict[Name, Spec] = Field(min_length=1, description="Where samples come from.")
    vlms: dict[Name, Spec] = Field(min_length=1, description="Target models.")
    writers: dict[Name, Spec] = Field(min_length=1, description="Explanation → concept and instruction.")
    editors: dict[Name, Spec] = Field(min_length=1, description="Image and instruction → counterfactual image.")
    judges: dict[Name, Spec] = Field(min_length=1, description="Texts before and after → PCS and NCC.")
    verifiers: dict[Name, Spec] = Field(description="For each data set, who checks the edits.")
    tables: Tables
    known: dict[Name, Share] = Field(
        default_factory=dict,
        description="Share of items that a target answers unfaithfully, known by construction.",
    )
    judge_error: tuple[Name, ...] = Field(
        (), description="Targets of known share 0 or 1 on which the error of the judges is measured."
    )
    interval: Interval = Interval()

    @model_validator(mode="after")
    def _names_are_defined(self) -> "Edct":
        for arm in self.arms():
            for field in ("dataset", "vlm", "writer", "editor", "judge"):
                section = getattr(self, f"{field}s")
                name = getattr(arm, field)
                if name not in section:
                    raise ValueError(
                        f"tables name the {field} '{name}', which edct.{field}s does not define; "
                        + nearest(name, section)
                    )
        for section, keys, among in (
            ("verifiers", self.verifiers, self.datasets),
            ("known", self.known, self.vlms),
            ("judge_error", self.judge_error, self.known),
        ):
            for name in keys:
                if name not in among:
                    raise ValueError(f"{section} names '{name}'; {nearest(name, among)}")
        for section in FAMILIES:
            for name, spec in getattr(self, section).items():
                if section != "vlms" and spec.repeat != 1:
                    raise ValueError(f"{section}.{name}: only targets, `vlms`, are repeated; take `repeat` out")
        for name in self.judge_error:
            if self.known[name] not in (0, 1):
                raise ValueError(f"judge_error names '{name}', whose share in `known` must be 0 or 1")
        return self

    def repeats(self) -> dict[str, str]:
        """The target that another one repeats: the first that differs from it in `repeat` and in nothing else."""
        first: dict[str, str] = {}
        for name, spec in self.vlms.items():
            first.setdefault(str(sorted(spec.plugin().items())), name)
        bases = {name: first[str(sorted(spec.plugin().items()))] for name, spec in self.vlms.items()}
        return {name: base for name, base in bases.items() if self.vlms[name].repeat != self.vlms[base].repeat}

    def arms(self) -> list[Arm]:
        """Every arm that some table shows, each once, in the order of the tables."""
        return list(dict.fromkeys(arm for table in Tables.model_fields for arm in self.tables.arms(table)))


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
