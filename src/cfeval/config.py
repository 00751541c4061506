"""The whole of params.yaml: reading it, laying one file over another, and saying what is wrong with it."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from cfeval.core.config import Calls, Limits, Name, Section
from cfeval.core.errors import NO_SECRETS, ParamsError, is_secret, nearest, no_name, shown
from cfeval.core.record import MOST_SHARDS
from cfeval.core.yaml_files import read_yaml
from cfeval.cvqa.config import Cvqa
from cfeval.edct.config import Edct, calibrated
from cfeval.vce.config import Vce

# What a name is made of.
_NAME: str = Name.__metadata__[0].pattern  # type: ignore[attr-defined]


class Params(Section):
    """The whole of params.yaml."""

    name: Name | None = Field(None, description="Of the study: its results lie in results/NAME; empty: in results.")
    calibrate: bool = Field(
        False, description="Whether edct also tests models whose faithfulness is known, by the study's own judges."
    )
    shards: int = Field(
        1, ge=1, le=MOST_SHARDS, description="Into how many jobs each stage is cut, by a hash of the item id."
    )
    images: Literal["folder", "archive"] = Field(
        "folder", description="Where the images of a record file lie: in a folder beside it, or in one ZIP file."
    )
    container: str = Field(
        "", description="Image that jobs run in under --sdm apptainer, such as cfeval.sif (workflow/container)."
    )
    limits: Limits = Limits()
    calls: Calls = Calls()
    edct: Edct | None = None
    vce: Vce | None = None
    cvqa: Cvqa | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_test_models(cls, content: Any) -> Any:
        if not isinstance(content, Mapping) or content.get("calibrate") is not True or not content.get("edct"):
            return content
        return {**content, "edct": calibrated(content["edct"])}

    @model_validator(mode="after")
    def _something_to_do(self) -> "Params":
        if not (self.edct or self.vce or self.cvqa):
            raise ValueError("no study: give one of the sections edct, vce, cvqa (`cfeval init` writes a whole file)")
        if self.calibrate and not self.edct:
            raise ValueError("calibrate: only edct has test models; take it out, or add the section edct")
        return self

    @model_validator(mode="after")
    def _reference_wants_whole_groups(self) -> "Params":
        vce = self.vce
        if self.shards > 1 and vce and vce.perceptual_metrics:
            for condition in vce.all_conditions():
                method = vce.methods.get(condition.method)
                if method and method.mode == "reference":
                    raise ValueError(
                        f"the method '{condition.method}' has mode 'reference', whose perceptual distances look at "
                        "whole groups; set shards: 1"
                    )
        return self


def parse(content: Any, where: str = "params.yaml") -> Params:
    """Check parameters that are already in memory.

    Raises:
        ParamsError: one line naming the key, what it got and what is allowed.
    """
    try:
        return Params.model_validate(content)
    except ValidationError as error:
        raise ParamsError(f"{where}: {_explain(error)}") from None


def edct_of(params: Params, where: str) -> Edct:
    """The section `edct`; ParamsError where there is none."""
    if params.edct is None:
        raise ParamsError(f"{where}: there is no section edct, and this command is about it")
    return params.edct


def load(*paths: Path) -> Params:
    """Read and check a parameter file, or several merged in order; raises ParamsError like `parse`."""
    content = read(paths[0])
    for path in paths[1:]:
        content = merged(content, read(path, overlay=True) or {})
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


def read(path: Path, overlay: bool = False) -> Any:
    """What a parameter file says, unchecked; ParamsError where it cannot be read, or says nothing and is no overlay."""
    content = read_yaml(path)
    if content is None and not overlay:
        raise ParamsError(f"{path}: the file is empty; the params.yaml that comes with cfeval shows what it can hold")
    if content is not None and not isinstance(content, Mapping):
        raise ParamsError(f"{path}: keys with values are needed, such as 'edct:', but got {type(content).__name__}")
    return content


def _explain(error: ValidationError) -> str:
    faults = error.errors()
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    key = ".".join(str(part) for part in first["loc"] if part != "[key]") or "the file"
    if first["type"] == "extra_forbidden" and is_secret(str(first["loc"][-1])):
        return f"{key}: {NO_SECRETS}"
    if first["type"] == "string_pattern_mismatch" and first["ctx"]["pattern"] == _NAME:
        return f"{key}: {no_name(first['input'])}"
    if first["type"] == "extra_forbidden":
        return f"unknown key {shown(key)}; {nearest(str(first['loc'][-1]), _keys_beside(first['loc']))}"
    message = first["msg"].removeprefix("Value error, ")
    got = first["input"]
    got = str(got) if isinstance(got, date) else got
    value = f", but got {shown(got)}" if isinstance(got, str | int | float) or got is None else ""
    quotes = "; put it in quotation marks" if value and first["type"] == "string_type" and got is not None else ""
    return f"{key}: {message}{value}{quotes}"


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    """The keys that are allowed where an unknown one stood."""
    schema = Params.model_json_schema()
    here: dict[str, Any] = schema
    for part in location[:-1]:
        here = _resolve(schema, here)
        if isinstance(part, int):
            here = here.get("items", {})
        else:
            here = here.get("properties", {}).get(part) or _of_any_name(here)
    return list(_resolve(schema, here).get("properties", {}))


def _of_any_name(here: dict[str, Any]) -> dict[str, Any]:
    """What stands behind the keys of a mapping whose keys are free names."""
    by_pattern = here.get("patternProperties", {}).values()
    return next(iter(by_pattern), None) or here.get("additionalProperties") or {}


def _resolve(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    for choice in node.get("anyOf", ()):  # a section that may be left out, or be null
        if "$ref" in choice:
            return _resolve(schema, choice)
    if "$ref" in node:
        return dict(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    return node
