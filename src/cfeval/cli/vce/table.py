"""Make one of the study's tables from the scores of groups: CSV with every column, Markdown and LaTeX for readers."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.output import TableOut, from_json, write_table
from cfeval.errors import InputError, nearest
from cfeval.io.records import read_csv, read_jsonl
from cfeval.io.sharded_files import records_of
from cfeval.params.vce_roles import Roles
from cfeval.records.vce import GroupScore, VceScore
from cfeval.records.vce_tables import PublishedCell
from cfeval.tables import NAMES
from cfeval.tables.group_material import group_material

TABLES = NAMES["vce"]


def run(
    name: Annotated[str, typer.Argument(help=f"Which table: {', '.join(TABLES)}.")],
    out: TableOut,
    groups: Annotated[list[Path] | None, typer.Argument(help="Scores of groups (JSONL), in any order.")] = None,
    roles: Annotated[str, typer.Option(help="What each method and classifier is: `roles` as JSON.")] = "{}",
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the scores of single counterfactuals, IMAGE_SET/DENOISER/CLASSIFIER/METHOD.jsonl in it; "
            "hypotheses are tested on them."
        ),
    ] = None,
    reference: Annotated[
        list[Path] | None, typer.Option("--reference", help="Published cells (CSV); may be repeated.")
    ] = None,
    cost: Annotated[
        str, typer.Option(help='Calls of networks by method, as JSON: {"dbvce": {"denoiser_calls": 50}}.')
    ] = "{}",
) -> None:
    """Make one of the study's tables from the scores of groups: CSV with every column, Markdown and LaTeX for readers.

    Without scores it is an empty table.
    """
    if name not in TABLES:
        raise InputError(f"unknown table '{name}'; {nearest(name, TABLES)}")
    table = import_module(f"cfeval.tables.vce_{name}")
    material = group_material(
        (score for file in groups or () for score in read_jsonl(file, GroupScore)),
        roles=from_json(roles, Roles, "--roles"),
        published=[cell for file in reference or () for cell in read_csv(file, PublishedCell)],
        cost=from_json(cost, dict[str, dict[str, float]], "--cost"),
    )
    if scores:
        of = {arm: list(records_of(scores, arm.model_dump().values(), VceScore)) for arm in material.arms}
        material = replace(material, scores=of)
    rows = table.rows(material)
    write_table(out, table.ROW, rows, table.sheet(rows))
