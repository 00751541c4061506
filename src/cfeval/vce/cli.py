"""The verbs for what readers see of the study: its tables, its figures, the headline figures for `dvc metrics`."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import FigureOut, MetricsOut, ShownTable, TableFiles, TableOut, from_json, which
from cfeval.core.errors import InputError, nearest
from cfeval.core.jsonl import read_csv
from cfeval.core.shards import records_of
from cfeval.report.from_tables import draw_figure, write_metrics
from cfeval.report.tables import write_table
from cfeval.vce.config import Roles
from cfeval.vce.figures import FIGURES
from cfeval.vce.records import GroupScore, VceCondition, VceScore
from cfeval.vce.tables import TABLES
from cfeval.vce.tables.checks import failed
from cfeval.vce.tables.group_scores import PublishedCell, PublishedFigure, group_material
from cfeval.vce.tables.headline import metrics


def run_figure(name: Annotated[str, which("figure", FIGURES)], table: ShownTable, out: FigureOut) -> None:
    """Draw one of the study's figures from the table that it shows (PNG, SVG and PDF)."""
    draw_figure(FIGURES, TABLES, name, table, out)


def run_metrics(tables: TableFiles, out: MetricsOut) -> None:
    """Gather the headline figures of the tables for `dvc metrics`."""
    write_metrics("vce", TABLES, tables, metrics, out)


def run_table(
    name: Annotated[str, which("table", TABLES)],
    out: TableOut,
    groups: Annotated[
        Path,
        typer.Option(help="Folder of the scores of groups, IMAGE_SET/DENOISER/CLASSIFIER/METHOD.jsonl in it."),
    ] = Path("results/vce/groups"),
    conditions: Annotated[
        str,
        typer.Option(
            help='The conditions: a JSON list of {"image_set": …, "denoiser": …, "classifier": …, "method": …}.'
        ),
    ] = "[]",
    scores: Annotated[
        Path | None,
        typer.Option(help="The same of the scores of single counterfactuals; hypotheses are tested on them."),
    ] = None,
    shards: Annotated[int, typer.Option(min=1, max=999, help="Into how many files --scores are cut by condition.")] = 1,
    roles: Annotated[str, typer.Option(help="What each method and classifier is: `roles` as JSON.")] = "{}",
    reference: Annotated[
        list[Path] | None, typer.Option("--reference", help="Published cells (CSV); may be repeated.")
    ] = None,
    others: Annotated[
        list[Path] | None, typer.Option("--others", help="Published figures about two classes (CSV); may be repeated.")
    ] = None,
    cost: Annotated[
        str, typer.Option(help='Calls of networks by method, as JSON: {"dbvce": {"denoiser_calls": 50}}.')
    ] = "{}",
) -> None:
    """Make one of the study's tables from the scores of groups: CSV with every column, Markdown and LaTeX for readers.

    Without a condition it is an empty table.
    """
    if name not in TABLES:
        raise InputError(f"unknown table '{name}'; {nearest(name, TABLES)}")
    table = TABLES[name].load()
    named = from_json(conditions, list[VceCondition], "--conditions")
    material = group_material(
        (score for condition in named for score in records_of(groups, _names(condition), GroupScore, 1)),
        {condition: records_of(scores, _names(condition), VceScore, shards) for condition in named if scores},
        roles=from_json(roles, Roles, "--roles"),
        published=[cell for file in reference or () for cell in read_csv(file, PublishedCell)],
        others=[figure for file in others or () for figure in read_csv(file, PublishedFigure)],
        cost=from_json(cost, dict[str, dict[str, float]], "--cost"),
    )
    rows = table.rows(material)
    write_table(out, table.row, rows, table.render(rows))
    for line in failed(rows) if name == "checks" else ():
        typer.echo(f"warning: {line}", err=True)


def _names(condition: VceCondition) -> tuple[str, ...]:
    return condition.image_set, condition.denoiser, condition.classifier, condition.method
