"""The verbs of the study's results: tables, their headline figures, figures, and the calls that they rest on."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import FigureOut, MetricsOut, ShownTable, TableFiles, TableOut, from_json, which
from cfeval.core.errors import InputError, nearest
from cfeval.core.jsonl import read_csv
from cfeval.edct.figures import FIGURES
from cfeval.edct.files import STAGES, ConditionFiles, stage_files
from cfeval.edct.options import Conditions, How, Results, Shards, conditions_of, exam_errors, interval_of
from cfeval.edct.pairs.condition import PairCondition
from cfeval.edct.pairs.files import pair_files
from cfeval.edct.records import Condition
from cfeval.edct.tables import OF_CONDITIONS, TABLES
from cfeval.edct.tables.headline import metrics
from cfeval.edct.tables.scores import Published, material
from cfeval.inference.cli import Archive, CacheFile, calls_named, opened
from cfeval.inference.remote.archive import export
from cfeval.report.from_tables import draw_figure, write_metrics
from cfeval.report.tables import write_table


def run_table(
    name: Annotated[str, which("table", OF_CONDITIONS)],
    conditions: Conditions,
    out: TableOut,
    results: Results = Path("results/edct"),
    shards: Shards = 1,
    beside: Annotated[
        str, typer.Option(help="Further conditions whose scores the table rests on, such as controls: a JSON list.")
    ] = "[]",
    interval: How = "{}",
    reference: Annotated[
        list[Path] | None, typer.Option("--reference", help="Published figures (CSV); may be repeated.")
    ] = None,
    failed_edits: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of edits that are known to have failed unseen.")
    ] = 0.0,
    test_targets: Annotated[str, typer.Option(help="Targets that are built-in test models: a JSON list.")] = "[]",
    known: Annotated[str, typer.Option(help='Known unfaithful share by target, as JSON: {"mixed-25": 0.25}.')] = "{}",
    expected: Annotated[
        str, typer.Option(help='What is known of test models, as JSON: {"decoy": {"faithful": 0, "fit": 0}}.')
    ] = "{}",
    exams: Annotated[
        str, typer.Option(help='Tables that `cfeval exam` wrote, by judge, as JSON: {"panel": "exam.csv"}.')
    ] = "{}",
    judge_error: Annotated[
        str, typer.Option(help="Targets of known share 0 or 1 on which the error of judges is measured: a JSON list.")
    ] = "[]",
    repeats: Annotated[
        str, typer.Option(help='The target that another one repeats, as JSON: {"m-again": "m"}.')
    ] = "{}",
) -> None:
    """Make one of the study's tables: CSV with every column, Markdown and LaTeX for readers.

    It is made of scores; `gate` of counterfactuals. Without a condition it is an empty table.
    """
    if name not in OF_CONDITIONS:
        raise InputError(f"unknown table '{name}'; {nearest(name, OF_CONDITIONS)}")
    table = TABLES[name].load()
    shown = conditions_of(conditions, may_be_none=True)
    of_edits = TABLES[name].made_of == "counterfactuals"
    files = {
        condition: ConditionFiles(results, condition, shards)
        for condition in (*shown, *from_json(beside, list[Condition], "--beside"))
    }
    made_from = material(
        {} if of_edits else {condition: some.scores() for condition, some in files.items()},
        counterfactuals={
            condition: (record for record, _ in some.counterfactuals()) for condition, some in files.items() if of_edits
        },
        how=interval_of(interval),
        failed_edits=failed_edits,
        published=[line for file in reference or () for line in read_csv(file, Published)],
        test_targets=from_json(test_targets, list[str], "--test-targets"),
        known=from_json(known, dict[str, float], "--known"),
        exams=exam_errors(exams),
        expected=from_json(expected, dict[str, dict[str, float | None]], "--expected"),
        judge_error=from_json(judge_error, list[str], "--judge-error"),
        repeats=from_json(repeats, dict[str, str], "--repeats"),
    )
    rows = table.rows(shown, made_from)
    write_table(out, table.row, rows, table.render(rows))


def run_metrics(tables: TableFiles, out: MetricsOut) -> None:
    """Gather the headline figures of the tables for `dvc metrics`."""
    write_metrics("edct", TABLES, tables, metrics, out)


def run_figure(name: Annotated[str, which("figure", FIGURES)], table: ShownTable, out: FigureOut) -> None:
    """Draw one of the study's figures from the table that it shows (PNG, SVG and PDF)."""
    draw_figure(FIGURES, TABLES, name, table, out)


_NAME_CALLS = [stage for stage in STAGES if stage not in ("items", "scores")]


def run_calls(
    results: Results,
    conditions: Conditions,
    out: Archive,
    shards: Shards = 1,
    cache: CacheFile = None,
    pairs: Annotated[str, typer.Option(help="Conditions of given pairs: a JSON list of objects of names.")] = "[]",
) -> None:
    """Write the calls that the records of some conditions name into one archive, which replays them on another machine.

    A call that the cache lacks is taken from the archive that is there.
    """
    named = [
        stage_files(results, stage, condition, shards)
        for condition in conditions_of(conditions, may_be_none=pairs != "[]")
        for stage in _NAME_CALLS
    ]
    named += [pair_files(results, condition, shards) for condition in from_json(pairs, list[PairCondition], "--pairs")]
    files = dict.fromkeys(file for some in named for file in some)
    print(f"{export(opened(cache, new=True), calls_named(files), out)} calls in {out}")
