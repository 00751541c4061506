"""Why results differ: parameters by name, and what the records beside the files (`X.made.json`) say of each step.

The records of both sides are read one pair after the other, in flat memory.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.record import ENDING, PARTS
from cfeval.core.vouching import Kept, steps_in
from cfeval.core.yaml_files import parse_yaml
from cfeval.study.revisions import NotAtHandError, Side, same

# A step before and after; None where a side has none.
Pair = tuple[Kept | None, Kept | None]
# Characters of a value that a line shows.
_LONGEST = 60
# Modules that a reason names; of more it says how many.
_MODULES_NAMED = 3


@dataclass(frozen=True)
class Change:
    """A value that differs; None where a side has no such name."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        """The change in one line."""
        return f"{self.name} {shown(self.before)} → {shown(self.after)}"


def parameters(before: Side, after: Side, lacking: Callable[[str], object]) -> list[Change]:
    """What differs in the parameters, by dotted name.

    Args:
        before, after: the sides.
        lacking: called with a line about a side whose parameters are not there; then nothing is said to differ.
    """
    values = []
    for side in (before, after):
        path = side.parameters()
        values.append(parse_yaml("".join(side.lines(path)), f"{path} of {side.name}"))
        if values[-1] is None:
            lacking(f"{side.name} has no {path}: snakemake writes it with the results")
    return [] if None in values else changes(*values)


def changes(before: Any, after: Any) -> list[Change]:
    """What differs between two values, by dotted name."""
    old, new = dict(_flat(before)), dict(_flat(after))
    names = [*old, *(name for name in new if name not in old)]
    return [Change(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]


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


@dataclass(frozen=True)
class Made:
    """The files of a step that were made differently: `why` counts them by the reason.

    `code`: the modules whose code is another one, is new or is no longer used.
    """

    step: str
    files: int
    why: dict[str, int]
    code: tuple[str, ...] = ()


@dataclass
class _Count:
    files: int = 0
    why: Counter[str] = field(default_factory=Counter)
    code: set[str] = field(default_factory=set)

    def add(self, other: "_Count") -> None:
        self.files += other.files
        self.why.update(other.why)
        self.code |= other.code


def made(before: Side, after: Side, study: str, lacking: Callable[[str], object]) -> list[Made]:
    """Which files of a study's results were made from something else, by step and reason.

    What merely follows, an input that is a result itself, is left out: its own step tells why.

    Args:
        before, after: the sides.
        study: the evaluation.
        lacking: called with a line about every folder whose records are not at hand, and about a side without any.
    """
    phases = _phases(before, after, study)
    recorded = [_has_records(side, phases) for side in (before, after)]
    if not all(recorded):
        for side, has_records in zip((before, after), recorded, strict=True):
            if any(recorded) and not has_records:
                place = f"{side.at(study)} of {side.name}"
                lacking(f"{place} has no records: nothing tells what its files were made from")
        return []
    counts: dict[str, _Count] = {}
    for phase, deep in phases.items():
        in_phase: dict[str, _Count] = {}
        try:
            for old, new in pairs(before, after, phase, deep):
                step, count = _step_count(old, new)
                in_phase.setdefault(step, _Count()).add(count)
        except InputError as error:
            lacking(str(error))
            continue
        for step, count in in_phase.items():
            counts.setdefault(step, _Count()).add(count)
    return [
        Made(step, count.files, dict(count.why), tuple(sorted(count.code)))
        for step, count in counts.items()
        if count.why
    ]


def pairs(before: Side, after: Side, place: str, deep: bool = True) -> Iterator[Pair]:
    """The steps that the records in a folder of the results tell of, by what they make.

    Args:
        before, after: the sides.
        place: of the folder.
        deep: whether to look into its folders, too.

    Raises:
        NotAtHandError: the content of a record is not here.
        InputError: one cannot be read.
    """

    def ordered(side: Side, number: int) -> Iterator[tuple[list[str], str, int]]:
        """Places with what they are ordered by, folder for folder, and the number of their side."""
        return ((name.split("/"), name, number) for name in places(side, side.at(place), deep))

    for (_, name), group in groupby(merge(ordered(before, 0), ordered(after, 1)), key=lambda entry: entry[:2]):
        numbers = {number for *_, number in group}
        new = read(after, name) if 1 in numbers else {}
        if len(numbers) == 2 and before.content_hash(before.at(name)) == after.content_hash(after.at(name)):
            old = new
        else:
            old = read(before, name) if 0 in numbers else {}
        yield from ((old.get(out), new.get(out)) for out in sorted({*old, *new}))


def places(side: Side, folder: str, deep: bool = True) -> Iterator[str]:
    """Where records lie in a folder, by their places in the results; folders of images are not looked into."""
    files, folders = side.entries(folder)
    inside = set(folders) - {file.removesuffix(".jsonl") for file in files} if deep else set()
    for path in sorted([*inside, *(file for file in files if file.endswith(ENDING))]):
        if path in inside:
            yield from places(side, path)
        else:
            yield path.removeprefix(side.at(""))


def read(side: Side, place: str) -> dict[str, Kept]:
    """The steps of the record at a place, by what they make; InputError where it is none."""
    try:
        steps = _steps("".join(side.lines(side.at(place))))
        return {kept.out.removeprefix(kept.before): kept for kept in steps_in(steps, place)}
    except ValueError as error:
        raise InputError(f"{side.at(place)} of {side.name} {error}; snakemake writes it anew") from None


def _steps(text: str) -> list[Any]:
    """What a record says of its steps; ValueError where it is none."""
    try:
        steps = json.loads(text)["steps"]
        sound = all(isinstance(step[part], dict) for step in steps for part in PARTS)
        sound = sound and all(isinstance(step["options"]["--out"], str) for step in steps)
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise ValueError("is no record of a step")
    return list(steps)


def _phases(before: Side, after: Side, study: str) -> dict[str, bool]:
    """The folders in which to look for a study's records, and whether to look into their folders, too.

    Records of whole folders, such as of tables, lie beside those. What DVC knows to be the same on both sides is left
    out.
    """
    if same(before, after, study):
        return {}
    phases = {path.removeprefix(side.at("")) for side in (before, after) for path in side.folders(side.at(study))}
    return {study: False, **{phase: True for phase in sorted(phases) if not same(before, after, phase)}}


def _has_records(side: Side, phases: Mapping[str, bool]) -> bool:
    try:
        filled = [phase for phase, deep in phases.items() if deep and any(side.entries(side.at(phase)))]
        return not filled or any(next(places(side, side.at(phase), deep), "") for phase, deep in phases.items())
    except NotAtHandError:
        return True


def _step_count(old: Kept | None, new: Kept | None) -> tuple[str, _Count]:
    """The name of a step, how many files it makes, and how many of them for each reason."""
    step = new or old
    assert step is not None
    name = ".".join(step.step["options"].get("", ()))
    files = sum(not path.endswith("/") for path in step.outputs)  # folders of images belong to files
    if old is None or new is None:
        return name, _Count(files, Counter({"gone" if new is None else "new": files}))
    was, now = (side.step["code"] for side in (old, new))
    code = {module for module in {*was, *now} if was.get(module) != now.get(module)}
    reasons = [
        *option_changes(options(old), options(new)),
        *_code_changes(was, now, sorted(code)),
        *_input_changes(_foreign_inputs(old), _foreign_inputs(new)),
        *map(str, changes(old.step["packages"], new.step["packages"])),
    ]
    if reasons or old.inputs != new.inputs:
        return name, _Count(files, Counter(dict.fromkeys(reasons, files)), code)
    other = [path for path, sha in new.outputs.items() if sha != old.outputs.get(path)]
    number = max(1, sum(not path.endswith("/") for path in other))
    unexplained = {"came out differently from the same inputs, parameters and code": number} if other else {}
    return name, _Count(files, Counter(unexplained))


def _foreign_inputs(kept: Kept) -> dict[str, str | None]:
    """What a step read outside of the results, by hash: prompts, weights, published figures, own data."""
    return {name: sha for name, sha in kept.step["inputs"].items() if not name.startswith(kept.before)}


def options(kept: Kept) -> dict[str, Any]:
    """The options of a step, by name; a list where one is given more than once, and its command as `command`.

    Paths of results are left out: where they lie is no cause, and what is in them has its own.
    """
    by_name: dict[str, Any] = {}
    for name, value in kept.step["options"].items():
        values = value if isinstance(value, list) else [value]
        if not name:
            by_name["command"] = " ".join(map(str, values))
            continue
        others = [entry for entry in values if not (isinstance(entry, str) and entry.startswith(kept.before))]
        if others or not values:
            by_name[name.removeprefix("--")] = others[0] if len(others) == 1 else others or True
    return by_name


def option_changes(old: Mapping[str, Any], new: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """What differs between options, by dotted name; of lists of objects, such as conditions, how many came and went."""
    for name in sorted({*old, *new}):
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        lists = [[] if value is None else value for value in (was, now)]
        old_map, new_map = ({} if value is None else value for value in (was, now))
        if isinstance(old_map, Mapping) and isinstance(new_map, Mapping):
            yield from option_changes(old_map, new_map, f"{place}{name}.")
        elif any(lists) and all(map(_are_objects, lists)):
            yield f"{place}{name}: {_list_change(*lists)}"
        else:
            yield from map(str, changes({f"{place}{name}": was}, {f"{place}{name}": now}))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)


def _list_change(old: Sequence[Any], new: Sequence[Any]) -> str:
    """What became of a list of objects, such as conditions: one more in the middle is no change of all."""
    was, now = (Counter(json.dumps(entry, sort_keys=True) for entry in entries) for entries in (old, new))
    counts = (((now - was).total(), "new"), ((was - now).total(), "gone"))
    return ", ".join(f"{number} {what}" for number, what in counts if number) or "in another order"


def _code_changes(old: Mapping[str, str], new: Mapping[str, str], other: Sequence[str]) -> Iterator[str]:
    """What became of the code of modules that have another hash; those of one fate together."""
    fates: dict[str, list[str]] = {}
    for name in other:
        fates.setdefault(_fate(name, old, new), []).append(name)
    for fate, names in fates.items():
        yield f"code of {', '.join(names) if len(names) <= _MODULES_NAMED else f'{len(names)} modules'} {fate}"


def _input_changes(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield f"{name} {_fate(name, old, new)}"


def _fate(name: str, old: Mapping[str, object], new: Mapping[str, object]) -> str:
    return "changed" if name in old and name in new else "new" if name in new else "no longer used"
