"""What files were made from, and which of it is another now: what the jobs' sidecars (`X.made.json`) say.

Those of both sides are found and read one pair after the other, in flat memory.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from typing import Any

from cfeval.audit.causes import Change, changes, shown
from cfeval.audit.revisions import NotAtHandError, Side, same
from cfeval.core.errors import InputError
from cfeval.core.provenance.jobs import ENDING
from cfeval.core.provenance.sidecars import Sidecar, parsed

Pair = tuple[Sidecar | None, Sidecar | None]
"""What a job's sidecar says before and after; None where a side has none."""
CODE = "code of "
"""What a reason begins with that is about code."""
_PLAIN = "argument"
"""What a word of a command is called that no option stands before."""
_UNEXPLAINED = "came out differently from the same inputs, parameters and code"


@dataclass(frozen=True)
class Made:
    """The files of a stage that were made differently: `why` counts them by the reason."""

    stage: str
    files: int
    why: dict[str, int]


def made(before: Side, after: Side, study: str, lacking: Callable[[str], object]) -> list[Made]:
    """Which files of a study's results were made from something else, by stage and reason.

    What merely follows, an input that is a result itself, is left out: its own stage tells why.

    Args:
        lacking: told of every folder whose sidecars are not at hand on a side, and of a side without any.
    """
    phases = _phases(before, after, study)
    told = [_tells(side, phases) for side in (before, after)]
    if not all(told):
        for side, tells in zip((before, after), told, strict=True):
            if any(told) and not tells:
                place = f"{side.at(study)} of {side.name}"
                lacking(f"{place} has no provenance records: nothing tells what its files were made from")
        return []
    files, why = Counter[str](), dict[str, Counter[str]]()
    for phase in phases:
        try:
            of_phase = _of_phase(before, after, phase)
        except InputError as error:
            lacking(str(error))
            continue
        for stage, (number, reasons) in of_phase.items():
            files[stage] += number
            why.setdefault(stage, Counter()).update(reasons)
    return [Made(stage, files[stage], dict(reasons)) for stage, reasons in why.items() if reasons]


def pairs(before: Side, after: Side, place: str) -> Iterator[Pair]:
    """The sidecars in a folder of the results, by name.

    Raises:
        NotAtHandError: the content of one is not here.
        InputError: one cannot be read.
    """
    marked = merge(*(_marked(places(side, side.at(place)), n) for n, side in enumerate((before, after))))
    for (_, name), found in groupby(marked, key=lambda one: one[:2]):
        there = {number for *_, number in found}
        new = read(after, name) if 1 in there else None
        if len(there) == 2 and before.content_hash(before.at(name)) == after.content_hash(after.at(name)):
            yield new, new
        else:
            yield read(before, name) if 0 in there else None, new


def places(side: Side, folder: str) -> Iterator[str]:
    """Where sidecars lie in a folder, by their places in the results; folders of images are not looked into."""
    files, folders = side.entries(folder)
    inside = set(folders) - {file.removesuffix(".jsonl") for file in files}
    for path in sorted([*inside, *(file for file in files if file.endswith(ENDING))]):
        if path in inside:
            yield from places(side, path)
        else:
            yield path.removeprefix(side.at(""))


def read(side: Side, place: str) -> Sidecar:
    """The sidecar at a place; InputError where it is none."""
    try:
        return parsed("".join(side.lines(side.at(place))), place)
    except ValueError as error:
        raise InputError(f"{side.at(place)} of {side.name} {error}; snakemake writes it anew") from None


def _marked(names: Iterable[str], number: int) -> Iterator[tuple[list[str], str, int]]:
    """Names with what they are ordered by: folder for folder."""
    return ((name.split("/"), name, number) for name in names)


def _of_phase(before: Side, after: Side, phase: str) -> dict[str, tuple[int, Counter[str]]]:
    """By stage: how many files, and how many of them for each reason."""
    files, why = Counter[str](), dict[str, Counter[str]]()
    for old, new in pairs(before, after, phase):
        stage, number, reasons = _of_pair(old, new)
        files[stage] += number
        why.setdefault(stage, Counter()).update(reasons)
    return {stage: (files[stage], reasons) for stage, reasons in why.items()}


