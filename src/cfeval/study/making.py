"""What files were made from, and which of it is another now: what the records beside them (`X.made.json`) say.

Those of both sides are found and read one pair after the other, in flat memory.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.record import ENDING, PARTS
from cfeval.core.vouching import Kept, steps_in
from cfeval.study.causes import Change, changes, shown
from cfeval.study.revisions import NotAtHandError, Side, same

Pair = tuple[Kept | None, Kept | None]
"""A step before and after; None where a side has none."""
_COMMAND = "command"
"""What the words of a command are called that belong to no option."""
_NAMED = 3
"""So many modules are named in a reason; of more it says how many."""
_UNEXPLAINED = "came out differently from the same inputs, parameters and code"


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
        lacking: told of every folder whose records are not at hand on a side, and of a side without any.
    """
    phases = _phases(before, after, study)
    told = [_tells(side, phases) for side in (before, after)]
    if not all(told):
        for side, tells in zip((before, after), told, strict=True):
            if any(told) and not tells:
                place = f"{side.at(study)} of {side.name}"
                lacking(f"{place} has no records: nothing tells what its files were made from")
        return []
    counts: dict[str, _Count] = {}
    for phase, deep in phases.items():
        try:
            of_phase = _of_phase(pairs(before, after, phase, deep))
        except InputError as error:
            lacking(str(error))
            continue
        for step, count in of_phase.items():
            counts.setdefault(step, _Count()).add(count)
    return [Made(step, of.files, dict(of.why), tuple(sorted(of.code))) for step, of in counts.items() if of.why]


def pairs(before: Side, after: Side, place: str, deep: bool = True) -> Iterator[Pair]:
    """The steps that the records in a folder of the results tell of, by what they make.

    Args:
        place: of the folder.
        deep: whether to look into its folders, too.

    Raises:
        NotAtHandError: the content of a record is not here.
        InputError: one cannot be read.
    """
    marked = merge(*(_marked(places(side, side.at(place), deep), n) for n, side in enumerate((before, after))))
    for (_, name), found in groupby(marked, key=lambda one: one[:2]):
        there = {number for *_, number in found}
        new = read(after, name) if 1 in there else {}
        if len(there) == 2 and before.content_hash(before.at(name)) == after.content_hash(after.at(name)):
            old = new
        else:
            old = read(before, name) if 0 in there else {}
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


def _marked(names: Iterable[str], number: int) -> Iterator[tuple[list[str], str, int]]:
    """Names with what they are ordered by: folder for folder."""
    return ((name.split("/"), name, number) for name in names)


def _phases(before: Side, after: Side, study: str) -> dict[str, bool]:
    """The folders in which to look for a study's records, and whether into those in them, too.

    Records of whole folders, such as of tables, lie beside those. What DVC knows to be the same on both sides is left
    out.
    """
    if same(before, after, study):
        return {}
    found = {path.removeprefix(side.at("")) for side in (before, after) for path in side.folders(side.at(study))}
    return {study: False, **{phase: True for phase in sorted(found) if not same(before, after, phase)}}


def _tells(side: Side, phases: Mapping[str, bool]) -> bool:
    """Whether a side has any record, or may have one that is not at hand; also where there is nothing to tell."""
    try:
        there = [phase for phase, deep in phases.items() if deep and any(side.entries(side.at(phase)))]
        return not there or any(next(places(side, side.at(phase), deep), "") for phase, deep in phases.items())
    except NotAtHandError:
        return True


def _of_phase(found: Iterable[Pair]) -> dict[str, _Count]:
    counts: dict[str, _Count] = {}
    for old, new in found:
        step, count = _of_pair(old, new)
        counts.setdefault(step, _Count()).add(count)
    return counts


def _of_pair(old: Kept | None, new: Kept | None) -> tuple[str, _Count]:
    """The name of a step, how many files it makes, and how many of them for each reason."""
    if old is not None and new is not None:
        return _name(new), _difference(old, new)
    [one] = filter(None, (old, new))
    return _name(one), _Count(_files(one), Counter({"gone" if new is None else "new": _files(one)}))


