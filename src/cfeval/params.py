"""params.yaml, typed: unknown keys are errors, and the JSON schema is generated from these classes."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from cfeval.errors import ParamsError, nearest
from cfeval.records.edct import Arm, ProtocolName

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=60)]
Share = Annotated[float, Field(ge=0, le=1)]
FAMILIES = {
    "datasets": "datasets",
    "vlms": "chat",
    "writers": "writers",
    "editors": "editors",
    "judges": "judges",
    "verifiers": "verifiers",
}
"""Which plug-in family each section of a study's backends draws on."""


class Section(BaseModel):
    """A section that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Spec(BaseModel):
    """A plug-in's name and its options, which the plug-in itself checks."""

    model_config = ConfigDict(frozen=True, extra="allow")

    backend: Name = Field(description="Name of the plug-in: its file name without .py.")
    repeat: int = Field(1, ge=1, description="Which of several repetitions it is; each draws its own randomness.")

    def plugin(self) -> dict[str, Any]:
        """What the plug-in is built from: its name and its options."""
        return self.model_dump(exclude={"repeat"})


class Limits(Section):
    """How much of a resource all jobs together may hold on this machine."""

    gpu: int = Field(1, ge=0, description="GPUs.")
    api_slots: int = Field(4, ge=1, description="Jobs that call a provider at the same time.")


class Calls(Section):
    """How calls to models outside travel; nothing that is made depends on it."""

    store: str = Field(".cfeval/calls.sqlite", min_length=1, description="File of the response store.")
    offline: bool = Field(False, description="Answer from the store alone; a call that it does not hold ends the run.")
    at_once: int = Field(16, ge=1, le=512, description="Calls of a job at once, at most; fewer when throttled.")
    attempts: int = Field(6, ge=1, le=100, description="Attempts at one call, at most.")
    timeout: float = Field(180, gt=0, description="Seconds for one attempt.")
    deadline: float = Field(900, gt=0, description="Seconds for one call, all attempts and waiting included.")
    max_calls: int | None = Field(None, ge=0, description="Calls that may be sent in the store's life.")
    max_cost_usd: float | None = Field(None, ge=0, description="USD that may be spent in the store's life.")
    prices: str = Field("", description="Price list (YAML); empty: the package's.")


class Interval(Section):
    """How confidence intervals are computed."""

    method: Literal["bootstrap", "bca", "wilson"] = Field(
        "bootstrap", description="Bootstrap over images, percentile or BCa, or Wilson."
    )
    level: float = Field(0.95, gt=0, lt=1, description="Nominal coverage.")
    resamples: int = Field(2000, ge=100, description="Bootstrap resamples.")
    seed: int = Field(0, ge=0, description="Seed of the resampling.")


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


class Params(Section):
    """The whole of params.yaml."""

    shards: int = Field(1, ge=1, le=999, description="Into how many jobs each stage is cut, by a hash of the item id.")
    limits: Limits = Limits()
    calls: Calls = Calls()
    edct: Edct


def parse(content: Any, where: str = "params.yaml") -> Params:
    """Check parameters that are already in memory.

    Raises:
        ParamsError: one line naming the key, what it got and what is allowed.
    """
    try:
        return Params.model_validate(content)
    except ValidationError as error:
        raise ParamsError(f"{where}: {_explain(error)}") from None


def load(*paths: Path) -> Params:
    """Read and check a parameter file, or several merged in order; raises ParamsError like `parse`."""
    content = read(paths[0])
    for path in paths[1:]:
        content = merged(content, read(path) or {})
    return parse(content, named(paths))


def named(paths: Sequence[Path]) -> str:
    """What messages call parameter files."""
    return " + ".join(map(str, paths))


def merged(base: Any, over: Any) -> Any:
    """Parameters with others laid over, as Snakemake's `--configfile` does: mappings key by key, all else whole."""
    if not isinstance(over, Mapping):
        return over
    if not over:
        return base
    under = base if isinstance(base, Mapping) else {}
    return {**under, **{key: merged(under.get(key, {}), value) for key, value in over.items()}}


def read(path: Path) -> Any:
    """What a parameter file says, unchecked; ParamsError where it cannot be read."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such parameter file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


def _explain(error: ValidationError) -> str:
    found = error.errors()
    first = next((fault for fault in found if fault["type"] == "extra_forbidden"), found[0])
    key = ".".join(str(part) for part in first["loc"]) or "the file"
    if first["type"] == "extra_forbidden":
        return f"unknown key '{key}'; {nearest(str(first['loc'][-1]), _keys_beside(first['loc']))}"
    message = first["msg"].removeprefix("Value error, ")
    got = first["input"]
    shown = f", but got {got!r}" if isinstance(got, str | int | float | bool) or got is None else ""
    return f"{key}: {message}{shown}"


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    """The keys that are allowed where an unknown one stood."""
    schema = Params.model_json_schema()
    here: dict[str, Any] = schema
    for part in location[:-1]:
        here = _resolve(schema, here)
        here = (
            here.get("items", {})
            if isinstance(part, int)
            else here.get("properties", {}).get(part) or here.get("additionalProperties", {})
        )
    return list(_resolve(schema, here).get("properties", {}))


def _resolve(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return dict(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    return node
