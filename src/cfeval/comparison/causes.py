"""Why results differ: parameters, and what the sealed provenance says that files were made from."""

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from cfeval.comparison.sides import NotAtHandError, Side, same
from cfeval.errors import InputError

ENDING = "provenance.json"
_LONGEST = 60
_CODE = ("code:", "templates:")
"""What the fingerprints of code and of templates begin with (workflow/fingerprint.py)."""


@dataclass(frozen=True)
class Change:
    """A value under another; None where a side has no such name."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Made:
    """The files of a rule that were made differently: `why` counts them by the reason."""

    rule: str
    files: int
    why: dict[str, int]


def parameters(before: Side, after: Side) -> list[Change]:
    """What differs in params.yaml, by dotted name."""
    return changes(_parameters(before), _parameters(after))


def changes(before: Any, after: Any) -> list[Change]:
    """What differs between two values, by dotted name."""
    old, new = dict(_flat(before)), dict(_flat(after))
    names = [*old, *(name for name in new if name not in old)]
    return [Change(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]


def made(before: Side, after: Side, study: str, lacking: Callable[[str], object]) -> list[Made]:
    """Which files of a study's results were made from something else, by rule and reason.

    What merely follows, an input that is a result itself, is left out: its own rule tells why.

    Args:
        lacking: told of every phase whose entries are not at hand on a side.
    """
    why: dict[str, Counter[str]] = {}
    files: Counter[str] = Counter()
    for path in _provenance(before, after, study):
        try:
            old, new = (json.loads("".join(side.lines(path)) or "{}") for side in (before, after))
        except NotAtHandError as error:
            lacking(str(error))
            continue
        for file in [*new, *(file for file in old if file not in new)]:
            rule = _rule((new if file in new else old)[file])
            files[rule] += 1
            why.setdefault(rule, Counter()).update(_reasons(old.get(file), new.get(file)))
    return [Made(rule, files[rule], dict(found)) for rule, found in why.items() if found]


def _provenance(before: Side, after: Side, study: str) -> list[str]:
    """The files with the entries of a study's phases; without the phases that are the same on both sides."""
    phases = sorted({*before.folders(f"results/{study}"), *after.folders(f"results/{study}")})
    own = [f"{phase}/.{ENDING}" for phase in phases if not same(before, after, phase)]
    return [*own, *(f"results/{folder}/.{study}_{ENDING}" for folder in ("tables", "figures"))]


def changed_code(before: Side, after: Side) -> list[str]:
    """The project's modules that differ, comments included."""
    sides = [
        {path: side.mark(path) for path in side.files("src/cfeval") if path.endswith(".py")} for side in (before, after)
    ]
    return sorted(path for path in {**sides[0], **sides[1]} if sides[0].get(path) != sides[1].get(path))


def _parameters(side: Side) -> Any:
    try:
        return yaml.safe_load("".join(side.lines("params.yaml")))
    except yaml.YAMLError as error:
        raise InputError(f"params.yaml of {side.name}: not valid YAML: {' '.join(str(error).split())}") from None


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


def _rule(entry: Mapping[str, Any]) -> str:
    return str(entry["rule"]).removeprefix("run_")


def _reasons(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> list[str]:
    """Why one file is not made as it was."""
    if old is None or new is None:
        return ["new" if old is None else "gone"]
    found = [
        *_of_parameters(old["parameters"], new["parameters"]),
        *_of_inputs(old["inputs"], new["inputs"]),
        *(name for name in ("command", "software") if old[name] != new[name]),
    ]
    if not found and old["sha256"] != new["sha256"] and old["inputs"] == new["inputs"]:
        return ["came out differently from the same inputs, parameters and code"]
    return found


def _of_parameters(old: Iterable[str], new: Iterable[str]) -> Iterator[str]:
    """What differs between two lists of a job's parameters, which have no names."""
    gone, come = Counter(old), Counter(new)
    before, after = ([ast.literal_eval(text) for text in (one - other).elements()] for one, other in _both(gone, come))
    for kind in _CODE:
        taken = [value for value in (*before, *after) if str(value).startswith(kind)]
        if taken:
            yield kind.rstrip(":")
        before, after = ([value for value in values if value not in taken] for values in (before, after))
    specs = [[spec for value in values if (spec := _mapping(value))] for values in (before, after)]
    if len(before) == len(after) == len(specs[0]) == len(specs[1]) == 1:
        for change in changes(specs[0][0], specs[1][0]):
            yield f"{change.name} {shown(change.before)} → {shown(change.after)}"
    elif before or after:
        yield "parameters"


def _both(one: Any, other: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return (one, other), (other, one)


def _mapping(value: Any) -> Any:
    """The object that a parameter holds as JSON, or None."""
    try:
        found = json.loads(value)
    except (TypeError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _of_inputs(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> Iterator[str]:
    """The inputs from outside the results that differ: samples, weights, prompts, published figures."""
    for path in sorted({*old, *new}):
        if not path.startswith("results/") and old.get(path) != new.get(path):
            yield f"{path} {'changed' if path in old and path in new else 'new' if path in new else 'no longer used'}"


def shown(value: Any) -> str:
    """A value in one line, abridged; a dash where there is none."""
    if value is None:
        return "—"
    text = value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
