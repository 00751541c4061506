"""`cfeval edct edit-cost`: what a verified edit costs, by editor (`cfeval.edct.edit_costs`).

Results hold no times; seconds come from the file of `edit_times`, USD from the response cache.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from cfeval.core.errors import InputError
from cfeval.edct.edit_costs import costs, edits_of
from cfeval.edct.files import ConditionFiles, conditions_in
from cfeval.edct.plugins import edit_times
from cfeval.inference.cli import opened

_COLUMNS = ("editor", "edits", "images", "verified", "share", "unsure", "timed", "s each", "GPU-h each", "USD each")


def run(
    results: Annotated[Path, typer.Argument(help="The results of edct.")] = Path("results/edct"),
    usd_per_gpu_hour: Annotated[
        float | None, typer.Option(min=0, help="Price of an hour of the machine that edited.")
    ] = None,
    cache: Annotated[Path, typer.Option(help="The response cache.")] = Path(".cfeval/calls.sqlite"),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, a list with an object an editor.")] = False,
) -> None:
    """Show what a verified edit costs, by editor: seconds, GPU-hours and USD, failed edits and retries included.

    Seconds are of editors on this machine, for images made since times are kept; USD is what calls cost, and the
    hours where they have a price.
    """
    conditions = conditions_in(results)
    made = edits_of({one: ConditionFiles(results, one, shards) for one, shards in conditions.items()})
    if not made:
        raise InputError(f"{results}: no protocol of these results has edits; name those of a study with an editor")
    held = opened(cache) if cache.is_file() else None
    try:
        seconds = edit_times.noted(cache.parent / edit_times.NAME)
        found = costs(made, seconds, lambda keys: held.paid(keys)[1] if held else 0.0, usd_per_gpu_hour)
    finally:
        if held:
            held.close()
    if as_json:
        each = ("share", "seconds_each", "gpu_hours_each", "usd_each")
        print(json.dumps([asdict(one) | {name: getattr(one, name) for name in each} for one in found], indent=2))
        return
    table = Table(box=SIMPLE)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name == "editor" else "right")
    for one in found:
        share = "" if one.share is None else f"{one.share:.0%}"
        counts = (one.edits, one.images, one.verified, share, one.unsure, one.timed)
        figures = (one.seconds_each, one.gpu_hours_each, one.usd_each)
        table.add_row(one.editor, *map(str, counts), *("" if it is None else f"{it:.4g}" for it in figures))
    Console(width=None if sys.stdout.isatty() else 160, highlight=False).print(table)
