"""The verb that shows trust cards: for people, or as JSON for programs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.core.errors import InputError, nearest
from cfeval.core.jsonl import read_csv
from cfeval.edct.faithfulness.claims import CLAIMS
from cfeval.edct.tables.card import FIELDS, CardRow, bound_of
from cfeval.report.columns import limits
from cfeval.report.tables import with_interval


def run(
    table: Annotated[Path, typer.Argument(help="The table of cards.")] = Path("results/edct/tables/edct_card.csv"),
    vlm: Annotated[str, typer.Option(help="One target alone.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, a list with an object a card.")] = False,
) -> None:
    """Show the trust card of each target: the conclusion, why, and the six claims."""
    if not table.is_file():
        raise InputError(f"{table}: no such file; a study with conditions in edct.tables.controls makes it")
    rows = read_csv(table, CardRow)
    targets = list(dict.fromkeys(row.vlm for row in rows))
    if vlm and vlm not in targets:
        raise InputError(f"--vlm: no card of '{vlm}'; {nearest(vlm, targets)}")
    shown = [row for row in rows if vlm in ("", row.vlm)]
    print(json.dumps([card(row) for row in shown], indent=2) if as_json else "\n\n".join(map(told, shown)))


def card(row: CardRow) -> dict[str, Any]:
    """A card as JSON: names of the condition, items, conclusion, reasons, FIT and the claims."""
    names = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
    claims = {
        letter: {
            "claim": CLAIMS[letter],
            "bound": bound_of(row, letter),
            "says": getattr(row, f"{name}_says"),
            "rate": getattr(row, name),
            "interval": limits(row, name),
        }
        for letter, name in FIELDS.items()
    }
    return {
        **{name: getattr(row, name) for name in names},
        "items": row.n,
        "conclusion": row.conclusion,
        "because": row.why.split("; "),
        "fit": {"rate": row.fit, "interval": limits(row, "fit")},
        "edits_checked": row.edits_checked,
        "claims": claims,
    }


def told(row: CardRow) -> str:
    """A card as text."""
    return "\n".join(_lines(row))


def _lines(row: CardRow) -> Iterator[str]:
    where = f"{row.dataset}, {row.writer}, {row.editor}, {row.judge}, {row.n} items"
    yield f"{row.vlm} ({where}): {row.conclusion}"
    yield from (f"  because {reason}" for reason in row.why.split("; "))
    yield f"  FIT {with_interval(row, 'fit')}"
    for letter, name in FIELDS.items():
        yield f"  {letter} {CLAIMS[letter]}: {getattr(row, f'{name}_says')} {with_interval(row, name)}".rstrip()
