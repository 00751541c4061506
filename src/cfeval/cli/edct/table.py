"""Make one of the study's tables from scores: CSV with every column, Markdown and LaTeX for readers."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.edct.common import Arms, How, Results, Shards, arms_of, interval_of
from cfeval.cli.output import TableOut, from_json, write_table
from cfeval.errors import InputError, nearest
from cfeval.io.arm_files import ArmFiles
from cfeval.io.records import read_csv
from cfeval.records.edct import Arm
from cfeval.records.edct_tables import Published
from cfeval.tables.material import material
from cfeval.tables.names_edct import TABLES


def run(
    name: Annotated[str, typer.Argument(help=f"Which table: {', '.join(TABLES)}.")],
    arms: Arms,
    out: TableOut,
    results: Results = Path("results/edct"),
    shards: Shards = 1,
    beside: Annotated[
        str, typer.Option(help="Further arms whose scores the table rests on, such as controls: a JSON list.")
    ] = "[]",
    interval: How = "{}",
    reference: Annotated[
        list[Path] | None, typer.Option("--reference", help="Published figures (CSV); may be repeated.")
    ] = None,
    test_targets: Annotated[str, typer.Option(help="Targets that are built-in test models: a JSON list.")] = "[]",
    known: Annotated[str, typer.Option(help='Known unfaithful share by target, as JSON: {"mixed-25": 0.25}.')] = "{}",
    judge_error: Annotated[
        str, typer.Option(help="Targets of known share 0 or 1 on which the error of judges is measured: a JSON list.")
    ] = "[]",
    repeats: Annotated[
        str, typer.Option(help='The target that another one repeats, as JSON: {"m-again": "m"}.')
    ] = "{}",
) -> None:
    """Make one of the study's tables from scores: CSV with every column, Markdown and LaTeX for readers.

    Without an arm it is an empty table.
    """
    if name not in TABLES:
        raise InputError(f"unknown table '{name}'; {nearest(name, TABLES)}")
    table = TABLES[name].load()
    shown = arms_of(arms, may_be_none=True)
    made_from = material(
        {arm: ArmFiles(results, arm, shards).scores() for arm in (*shown, *from_json(beside, list[Arm], "--beside"))},
        how=interval_of(interval),
        published=[line for file in reference or () for line in read_csv(file, Published)],
        test_targets=from_json(test_targets, list[str], "--test-targets"),
        known=from_json(known, dict[str, float], "--known"),
        judge_error=from_json(judge_error, list[str], "--judge-error"),
        repeats=from_json(repeats, dict[str, str], "--repeats"),
    )
    rows = table.rows(shown, made_from)
    write_table(out, table.row, rows, table.sheet(rows))
