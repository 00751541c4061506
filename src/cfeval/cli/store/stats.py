"""Show for every model what is stored, what was sent and how it ended, and what it cost."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from cfeval.cli.store.common import StoreFile, opened

COLUMNS = {
    "model": "model",
    "stored": "stored",
    "failed": "failed",
    "sent": "sent",
    "lost": "in flight or lost",
    "input_tokens": "tokens read",
    "output_tokens": "tokens written",
    "images": "images",
    "reported_usd": "USD reported",
    "listed_usd": "USD by list",
    "spent_usd": "USD spent",
}


def run(
    store: StoreFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, a list of one object a model.")] = False,
) -> None:
    """Show for every model what is stored, what was sent and how it ended, and what it cost.

    Stored answers are never paid for again; failed ones are tried again. "USD spent" takes what the provider reported,
    else the price list; where both are known, their difference is a line below. A call in flight when its run died
    counts for what was set aside for it, because it may have been charged.
    """
    held = opened(store)
    rows = _rows(held.counts(), held.ledger())
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(*COLUMNS.values(), title=str(held.path), title_justify="left")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in COLUMNS))
    Console().print(table)
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
