"""Why results differ: parameters, by name."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cfeval.core.yaml_files import parse_yaml
from cfeval.study.revisions import Side

_LONGEST = 60


@dataclass(frozen=True)
class Change:
    """A value under another; None where a side has no such name."""

    name: str
    before: Any
    after: Any


def parameters(before: Side, after: Side, lacking: Callable[[str], object]) -> list[Change]:
    """What differs in the parameters, by dotted name.

    Args:
        lacking: told of a side whose parameters are not there; then nothing is said to differ.
    """
    found = [_parameters(side) for side in (before, after)]
    for side, own in zip((before, after), found, strict=True):
        if own is None:
            lacking(f"{side.name} has no {side.parameters()}: snakemake writes it with the results")
    return [] if None in found else changes(*found)


def changes(before: Any, after: Any) -> list[Change]:
    """What differs between two values, by dotted name."""
    old, new = dict(_flat(before)), dict(_flat(after))
    names = [*old, *(name for name in new if name not in old)]
    return [Change(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]


def _parameters(side: Side) -> Any:
    path = side.parameters()
    return parse_yaml("".join(side.lines(path)), f"{path} of {side.name}")


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested mappings and of lists of mappings, by dotted name."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value and all(isinstance(inner, Mapping) for inner in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{name}[{number}]")
    elif name and value is not None:
        yield name, value


def shown(value: Any) -> str:
    """A value in one line, abridged; a dash where there is none."""
    if value is None:
        return "—"
    text = value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
