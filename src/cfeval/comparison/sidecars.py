"""The sidecars of both sides (`X.made.json`), in pairs: found and read one after the other, in flat memory."""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby

from cfeval.comparison.sides import Side
from cfeval.errors import InputError
from cfeval.io.sidecars import Sidecar, parsed
from cfeval.provenance.jobs import ENDING

Pair = tuple[Sidecar | None, Sidecar | None]
"""What a job's sidecar says before and after; None where a side has none."""


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
        if len(there) == 2 and before.mark(before.at(name)) == after.mark(after.at(name)):
            yield new, new
        else:
            yield read(before, name) if 0 in there else None, new


def places(side: Side, folder: str) -> Iterator[str]:
    """Where sidecars lie in a folder, by their places in the results; folders of pictures are not looked into."""
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
