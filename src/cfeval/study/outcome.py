"""What came of a run, in a few lines: each condition's figures, and whether anything was scored at all."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cfeval.config import Params

REPORT = "edct/report/index.html"


class Scored(NamedTuple):
    """What became of the items of one condition: how many there were, how many were scored, and one line."""

    items: int
    scored: int
    missing: str
    line: str


def outcomes(params: Params, root: str) -> list[Scored]:
    """What the tables say of each condition of each evaluation of a study."""
    found = list(_edct(Path(root, "edct/tables"))) if params.edct else []
    found += _vce(Path(root, "vce/tables")) if params.vce else []
    found += _cvqa(Path(root, "cvqa/tables")) if params.cvqa else []
    return found


def report_of(params: Params, root: str) -> Path:
    """What a person looks at first: the page, or where an evaluation has none its pictures or tables."""
    if params.edct:
        return Path(root, REPORT)
    return Path(root, "vce/sheets") if params.vce else Path(root, "cvqa/tables")


def nothing_scored(found: list[Scored]) -> str:
    """One line where no item of any condition was scored, and why; empty where some was."""
    if not found or any(one.scored for one in found):
        return ""
    why = "; ".join(dict.fromkeys(one.missing for one in found if one.missing)) or "the tables say no more"
    return f"nothing was scored: 0 of {sum(one.items for one in found)} items ({why})"


def _edct(tables: Path) -> Iterator[Scored]:
    """A condition of Table 1 each, with the conclusion of its trust card where it has one."""
    names = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
    cards = {tuple(row[name] for name in names): row for row in _rows(tables / "edct_card.csv")}
    for row in _rows(tables / "edct_table1.csv"):
        card = cards.get(tuple(row[name] for name in names))
        told = [f"{card['conclusion']}, FIT {_share(card, 'fit')}"] if card else []
        told += [f"CCS {_share(row, 'ccs')}", f"{row['n_scored']} of {row['n']} scored"]
        line = f"{row['vlm']} on {row['dataset']} by {row['judge']}: {', '.join(told)}"
        yield Scored(int(row["n"]), int(row["n_scored"]), row["missing"], line)


def _vce(tables: Path) -> Iterator[Scored]:
    """A classifier and method each, by the share of counterfactuals that the classifier takes for the target class."""
    for row in _rows(tables / "vce_methods.csv"):
        if row.get("metric") == "ta":
            line = f"{row['classifier']} by {row['method']}: {row['mean'] or '?'} take for the target class"
            yield Scored(
                int(row["n"]), int(row["n_scored"]), row["missing"], f"{line}, {row['n_scored']} of {row['n']} scored"
            )


def _cvqa(tables: Path) -> Iterator[Scored]:
    """A solver, set and type of question each, as the robust reader reads replies."""
    for row in _rows(tables / "cvqa_table3.csv"):
        if row["reader"] == "robust":
            right = f'{row["original"] or "?"} right as it is, {row["counterfactual"] or "?"} under the "if"'
            line = f"{row['solver']} on {row['set']} ({row['type']}): {right}, {row['n_scored']} of {row['n']} scored"
            yield Scored(int(row["n"]), int(row["n_scored"]), row["missing"], line)


def _share(row: dict[str, str], name: str) -> str:
    return f"{row[name]} [{row[f'{name}_lo']}, {row[f'{name}_hi']}]" if row[name] else "not known"


def _rows(file: Path) -> list[dict[str, str]]:
    """The rows of a table; none where it was not made."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