def _name(of: Kept) -> str:
    return ".".join(of.step["options"].get("", ()))


def _files(of: Kept) -> int:
    """How many files a step makes; folders of images belong to files."""
    return sum(not path.endswith("/") for path in of.outputs)


def _difference(old: Kept, new: Kept) -> _Count:
    """Why what a step makes is not made as it was."""
    was, now = (of.step["code"] for of in (old, new))
    code = {name for name in {*was, *now} if was.get(name) != now.get(name)}
    found = [
        *option_changes(options(old), options(new)),
        *_of_code(was, now, sorted(code)),
        *_named(_foreign(old), _foreign(new)),
        *(_told(change) for change in changes(old.step["packages"], new.step["packages"])),
    ]
    if found or old.inputs != new.inputs:
        return _Count(_files(new), Counter(dict.fromkeys(found, _files(new))), code)
    other = [path for path, sha in new.outputs.items() if sha != old.outputs.get(path)]
    number = max(1, sum(not path.endswith("/") for path in other))
    return _Count(_files(new), Counter({_UNEXPLAINED: number} if other else {}))


def _foreign(of: Kept) -> dict[str, str | None]:
    """What a step read outside of the results, by hash: prompts, weights, published figures, own data."""
    return {name: sha for name, sha in of.step["inputs"].items() if not name.startswith(of.before)}


def options(of: Kept) -> dict[str, Any]:
    """What a step was told, by the names of its options; a list where one is given more than once.

    Paths of results are left out: where they lie is no cause, and what is in them has its own.
    """
    found: dict[str, Any] = {}
    for name, value in of.step["options"].items():
        values = value if isinstance(value, list) else [value]
        kept = [one for one in values if not (isinstance(one, str) and one.startswith(of.before))]
        if not name:
            found[_COMMAND] = " ".join(map(str, values))
        elif kept or not values:
            found[name.removeprefix("--")] = kept[0] if len(kept) == 1 else kept or True
    return found


def option_changes(old: Mapping[str, Any], new: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """What differs between options, by dotted name; of lists of objects, such as conditions, how many came and went."""
    for name in sorted({*old, *new}):
        was, now = old.get(name), new.get(name)
        lists = [[] if value is None else value for value in (was, now)]
        old_map, new_map = ({} if value is None else value for value in (was, now))
        if was == now:
            continue
        if isinstance(old_map, Mapping) and isinstance(new_map, Mapping):
            yield from option_changes(old_map, new_map, f"{place}{name}.")
        elif any(lists) and all(map(_are_objects, lists)):
            yield f"{place}{name}: {_counted(*lists)}"
        else:
            yield from (_told(change) for change in changes({f"{place}{name}": was}, {f"{place}{name}": now}))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _counted(old: Sequence[Any], new: Sequence[Any]) -> str:
    """What became of a list of objects, such as conditions: one more in the middle is no change of all."""
    was, now = (Counter(json.dumps(one, sort_keys=True) for one in of) for of in (old, new))
    come, gone = (now - was).total(), (was - now).total()
    told = ", ".join(f"{number} {what}" for number, what in ((come, "new"), (gone, "gone")) if number)
    return told or "in another order"


def _of_code(old: Mapping[str, str], new: Mapping[str, str], other: Sequence[str]) -> Iterator[str]:
    """What became of the code of modules that have another hash; those of one fate together."""
    fates: dict[str, list[str]] = {}
    for name in other:
        fates.setdefault(_fate(name, old, new), []).append(name)
    for fate, names in fates.items():
        yield f"code of {', '.join(names) if len(names) <= _NAMED else f'{len(names)} modules'} {fate}"


def _named(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> Iterator[str]:
    """What has another hash, by name: prompts, weights, published figures."""
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield f"{name} {_fate(name, old, new)}"


def _fate(name: str, old: Mapping[str, object], new: Mapping[str, object]) -> str:
    return "changed" if name in old and name in new else "new" if name in new else "no longer used"


def _told(change: Change) -> str:
    return f"{change.name} {shown(change.before)} → {shown(change.after)}"
