"""Whether the parameters of an unpacked bundle are those that its jobs were given.

They must ask for the very commands that the provenance records name: for all of them, and for no other.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from typing import Any

from cfeval.config import merged, parse, read
from cfeval.core.errors import InputError, ParamsError
from cfeval.core.provenance.jobs import ENDING, Job
from cfeval.core.provenance.plans import named
from cfeval.core.provenance.sidecars import Sidecar
from cfeval.core.registry import GROUP
from cfeval.jobs import jobs

PARAMETERS, OVERLAYS = "params.yaml", "overlays/"
_SHOWN = 60
"""Characters of a command's word that a message repeats at most."""


def check(
    folder: Path, files: Collection[str], results: Mapping[str, str], records: Mapping[str, Sidecar]
) -> Iterator[str]:
    """Compare the parameters with what the jobs of each evaluation were told; yields a line about each.

    Args:
        folder: the unpacked bundle.
        files: its files by path.
        results: the evaluations by their folders of results.
        records: the provenance records by path.

    Raises:
        InputError: the parameters ask for something else than what was run, or cannot be used.
    """
    overlays = sorted((name for name in files if name.startswith(OVERLAYS)), key=_number)
    if PARAMETERS not in files:
        raise InputError(f"{PARAMETERS}: not in the bundle; take it from where it came from again")
    with contextlib.chdir(folder):
        for place, evaluation in results.items():
            own = {name: record for name, record in records.items() if name.startswith(f"{place}/")}
            content = _content(overlays)
            if plugin := _not_installed(content.get(evaluation)):
                yield f"could not be compared: {PARAMETERS} with the commands of {place} (no plugin '{plugin}' here)"
                continue
            params = parse(content, " + ".join((PARAMETERS, *overlays)))
            _same(list(jobs(params, place.rpartition("/")[0], evaluation)), own)
            yield f"{PARAMETERS} asks for the {len(own)} commands that the records of {place} name"


def _content(overlays: Collection[str]) -> Mapping[str, Any]:
    content: Mapping[str, Any] = read(Path(PARAMETERS))
    for name in overlays:
        content = merged(content, read(Path(name), overlay=True) or {})
    return content


def _not_installed(content: Any) -> str:
    """The first plugin that parameters name and no installed package offers; empty where there is none."""
    offered = (point for package in metadata.distributions() for point in package.entry_points)
    known = {point.name for point in offered if point.group.startswith(GROUP)}
    return next((name for name in _plugins(content) if name not in known), "")


def _plugins(content: Any) -> Iterator[str]:
    if isinstance(content, Mapping):
        if isinstance(content.get("plugin"), str):
            yield content["plugin"]
        content = list(content.values())
    if isinstance(content, list):
        for inner in content:
            yield from _plugins(inner)


def _number(name: str) -> int:
    """Where an overlay stands among those that were laid over, which its name begins with."""
    number = name.removeprefix(OVERLAYS).partition("-")[0]
    if not number.isdecimal():
        raise ParamsError(f"{name}: its name does not begin with a number; the bundle is not one of cfeval's")
    return int(number)


def _same(asked: Collection[Job], records: Mapping[str, Sidecar]) -> None:
    """InputError where jobs and records are not of the same commands; the first is named."""
    known = {job.sidecar: job for job in asked}
    for name, record in sorted(records.items()):
        if name not in known:
            raise InputError(f"{name}: {PARAMETERS} asks for no such job; the parameters are not those of the run")
        if said := _difference(known[name], record):
            raise InputError(f"{PARAMETERS}: {said} ({name}); the parameters are not those of the run")
    if lost := next((name for name in known if name not in records), None):
        raise InputError(f"{PARAMETERS}: asks for {lost.removesuffix(ENDING)}, which the bundle does not have")


def _difference(job: Job, record: Sidecar) -> str:
    """The first word in which a command is another one; empty where none is."""
    words = [named(word) if word in job.files else word for word in job.command]
    for asked, told in zip_longest(words, record.plan.command, fillvalue=""):
        if asked != told:
            return f"asks for {_from(asked, told)!r} where the job was told {_from(told, asked)!r}"
    return "" if job.stage == record.plan.stage else f"asks for {job.stage!r} where {record.plan.stage!r} was run"


def _from(word: str, other: str) -> str:
    """A word from shortly before where it differs from another one."""
    same = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    start = max(0, same - _SHOWN // 3)
    return ("…" if start else "") + word[start : start + _SHOWN] + ("…" if len(word) > start + _SHOWN else "")
