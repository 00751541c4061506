"""What changed between two revisions or studies, and why: parameters, what files were made from, tables, items."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from cfeval.comparison.difference import difference
from cfeval.comparison.kinds import KINDS
from cfeval.comparison.sides import project
from cfeval.comparison.text import lines
from cfeval.comparison.words import WORKSPACE, open_side
from cfeval.errors import InputError, nearest


def run(
    before: Annotated[str, typer.Argument(help="REVISION, NAME or REVISION:NAME.")],
    after: Annotated[str, typer.Argument(help="Another; `workspace` is the working folder.")] = WORKSPACE,
    study: Annotated[
        list[str] | None, typer.Option(help="Only this study: edct, vce or cvqa; may be repeated.")
    ] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(help="Only rows and arms that have this name (or fit this pattern); may be repeated."),
    ] = None,
    items: Annotated[int, typer.Option(min=0, help="How many flipped items to show of each arm.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")] = False,
) -> None:
    """What changed between two revisions or studies, and why: parameters, what files were made from, tables, items.

    Each is a REVISION (commit, branch, tag, experiment; `workspace` is the working folder), the NAME of a study that
    has results here (`results/NAME`; `default` is the one without a name), or REVISION:NAME.

    Results are read from git and DVC's cache (or remote), and nothing is checked out. A figure is beyond both intervals
    where each side's lies outside the other's. An item flips where a score of it, or its status, is another one.
    """
    studies = study or list(KINDS)
    for name in studies:
        if name not in KINDS:
            raise InputError(f"--study: unknown study '{name}'; {nearest(name, KINDS)}")
    root = project()
    found = difference(open_side(root, before), open_side(root, after), studies, arm or [], items)
    if as_json:
        print(json.dumps(asdict(found), ensure_ascii=False, indent=2))
    else:
        print("\n".join(lines(found)))
