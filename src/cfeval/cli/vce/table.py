"""Make one of the study's tables from the scores of groups: CSV with every column, Markdown and LaTeX for readers."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.output import TableOut, from_json, write_table
from cfeval.errors import InputError, nearest
from cfeval.io.records import read_csv
from cfeval.io.shards import records_of
from cfeval.params.vce_roles import Roles
from cfeval.records.vce import GroupScore, VceArm, VceScore
from cfeval.records.vce_tables import PublishedCell
from cfeval.tables.group_material import group_material
from cfeval.tables.names_vce import TABLES


def run(
    name: Annotated[str, typer.Argument(help=f"Which table: {', '.join(TABLES)}.")],
    out: TableOut,
    groups: Annotated[
        Path,
        typer.Option(help="Folder of the scores of groups, IMAGE_SET/DENOISER/CLASSIFIER/METHOD.jsonl in it."),
    ] = Path("results/vce/groups"),
    arms: Annotated[
        str,
        typer.Option(help='The arms: a JSON list of {"image_set": …, "denoiser": …, "classifier": …, "method": …}.'),
    ] = "[]",
    scores: Annotated[
        Path | None,
        typer.Option(help="The same of the scores of single counterfactuals; hypotheses are tested on them."),
    ] = None,
    shards: Annotated[int, typer.Option(min=1, max=999, help="Into how many files --scores are cut by arm.")] = 1,
    roles: Annotated[str, typer.Option(help="What each method and classifier is: `roles` as JSON.")] = "{}",
    reference: Annotated[
        list[Path] | None, typer.Option("--reference", help="Published cells (CSV); may be repeated.")
    ] = None,
    cost: Annotated[
        str, typer.Option(help='Calls of networks by method, as JSON: {"dbvce": {"denoiser_calls": 50}}.')
    ] = "{}",
) -> None:
    """Make one of the study's tables from the scores of groups: CSV with every column, Markdown and LaTeX for readers.

    Without an arm it is an empty table.
    """
    if name not in TABLES:
        raise InputError(f"unknown table '{name}'; {nearest(name, TABLES)}")
    table = TABLES[name].load()
    named = from_json(arms, list[VceArm], "--arms")
    material = group_material(
        (score for arm in named for score in records_of(groups, _names(arm), GroupScore, 1)),
        {arm: records_of(scores, _names(arm), VceScore, shards) for arm in named if scores},
        roles=from_json(roles, Roles, "--roles"),
        published=[cell for file in reference or () for cell in read_csv(file, PublishedCell)],
        cost=from_json(cost, dict[str, dict[str, float]], "--cost"),
    )
    rows = table.rows(material)
    write_table(out, table.row, rows, table.sheet(rows))


def _names(arm: VceArm) -> tuple[str, ...]:
    return arm.image_set, arm.denoiser, arm.classifier, arm.method
