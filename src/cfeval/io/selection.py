"""Which items of a data set are taken: those a file lists, or a draw by seed."""

import hashlib
import heapq
from collections.abc import Collection, Iterable
from pathlib import Path

from cfeval.errors import InputError
from cfeval.io.records import read_lines


def chosen(known: Collection[str], items: int, seed: int, ids: Path | None, source: object) -> list[str]:
    """The ids of at most `items` items: the listed ones in their order, else a draw by seed.

    Args:
        known: the ids there are, each once.
        ids: a file with one id a line.
        source: where `known` comes from, for errors.

    Raises:
        InputError: like `listed`.
    """
    return (listed(ids, known, source) if ids else drawn(known, seed, items))[:items]


def drawn(known: Iterable[str], seed: int, items: int) -> list[str]:
    """So many ids, the first in an order that the seed draws for each by itself: wanting more displaces none."""
    return heapq.nsmallest(items, known, key=lambda item: hashlib.sha256(f"{seed}\x1f{item}".encode()).digest())


def listed(ids: Path, known: Collection[str], source: object) -> list[str]:
    """The ids that a text file lists, one a line; empty lines do not count.

    Raises:
        InputError: one line: the file lists none, one of them twice, or one that is not known.
    """
    lines: dict[str, int] = {}
    for number, line in enumerate(read_lines(ids), start=1):
        item = line.strip()
        if item in lines:
            raise InputError(f"{ids}, line {number}: '{item}' stands in line {lines[item]} already; list each id once")
        if item:
            lines[item] = number
    if not lines:
        raise InputError(f"{ids}: lists no ids; write one a line")
    missing = [item for item in lines if item not in known]
    if missing:
        first = missing[0]
        raise InputError(
            f"{ids}, line {lines[first]}: no item '{first[:40]}' in {source} "
            f"({len(missing)} of the {len(lines)} ids are not there); correct the list or the file it is for"
        )
    return list(lines)
