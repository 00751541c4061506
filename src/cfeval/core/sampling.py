"""Draws: every one follows from the study's one seed, the item and the purpose.

Which items of a dataset are taken: those that a file lists, or a draw by seed.
"""

import hashlib
import heapq
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from cfeval.core.errors import InputError
from cfeval.core.ids import composed
from cfeval.core.text_files import text_lines

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Line(NamedTuple):
    """Where an id stands in a list, and what `cfeval.datasets.sample` checks it by; empty in a plain list."""

    number: int
    sha256: str


def derive_seed(seed: int, *parts: str | int) -> int:
    """A seed in [0, 2³¹) for one purpose, independent of every other and of the order of the work."""
    text = "\x1f".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def chosen(available: Collection[str], items: int, seed: int, ids: Path | None, source: object) -> list[str]:
    """The ids of at most `items` items: the listed ones in their order, else a draw by seed.

    Args:
        known: the ids there are, each once.
        ids: a list of ids, see `read_list`.
        source: where `known` comes from, for errors.

    Raises:
        InputError: like `listed`.
    """
    return (listed(ids, available, source) if ids else drawn(available, seed, items))[:items]


def drawn(available: Iterable[str], seed: int, items: int) -> list[str]:
    """So many ids, the first in an order that the seed draws for each by itself: wanting more displaces none."""
    return heapq.nsmallest(items, available, key=lambda item: hashlib.sha256(f"{seed}\x1f{item}".encode()).digest())


def listed(ids: Path, available: Collection[str], source: object) -> list[str]:
    """The ids that a list names, in its order.

    Raises:
        InputError: one line: like `read_list`, or an id is not known.
    """
    lines = read_list(ids)
    missing = [item for item in lines if item not in available]
    if missing:
        first = missing[0]
        raise InputError(
            f"{ids}, line {lines[first].number}: no item '{first[:40]}' in {source} "
            f"({len(missing)} of the {len(lines)} ids are not there); correct the list or the file it is for"
        )
    return list(lines)


def read_list(ids: Path) -> dict[str, Line]:
    """Read a text file with an id a line, in a frozen set followed by its SHA-256; empty lines do not count.

    Raises:
        InputError: one line: the file lists no id, one of them twice, or something else.
    """
    lines: dict[str, Line] = {}
    for number, text in enumerate(text_lines(ids), start=1):
        item, *rest = composed(text).split() or [""]
        if item in lines:
            raise InputError(
                f"{ids}, line {number}: '{item}' stands in line {lines[item].number} already; list each id once"
            )
        if rest and not (len(rest) == 1 and _SHA256.fullmatch(rest[0])):
            raise InputError(f"{ids}, line {number}: write an id, or an id and its SHA-256, and nothing else")
        if item:
            lines[item] = Line(number, *rest or [""])
    if not lines:
        raise InputError(f"{ids}: lists no ids; write one a line")
    # A set is frozen whole: a line without a hash would be checked by nothing.
    bare = [item for item, line in lines.items() if not line.sha256]
    if bare and len(bare) < len(lines):
        raise InputError(
            f"{ids}, line {lines[bare[0]].number}: '{bare[0][:40]}' has no SHA-256, others have; "
            "select and freeze again, or list ids alone"
        )
    return lines
