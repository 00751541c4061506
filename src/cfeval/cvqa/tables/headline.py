"""The headline figures: the rows that the page and the console begin with, and what `dvc metrics` reads."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cfeval.core.records import Record
from cfeval.cvqa.records import AS_PUBLISHED, HEADLINE
from cfeval.cvqa.tables.accuracy import key
from cfeval.cvqa.tables.replies import AccuracyRow

Figures = dict[str, dict[str, float]]


SHOWN = ("table3", "table7", "table5")
"""The tables whose rows a page and a run's last lines show."""


class Shown(NamedTuple):
    """The row of a set, solver and type, and the same by the released rules."""

    row: AccuracyRow
    published: AccuracyRow | None


def shown(tables: Mapping[str, Sequence[AccuracyRow]]) -> list[Shown]:
    """Each set and solver by the robust reader: all types together where a table has that, else each type.

    Baselines are left out, and a drawn part of a set where the solver answered whole ones. Solvers that a user named
    come before built-in ones.

    Args:
        tables: rows by the name of the table, as far as there are any.
    """
    rows = [row for name in SHOWN[:2] for row in tables.get(name, ())]
    of_whole_sets = {row.solver for row in rows if row.kind != "baseline"}
    rows += [row for row in tables.get(SHOWN[2], ()) if row.solver not in of_whole_sets]
    published = {key(row): row for row in rows if row.reader == AS_PUBLISHED}
    solver_rows = [row for row in rows if row.kind != "baseline" and row.reader == HEADLINE]
    together = {(row.set, row.solver) for row in solver_rows if row.type == "all"}
    chosen = [row for row in solver_rows if (row.type == "all") == ((row.set, row.solver) in together)]
    return [Shown(row, published.get(key(row))) for row in sorted(chosen, key=lambda row: row.test_world)]


def metrics(tables: Mapping[str, Sequence[Record]]) -> Figures:
    """Accuracy on counterfactual questions by set, solver and type, and how many drafts built sets accepted.

    Of puzzles all types together; baselines are left out.
    """
    figures: Figures = {}
    if "table3" in tables:
        figures["table3"] = _accuracies(tables["table3"], ("set", "solver", "type"), lambda row: row.type != "all")
    if "table7" in tables:
        figures["table7"] = _accuracies(tables["table7"], ("set", "solver"), lambda row: row.type == "all")
    if "builds" in tables:
        figures["builds"] = _builds(tables["builds"])
    return figures


def _accuracies(rows: Sequence[Any], names: Sequence[str], wanted: Any) -> dict[str, float]:
    return {
        "/".join(getattr(row, name) for name in names): row.counterfactual
        for row in rows
        if row.kind != "baseline" and row.reader == HEADLINE and wanted(row) and row.counterfactual is not None
    }


def _builds(rows: Sequence[Any]) -> dict[str, float]:
    return {row.set: row.n_accepted for row in rows if row.type == "all"}
