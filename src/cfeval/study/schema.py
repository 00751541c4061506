"""The JSON schema of the parameters, for editors: keys, types, defaults, meanings, and the options of every plugin."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.config import Params
from cfeval.core import registry
from cfeval.core.files import write_text
from cfeval.core.package import carried
from cfeval.cvqa.config import FAMILIES as CVQA
from cfeval.edct.config import FAMILIES as EDCT
from cfeval.study.texts import SCHEMA
from cfeval.vce.config import FAMILIES as VCE

# Where the schema lies that comes with cfeval.
KEPT = "workflow/params.schema.json"
# By the name of a study's model: which family of plugins each of its sections draws on.
_SECTIONS = {"Edct": EDCT, "Vce": VCE, "Cvqa": CVQA}


def run(
    out: Annotated[Path | None, typer.Option(help="File to write. Default: print it.")] = None,
) -> None:
    """Print the JSON schema of params.yaml, which lets editors complete and check it as you type.

    A params.yaml refers to it in its first line: `# yaml-language-server: $schema=FILE`.
    """
    if out is None:
        print(text(), end="")
    else:
        write_text(out, text())


def keep_schema(folder: Path) -> None:
    """Put the schema where a study's params.yaml looks for it, unless it lies there as it is now."""
    wanted, file = carried(KEPT).read_text(encoding="utf-8"), folder / SCHEMA
    if not file.is_file() or file.read_text(encoding="utf-8") != wanted:
        write_text(file, wanted)


def text() -> str:
    """The schema."""
    return json.dumps(schema(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def schema() -> dict[str, Any]:
    """The schema of the parameters' classes; where a plugin is named, its options are those of its class."""
    content = Params.model_json_schema()
    content["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    content["title"] = "Parameters of a cfeval study"
    definitions = content["$defs"]
    families = dict.fromkeys(family for sections in _SECTIONS.values() for family in sections.values())
    for study, sections in _SECTIONS.items():
        for section, family in sections.items():
            values = definitions[study]["properties"][section]
            _of_names(values)["allOf"] = [_of_names(values).copy(), {"$ref": f"#/$defs/plugin.{family}"}]
            _of_names(values).pop("$ref")
    listed = list(families)
    for family in listed:
        options = []
        for name, kind in registry.options(family).items():
            options_schema = kind.model_json_schema(ref_template=f"#/$defs/plugin.{family}/$defs/{{model}}")
            options_schema.pop("$defs", None)
            then = {"properties": {key: _option(value) for key, value in options_schema.get("properties", {}).items()}}
            options.append({"if": {"properties": {"plugin": {"const": name}}}, "then": then})
        definitions[f"plugin.{family}"] = {
            "type": "object",
            "required": ["plugin"],
            "properties": {"plugin": {"anyOf": [{"enum": list(registry.names(family))}, {"type": "string"}]}},
            "allOf": options,
        }
        listed += [part for part in _components(family) if part not in listed]
    return content


def _of_names(section: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = next(iter(section["patternProperties"].values()))
    return values


def _option(value: dict[str, Any]) -> dict[str, Any]:
    """An option; one that holds plugins, one or several in a list or by name, knows of which family."""
    own = {key: entry for key, entry in value.items() if key not in ("family", "file")}
    return _holding(own, {"$ref": f"#/$defs/plugin.{value['family']}"}) if "family" in value else own


def _holding(value: dict[str, Any], plugin: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in value:
        return {**value, "anyOf": [_holding(choice, plugin) for choice in value["anyOf"]]}
    if value.get("type") == "array":
        return {**value, "items": plugin}
    if value.get("type") != "object":
        return value
    several = {"additionalProperties": plugin}
    return {**value, "if": {"required": ["plugin"]}, "then": plugin, "else": several}


def _components(family: str) -> list[str]:
    return [
        str(field.json_schema_extra["family"])
        for kind in registry.options(family).values()
        for field in kind.model_fields.values()
        if isinstance(field.json_schema_extra, dict) and "family" in field.json_schema_extra
    ]
