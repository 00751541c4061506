"""Links between files of results that were checked: counted by kind, and printed where they do not hold."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from cfeval.core.errors import InputError

Fault = tuple[str, str]
"""Where a link is, and what is wrong with it; empty where nothing is."""


def tell(results: Path, conditions: int, kinds: Iterable[tuple[str, Iterable[Fault]]], limit: int) -> None:
    """Count the links of each kind, print those that do not hold, and sum up.

    Args:
        results: the folder of an evaluation's results.
        conditions: how many conditions they are of.
        kinds: the links by their kind; those of the kind `records` say whether records of steps name the files.
        limit: how many faults to print.

    Raises:
        InputError: a link does not hold.
    """
    links: Counter[str] = Counter()
    wrong = 0
    for kind, found in kinds:
        for where, fault in found:
            links[kind] += 1
            wrong += bool(fault)
            if fault and wrong <= limit:
                print(f"FAIL {where}: {fault}")
    counted = ", ".join(f"{kind} {count:,}" for kind, count in links.items())
    print(f"{results}: {conditions} conditions; links: {counted}")
    if wrong:
        raise InputError(f"{results}: {wrong:,} of {links.total():,} links do not hold; see above")
    print("fine" if links["records"] else "fine, but without records: none of a step names these files")
