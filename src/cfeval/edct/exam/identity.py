"""Which judge or verifier an exam examined, so that its table backs no other."""

from collections.abc import Iterator, Mapping
from typing import Any

from cfeval.core import registry
from cfeval.core.hashes import Hashes, digest
from cfeval.core.records import Record
from cfeval.edct.protocols.rules import EDCT_2025, NULL_EDIT
from cfeval.inference.remote.request import canonical

PROTOCOLS = (EDCT_2025, NULL_EDIT)
"""Under which a judge is examined: for its scores, and for its comparison of answers."""
_DIGITS = 16


class Identity(Record):
    """A plugin with all that its replies depend on; empty: the table does not say."""

    plugin: str = ""
    model: str = ""
    """The models that it asks, as they are called in its options, by commas."""
    options: str = ""
    """The first 16 hexadecimal digits of the SHA-256 of its options and those of its parts."""
    prompts: str = ""
    """The same of the contents of its prompts and other files."""


NOBODY = Identity()


def identity(family: str, spec: Mapping[str, Any]) -> Identity:
    """The identity of a judge or verifier.

    Options count as they work: one that is written out and has its default value is the same as one that is left out.

    Args:
        family: `judges` or `verifiers`.
        spec: its plugin and options.

    Raises:
        ParamsError: no such plugin or option.
    """
    parts = list(registry.components(family, spec))
    files, hashes = registry.dependencies(family, spec, PROTOCOLS), Hashes()
    contents = [hashes.path(file) or "" for file in files]
    return Identity(
        plugin=str(spec["plugin"]),
        model=", ".join(dict.fromkeys(_models(parts))),
        options=_short([_options(part, part_spec) for part, part_spec in parts]),
        prompts=_short(contents) if contents else "",
    )


def _models(parts: list[registry.Component]) -> Iterator[str]:
    for family, spec in parts:
        if family == "chat":
            yield str(getattr(registry.plugin_of(family, spec), "model", spec["plugin"]))


def _options(family: str, spec: Mapping[str, Any]) -> list[Any]:
    """A part's own options; how many parts it has itself tells where they end in the list of all."""
    plugin = registry.plugin_of(family, spec)
    own = plugin.model_dump(mode="json", exclude_defaults=True)
    nested = {name for name, field in type(plugin).model_fields.items() if _is_component(field.json_schema_extra)}
    kept = {name: value for name, value in own.items() if name not in nested}
    return [family, spec["plugin"], kept, len(plugin.components())]


def _is_component(extra: Any) -> bool:
    return isinstance(extra, Mapping) and "family" in extra


def _short(content: Any) -> str:
    return digest(canonical(content).encode())[:_DIGITS]


def differences(examined: Identity, wanted: Identity) -> list[str]:
    """In what another judge was examined, as a reader is told: what the table says, and what the study has."""
    reasons = []
    for name in ("plugin", "model"):
        old, new = getattr(examined, name), getattr(wanted, name)
        if old != new:
            reasons.append(f"its {name} is {new or 'none'}, and {old or 'none'} was examined")
    if not reasons and examined.options != wanted.options:
        reasons.append("its options are others now")
    if examined.prompts != wanted.prompts and examined.plugin == wanted.plugin:
        reasons.append("its prompts or other files are others now")
    return reasons
