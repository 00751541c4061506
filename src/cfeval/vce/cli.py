"""The steps that see a whole study: its tables with their headline figures, and its figures."""

from dataclasses import replace
from pathlib import Path

import typer

from cfeval.core.cli_options import OutFolder, StudyFile, read_study_params
from cfeval.core.jsonl import read_csv, read_jsonl
from cfeval.core.package import carried
from cfeval.core.shards import records_of
from cfeval.report.files import Figures, TablesFolder, draw_figures, write_metrics, write_table
from cfeval.vce.asked import AskedTables
from cfeval.vce.files import Results
from cfeval.vce.records import ExplainedNetwork, GroupScore, VceCondition, VceScore
from cfeval.vce.tables import FIGURES, TABLES
from cfeval.vce.tables.classifiers import failed
from cfeval.vce.tables.group_scores import (
    PublishedCell,
    PublishedFigure,
    PublishedNetwork,
    group_material,
)
from cfeval.vce.tables.paper import metrics

REFERENCE = "data/reference/dbvce.csv"
"""The paper's published figures."""
NETWORKS = "data/reference/dbvce-table1.csv"
"""The classifiers of its Table 1."""
OTHERS = "data/reference/vce-published.csv"
"""Those of other papers, for the table `field`."""
IN_METRICS = ("table3", "hypotheses")
"""The tables whose headline figures `dvc metrics` shows."""


def run_tables(study: StudyFile, out: OutFolder, results: Results = Path("results/vce")) -> None:
    """Make the study's tables: CSV with every column, Markdown and LaTeX for readers; and headline figures as JSON.

    They are made of the scores of groups; hypotheses are tested on those of counterfactuals. Without a condition every
    table is empty.
    """
    options = read_study_params(study, AskedTables)
    groups, scores = results / "groups", results / "scores"
    material = group_material(
        (score for condition in options.conditions for score in records_of(groups, _names(condition), GroupScore, 1)),
        {
            condition: records_of(scores, _names(condition), VceScore, options.shards)
            for condition in options.conditions
        },
        roles=options.roles,
        published=read_csv(carried(REFERENCE), PublishedCell),
        others=read_csv(carried(OTHERS), PublishedFigure),
        cost=options.cost,
        built_in=options.built_in,
        networks_in_paper=read_csv(carried(NETWORKS), PublishedNetwork),
    )
    sets = dict.fromkeys(condition.image_set for condition in options.conditions)
    material = replace(
        material,
        networks={name: list(read_jsonl(results / "networks" / f"{name}.jsonl", ExplainedNetwork)) for name in sets},
    )
    for name, listed in TABLES.items():
        table = listed.load()
        rows = table.rows(material)
        write_table(out / f"vce_{name}", table.row, rows, table.render(rows))
        for line in failed(rows) if name == "checks" else ():
            typer.echo(f"warning: {line}", err=True)
    write_metrics("vce", TABLES, IN_METRICS, metrics, out, "vce_metrics.json")


def _names(condition: VceCondition) -> tuple[str, ...]:
    return condition.image_set, condition.denoiser, condition.classifier, condition.method


def run_figures(tables: TablesFolder, figure: Figures, out: OutFolder) -> None:
    """Draw figures of the study from its tables (PNG, SVG and PDF)."""
    draw_figures("vce", FIGURES, TABLES, figure, tables, out)