def _phases(before: Side, after: Side, study: str) -> list[str]:
    """The folders of a study's stages, without those that DVC knows to be the same on both sides."""
    if same(before, after, study):
        return []
    found = {path.removeprefix(side.at("")) for side in (before, after) for path in side.folders(side.at(study))}
    return sorted(phase for phase in found if not same(before, after, phase))


def _tells(side: Side, phases: Sequence[str]) -> bool:
    """Whether a side has any sidecar, or may have one that is not at hand; also where there is nothing to tell."""
    try:
        there = [phase for phase in phases if any(side.entries(side.at(phase)))]
        return not there or any(next(places(side, side.at(phase)), "") for phase in there)
    except NotAtHandError:
        return True


def _of_pair(old: Sidecar | None, new: Sidecar | None) -> tuple[str, int, dict[str, int]]:
    """The stage of a job, how many files it makes, and how many of them for each reason."""
    if old is not None and new is not None:
        return new.plan.stage, _files(new), _reasons(old, new)
    [one] = filter(None, (old, new))
    return one.plan.stage, _files(one), {"gone" if new is None else "new": _files(one)}


def _files(of: Sidecar) -> int:
    """How many files a job makes; folders of images belong to files."""
    return sum(not path.endswith("/") for path in of.outputs)


def _reasons(old: Sidecar, new: Sidecar) -> dict[str, int]:
    """Why what a job makes is not made as it was, with the number of files."""
    found = [
        *_of_options(options(old), options(new)),
        *(f"{CODE}{name}" for name in _named(old.plan.code, new.plan.code)),
        *_named(old.plan.files, new.plan.files),
        *(_told(change) for change in changes(old.plan.versions, new.plan.versions)),
    ]
    if found or old.results_in(old.inputs) != new.results_in(new.inputs):
        return dict.fromkeys(found, _files(new))
    was, now = (one.results_in(one.outputs) for one in (old, new))
    other = [path for path in now if now[path] != was.get(path)]
    return {_UNEXPLAINED: max(1, sum(not path.endswith("/") for path in other))} if other else {}


def options(of: Sidecar) -> dict[str, Any]:
    """The options of a job's command by name, JSON as what it says; a list where one is given more than once.

    Paths of results are left out: where they lie is no cause, and what is in them has its own.
    """
    found: dict[str, list[Any]] = {}
    name = _PLAIN
    for word in of.plan.command[2:]:
        option, given, value = word.partition("=") if word.startswith("--") else (name, "=", word)
        found.setdefault(option, [])
        if given:
            found[option].append(None if of.is_result(value) else _value(value))
        name = _PLAIN if given else option
    said = {name: [value for value in values if value is not None] for name, values in found.items()}
    kept = {name.removeprefix("--"): values for name, values in said.items() if values or not found[name]}
    return {name: values[0] if len(values) == 1 else values or True for name, values in kept.items()}


def _value(word: str) -> Any:
    """What a word says: an object or list where it is JSON of one."""
    try:
        return json.loads(word) if word.startswith(("{", "[")) else word
    except ValueError:
        return word


def _of_options(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before != after and all(_are_objects(value or []) for value in (before, after)):
            yield f"{name}: {_counted(before or [], after or [])}"
        else:
            yield from (_told(change) for change in changes({name: before}, {name: after}))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _counted(old: Sequence[Any], new: Sequence[Any]) -> str:
    """What became of a list of objects, such as conditions: one more in the middle is no change of all."""
    was, now = (Counter(json.dumps(one, sort_keys=True) for one in of) for of in (old, new))
    come, gone = (now - was).total(), (was - now).total()
    told = ", ".join(f"{number} {what}" for number, what in ((come, "new"), (gone, "gone")) if number)
    return told or "in another order"


def _told(change: Change) -> str:
    return f"{change.name} {shown(change.before)} → {shown(change.after)}"


def _named(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> Iterator[str]:
    """What has another hash, by name: code, prompts, weights, published figures."""
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield f"{name} {'changed' if name in old and name in new else 'new' if name in new else 'no longer used'}"
