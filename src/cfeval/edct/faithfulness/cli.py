"""The verb that shows trust cards: for people, or as JSON for programs."""

import json
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from cfeval.core.errors import InputError, nearest
from cfeval.core.jsonl import read_csv
from cfeval.edct.faithfulness.claims import BOUNDS, CLAIMS
from cfeval.edct.records import Condition
from cfeval.edct.tables.card import FIELDS, BoundRow, CardRow, bound_of, holds
from cfeval.edct.tables.scores import condition_of
from cfeval.report.tables import limits, with_interval


def run(
    table: Annotated[Path, typer.Argument(help="The table of cards.")] = Path("results/edct/tables/edct_card.csv"),
    vlm: Annotated[str, typer.Option(help="One target alone.")] = "",
    other_bounds: Annotated[
        bool,
        typer.Option("--bounds", help="Also under which other bounds each conclusion stays the same (edct_bounds)."),
    ] = False,
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
    tried = _tried(table.with_name("edct_bounds.csv")) if other_bounds else {}
    each = [(row, tried.get(condition_of(row), {})) for row in shown]
    print(
        json.dumps([card(*shown_row) for shown_row in each], indent=2)
        if as_json
        else "\n\n".join(card_text(*shown_row) for shown_row in each)
    )


def _tried(table: Path) -> dict[Condition, dict[str, str]]:
    """By condition, for each bound where the conclusion stays the same."""
    if not table.is_file():
        raise InputError(f"--bounds: {table}: no such file; `cfeval run` makes it beside the table of cards")
    by_condition: dict[Condition, dict[str, str]] = {}
    for (condition, bound), rows in groupby(read_csv(table, BoundRow), lambda row: (condition_of(row), row.bound)):
        by_condition.setdefault(condition, {})[bound] = holds(list(rows))
    return by_condition


def card(row: CardRow, tried: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """A card as JSON: names of the condition, items, conclusion, reasons, FIT and the claims; and by bound where the
    conclusion stays the same, if that was asked for.
    """
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
        **({"same_under_bounds": dict(tried)} if tried else {}),
    }


def card_text(row: CardRow, tried: Mapping[str, str] = MappingProxyType({})) -> str:
    """A card as text."""
    where = f"{row.dataset}, {row.writer}, {row.editor}, {row.judge}, {row.n} items"
    lines = [f"{row.vlm} ({where}): {row.conclusion}", *(f"  because {reason}" for reason in row.why.split("; "))]
    lines.append(f"  FIT {with_interval(row, 'fit')}")
    for letter, name in FIELDS.items():
        says = f"{getattr(row, f'{name}_says')} {with_interval(row, name)}"
        lines.append(f"  {letter} {CLAIMS[letter]}: {says}".rstrip())
    for bound, value in BOUNDS.items():
        if bound in tried:
            where = "under all values tried" if tried[bound] == "all" else f"at {tried[bound]}"
            lines.append(f"  bound of {bound}, {value:.2f}: the same {where}")
    return "\n".join(lines)
