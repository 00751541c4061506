"""What came of a run: the figures of each condition, on one line."""

import csv
from collections.abc import Iterator
from pathlib import Path

from cfeval.config import Params
from cfeval.core.errors import InputError, nearest

REPORT = "{evaluation}/report/index.html"


def outcomes(params: Params, root: str) -> list[str]:
    """What the tables say of each condition of each evaluation of a study."""
    found = list(_edct(Path(root, "edct/tables"))) if params.edct else []
    found += _vce(Path(root, "vce/tables")) if params.vce else []
    found += _cvqa(Path(root, "cvqa/tables")) if params.cvqa else []
    return found


def report_of(params: Params, root: str, evaluation: str = "") -> Path:
    """The page of an evaluation; of the first that the study has where none is named.

    Raises:
        InputError: the study has no evaluation of that name.
    """
    had = [name for name in ("edct", "vce", "cvqa") if getattr(params, name)]
    if evaluation and evaluation not in had:
        raise InputError(f"--evaluation: the study has no '{evaluation}'; {nearest(evaluation, had)}")
    return Path(root, REPORT.format(evaluation=evaluation or had[0]))


def _edct(tables: Path) -> Iterator[str]:
    """A condition of Table 1 each, with the conclusion of its trust card where it has one; then given pairs."""
    names = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
    cards = {tuple(row[name] for name in names): row for row in rows_of(tables / "edct_card.csv")}
    for row in rows_of(tables / "edct_table1.csv"):
        card = cards.get(tuple(row[name] for name in names))
        told = [f"{card['conclusion']}, FIT {_share(card, 'fit')}"] if card else []
        told += [f"CCS {_share(row, 'ccs')}", f"{row['n_scored']} of {row['n']} scored"]
        yield f"{row['vlm']} on {row['dataset']} by {row['judge']}: {', '.join(told)}"
    for row in rows_of(tables / "edct_pairs.csv"):
        if not row["kind"]:  # over all kinds of change
            shown = f"φ {_share(row, 'phi')}, answer moved {_share(row, 'moved')}"
            shown += f", {row['n_scored']} of {row['n']} scored"
            yield f"{row['vlm']} on the pairs of {row['pair_set']} by {row['pair_judge']}: {shown}"


def _vce(tables: Path) -> Iterator[str]:
    """A classifier and method each, by the share of counterfactuals that the classifier takes for the target class."""
    for row in rows_of(tables / "vce_methods.csv"):
        if row.get("metric") == "ta":
            line = f"{row['classifier']} by {row['method']}: {row['mean'] or '?'} take for the target class"
            yield f"{line}, {row['n_scored']} of {row['n']} scored"


def _cvqa(tables: Path) -> Iterator[str]:
    """A solver, set and type of question each, as the robust reader reads replies."""
    for row in rows_of(tables / "cvqa_table3.csv"):
        if row["reader"] == "robust":
            right = f'{row["original"] or "?"} right as it is, {row["counterfactual"] or "?"} under the "if"'
            yield f"{row['solver']} on {row['set']} ({row['type']}): {right}, {row['n_scored']} of {row['n']} scored"


def _share(row: dict[str, str], name: str) -> str:
    return f"{row[name]} [{row[f'{name}_lo']}, {row[f'{name}_hi']}]" if row[name] else "not known"


def rows_of(file: Path) -> list[dict[str, str]]:
    """The rows of a table; none where it was not made."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
