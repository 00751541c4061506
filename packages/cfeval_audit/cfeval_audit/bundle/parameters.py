"""Whether the parameters of an unpacked bundle are those that its steps were told.

They must ask for the very steps that the records name: for all of them, and for no other. What they ask for, a dry run
of the workflow says, in a folder that has nothing of the bundle but its parameters and what they may name.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from cfeval.config import merged, parse, read
from cfeval.core.errors import InputError, ParamsError
from cfeval.core.record import ENDING, Step, options, record_of, steps
from cfeval.core.roots import PARAMS, RESULTS
from cfeval.core.vouching import is_inside
from cfeval.study.causes import option_changes
from cfeval.study.whole import Job, whole

OVERLAYS = "overlays/"
_OF_SNAKEMAKE = ("profiles",)
"""Folders from which Snakemake takes settings: nothing of a bundle may lie there while it runs."""


def check(
    folder: Path,
    files: Collection[str],
    results: Mapping[str, str],
    records: Mapping[str, list[Step]],
    scratch: Path,
) -> Iterator[str]:
    """Compare the parameters with what the steps of each evaluation were told; yields a line about each.

    Args:
        folder: the unpacked bundle.
        files: its files by path.
        results: the evaluations by their folders of results.
        records: what the records say, by path.
        scratch: a folder to make, for the dry run.

    Raises:
        InputError: the parameters ask for something else than what was run, or cannot be used.
    """
    overlays = sorted((name for name in files if name.startswith(OVERLAYS)), key=_number)
    if str(PARAMS) not in files:
        raise InputError(f"{PARAMS}: not in the bundle; take it from where it came from again")
    _lay_out(folder, files, [str(PARAMS), *overlays], records, scratch)
    with contextlib.chdir(scratch):
        parse(_content(overlays), " + ".join((str(PARAMS), *overlays)))
        for place, evaluation in results.items():
            own = {name: of for name, of in records.items() if name.startswith(f"{place}/")}
            try:
                asked = _asked(place, evaluation, overlays)
            except InputError as error:
                yield f"could not be compared: {PARAMS} with the steps of {place} ({error})"
                continue
            _same(asked, own)
            yield f"{PARAMS} asks for the {sum(map(len, own.values()))} steps that the records of {place} name"


def _lay_out(
    folder: Path, files: Collection[str], own: list[str], records: Mapping[str, list[Step]], scratch: Path
) -> None:
    """Make a folder with the parameters, and what they may name: of files that were not taken the names alone."""
    used = {path for of in records.values() for step in of for path, sha in step["inputs"].items() if sha}
    names = {*own, *filter(_may_be_named, used)}
    for name in sorted(names & set(files)):
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).symlink_to((folder / name).resolve())
    for name in sorted(names - set(files)):
        with contextlib.suppress(OSError):  # a name that a record made up
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            (scratch / name).touch()


def _may_be_named(path: str) -> bool:
    """Whether parameters may name a file: it is inside of the study, no result, and nothing that rules Snakemake."""
    top = path.partition("/")[0]
    return is_inside(path) and not top.startswith((".", "cfeval:")) and top not in (RESULTS, *_OF_SNAKEMAKE)


def _content(overlays: Collection[str]) -> Mapping[str, Any]:
    content: Mapping[str, Any] = read(PARAMS)
    for name in overlays:
        content = merged(content, read(Path(name), overlay=True) or {})
    return content


def _number(name: str) -> int:
    """Where an overlay stands among those that were laid over, which its name begins with."""
    number = name.removeprefix(OVERLAYS).partition("-")[0]
    if not number.isdecimal():
        raise ParamsError(f"{name}: its name does not begin with a number; the bundle is not one of cfeval's")
    return int(number)


def _asked(place: str, evaluation: str, overlays: Collection[str]) -> list[Job]:
    """The jobs of an evaluation that the parameters ask for, whose results lie at a place."""
    root = place.rpartition("/")[0]
    study = whole([PARAMS, *map(Path, overlays)], root.removeprefix(RESULTS).strip("/"))
    return study.jobs([evaluation])


def _same(asked: Collection[Job], records: Mapping[str, list[Step]]) -> None:
    """InputError where jobs and records are not of the same steps; the first is named."""
    known = {record_of(job.words): job for job in asked}
    for name, of in sorted(records.items()):
        told = {step["options"]["--out"]: step["options"] for step in of}
        wanted = {step["--out"]: step for step in map(options, steps(known[name].words))} if name in known else {}
        if others := sorted({*told, *wanted} - ({*told} & {*wanted})):
            said = "asks for no such step" if others[0] in told else "asks for one more step"
            raise InputError(f"{name}: {PARAMS} {said}: {others[0]}; the parameters are not those of the run")
        for out, step in told.items():
            if said := next(option_changes(_by_name(step), _by_name(wanted[out])), ""):
                raise InputError(
                    f"{name}: told otherwise than {PARAMS} asks: {said}; the parameters are not those of the run"
                )
    if lost := next((name for name in known if name not in records), None):
        raise InputError(f"{PARAMS}: asks for {lost.removesuffix(ENDING)}, which the bundle does not have")


def _by_name(step: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix("--") or "command": value for name, value in step.items()}
