"""Show for every model what is stored, what was sent and how it ended, and what it cost."""

import json
import sys
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from cfeval.cli.store.common import StoreFile, opened

COLUMNS = {
    "model": "model",
    "stored": "stored",
    "failed": "failed",
    "sent": "sent",
    "lost": "lost",
    "input_tokens": "tokens in",
    "output_tokens": "out",
    "images": "images",
    "spent_usd": "USD",
    "reported_usd": "reported",
    "listed_usd": "by list",
}


def run(
    store: StoreFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, a list of one object a model.")] = False,
) -> None:
    """Show for every model what is stored, what was sent and how it ended, and what it cost.

    stored: answers that are never paid for again; failed: failures that another run tries again; sent: paid attempts;
    lost: those that are in flight, or were when their run died; they count for what was set aside, because they may
    have been charged. USD is what the provider reported, else by the price list; where both are known, a line below
    tells their difference.
    """
    held = opened(store)
    rows = _rows(held.counts(), held.ledger())
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(title=str(held.path), title_justify="left", box=SIMPLE)
    for name, heading in COLUMNS.items():
        table.add_column(heading, justify="left" if name == "model" else "right", no_wrap=name != "model")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in COLUMNS))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    for row in rows:
        if row["listed_where_reported_usd"] is not None:
            difference = row["reported_usd"] - row["listed_where_reported_usd"]
            print(f"{row['model']}: reported minus list {difference:+.4f} USD")


def _rows(counts: dict[str, tuple[int, int]], ledger: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sent = {row["model"]: row for row in ledger}
    nothing = dict.fromkeys(ledger[0], None) if ledger else dict.fromkeys([*COLUMNS, "listed_where_reported_usd"], None)
    return [
        {**nothing, **sent.get(model, {}), "model": model}
        | dict(zip(("stored", "failed"), counts.get(model, (0, 0)), strict=True))
        for model in sorted({*counts, *sent})
    ]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)
