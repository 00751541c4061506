"""The verbs of the study that are no stage: tables, figures and metrics of results, and files that others made."""

import sys
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.core.cli_options import FigureOut, MetricsOut, ShownTable, TableFiles, TableOut, from_json, which
from cfeval.core.errors import InputError, nearest
from cfeval.core.jsonl import read_csv
from cfeval.core.records import ImageRef, Status, failure
from cfeval.core.shards import records_of
from cfeval.cvqa.building.keys import key_lines
from cfeval.cvqa.csv_format import CvqaResult, read_questions, read_results
from cfeval.cvqa.figures import FIGURES
from cfeval.cvqa.files import TableFile, usable
from cfeval.cvqa.gender_labels import read_genders
from cfeval.cvqa.plugins.question_sets.csv import id_of
from cfeval.cvqa.records import Answer, CvqaBuild, CvqaCondition, CvqaScore, QuestionPair, Reading, Side
from cfeval.cvqa.stages.scores import scores
from cfeval.cvqa.stages.statistics import PairStatistics, question_pairs
from cfeval.cvqa.tables import TABLES, accuracy, question_statistics
from cfeval.cvqa.tables.accuracy import render_accuracy, rows_of
from cfeval.cvqa.tables.headline import metrics
from cfeval.cvqa.tables.replies import (
    AccuracyRow,
    CvqaTableData,
    PublishedAnswer,
    SetFacts,
    SolverFacts,
    cvqa_material,
)
from cfeval.report.from_tables import draw_figure, write_metrics
from cfeval.report.tables import RenderedTable, markdown, write_table
from cfeval.stats.intervals import Interval

OF_QUESTIONS = ("statistics", "answers")
OF_BUILDS = ("builds",)
"""Tables that are made from something else than scores."""
OF_READINGS = ("reply_readers",)
"""Tables that are made from scores and what language models read in replies."""
OF_ANSWERS = ("programs",)
"""Tables that are made from scores and answers, of conditions whose solvers write programs."""


def run_statistics(
    file: Annotated[
        Path, typer.Argument(help="CSV: img_path, query, answer, new query, new answer, type; more columns may follow.")
    ],
    out: TableFile = None,
) -> None:
    """Print any file of questions in the published layout in figures: sizes, lengths, answers, trivial baselines.

    Images are not needed. A row that cannot be used is named in one line and left out. Where a question states its
    change in full, its key is worked out from the original answer; one that does not follow is named in one line, and
    nothing is changed.
    """
    found = list(usable(read_questions(file)))
    for line in key_lines(found, str(file)):
        print(line, file=sys.stderr)
    pairs = (PairStatistics(row.original, row.counterfactual, row.type, row.img_path) for row in found)
    rows = question_statistics.statistics_rows(CvqaTableData({}, pairs={file.stem: pairs}))
    rendered = question_statistics.render_statistics(rows)
    print(markdown(rendered), end="")
    if out:
        write_table(out, question_statistics.STATISTICS.row, rows, rendered)


def run_figure(name: Annotated[str, which("figure", FIGURES)], table: ShownTable, out: FigureOut) -> None:
    """Draw one of the study's figures from the table that it shows (PNG, SVG and PDF)."""
    draw_figure(FIGURES, TABLES, name, table, out)


def run_metrics(tables: TableFiles, out: MetricsOut) -> None:
    """Gather the headline figures of the tables for `dvc metrics`."""
    write_metrics("cvqa", TABLES, tables, metrics, out)


def run_table(
    name: Annotated[str, which("table", TABLES)],
    out: TableOut,
    results: Annotated[Path, typer.Option(help="The study's results: questions/, answers/, scores/, … in it.")] = Path(
        "results/cvqa"
    ),
    shards: Annotated[int, typer.Option(min=1, max=999, help="Into how many files each stage is cut.")] = 1,
    conditions: Annotated[str, typer.Option(help='The conditions, as JSON: [{"set": …, "solver": …}].')] = "[]",
    sets: Annotated[str, typer.Option(help='What sets are, as JSON: {"NAME": {"subset": false}}.')] = "{}",
    solvers: Annotated[
        str, typer.Option(help='What solvers are, as JSON: {"NAME": {"kind": "chat", "paper": …}}.')
    ] = "{}",
    builds: Annotated[list[str] | None, typer.Option("--build", help="A set that was built; once for each.")] = None,
    readers: Annotated[list[str] | None, typer.Option("--reader", help="A reply reader; once for each.")] = None,
    interval: Annotated[str, typer.Option(help="How intervals are computed: `interval` as JSON.")] = "{}",
    genders: Annotated[
        Path | None, typer.Option(help="Perceived gender of people in COCO images (CSV: id, bb_gender).")
    ] = None,
    reference: Annotated[
        list[Path] | None, typer.Option("--reference", help="Published cells (CSV); may be repeated.")
    ] = None,
) -> None:
    """Make one of the study's tables from its results: CSV with every column, Markdown and LaTeX for readers.

    Without conditions, sets and builds it is an empty table.
    """
    if name not in TABLES:
        raise InputError(f"unknown table '{name}'; {nearest(name, TABLES)}")
    asked = from_json(conditions, list[CvqaCondition], "--conditions")
    of_set = from_json(sets, dict[str, SetFacts], "--sets")
    of_solver = from_json(solvers, dict[str, SolverFacts], "--solvers")
    if name in OF_ANSWERS:
        asked = [condition for condition in asked if _programs(of_solver, condition)]
    of_others = name in (*OF_QUESTIONS, *OF_BUILDS) or (name in OF_READINGS and not readers)
    scored = () if of_others else asked
    material = cvqa_material(
        {
            condition: records_of(results / "scores", (condition.set, condition.solver), CvqaScore, shards)
            for condition in scored
        },
        solvers=of_solver,
        sets=of_set,
        interval=from_json(interval, Interval, "--interval"),
        published=[line for file in reference or () for line in read_csv(file, PublishedAnswer)],
        genders=read_genders(genders) if genders else {},
        **_others(name, results, shards, asked, [*of_set, *(builds or ())], builds or [], readers or []),
    )
    table = TABLES[name].load()
    rows = table.rows(material)
    write_table(out, table.row, rows, table.render(rows))


def _programs(solvers: dict[str, SolverFacts], condition: CvqaCondition) -> bool:
    """Whether a condition's answers are programs', or those of an agent, whose calls are recorded alike."""
    return condition.solver in solvers and solvers[condition.solver].kind in ("program", "agent")


def _others(
    name: str,
    results: Path,
    shards: int,
    conditions: list[CvqaCondition],
    sets: list[str],
    builds: list[str],
    readers: list[str],
) -> dict[str, Any]:
    """What a table is made from beside scores."""
    if name in OF_QUESTIONS:
        return {
            "pairs": {
                of: question_pairs(records_of(results / "questions", [of], QuestionPair, shards))
                for of in dict.fromkeys(sets)
            }
        }
    if name in OF_ANSWERS:
        return {
            "said": {
                condition: records_of(results / "answers", (condition.set, condition.solver), Answer, shards)
                for condition in conditions
            }
        }
    if name in OF_READINGS:
        return {
            "readings": {
                (reader, one): records_of(results / "readings", (reader, one.set, one.solver), Reading, shards)
                for reader in readers
                for one in conditions
            }
        }
    if name in OF_BUILDS:
        return {"built": {of: records_of(results / "fates", [of], CvqaBuild, 1) for of in builds}}
    return {}


def run_rate(
    results: Annotated[
        Path, typer.Argument(help="CSV: the columns of the published questions, then response and new_response.")
    ],
    solver: Annotated[str, typer.Option(help="What the table calls whoever answered.")] = "response",
    interval: Annotated[str, typer.Option(help="How intervals are computed: `interval` as JSON.")] = "{}",
    out: TableFile = None,
) -> None:
    """Score what another tool answered: a CSV in the published layout with the columns `response` and `new_response`.

    Both readers read every response; accuracies are by type, baselines below. Images are not needed: rows that name the
    same one share it. A row that cannot be used is named in one line and left out; an empty response is no answer, so
    that its pair has no score.
    """
    how = from_json(interval, Interval, "--interval")
    found = usable(read_results(results))
    scored = (score for one in found for score in scores({id_of(one.row): _pair(one)}, _said(one)))
    condition = CvqaCondition(set=results.stem, solver=solver)
    rows = rows_of(cvqa_material({condition: scored}, interval=how), "", [condition])
    rendered = _render(results, rows)
    print(markdown(rendered), end="")
    if out:
        write_table(out, AccuracyRow, rows, rendered)


def _pair(one: CvqaResult) -> QuestionPair:
    """The row as the study files it; the image's name stands for its hash."""
    row = one.row
    return QuestionPair(
        id=id_of(row),
        image=ImageRef(path=row.img_path, sha256=sha256(row.img_path.encode()).hexdigest()),
        original=row.original,
        counterfactual=row.counterfactual,
        type=row.type,
        img_path=row.img_path,
    )


def _said(one: CvqaResult) -> tuple[Answer, Answer]:
    row = one.row
    return (
        _reply(id_of(row), "original", row.original.question, one.response),
        _reply(id_of(row), "counterfactual", row.counterfactual.question, one.new_response),
    )


def _reply(item: str, side: Side, asked: str, text: str) -> Answer:
    status = Status.OK if text.strip() else Status.UNPARSABLE
    return Answer(id=item, side=side, asked=asked, text=text.strip(), **failure(status, "answers", "empty response"))


def _render(results: Path, rows: list[AccuracyRow]) -> RenderedTable:
    letters = any(row.type.startswith("abs_counting") for row in rows)
    title = f"{results.name}: original and counterfactual questions, by type"
    return render_accuracy("cvqa_rate", title, rows, "Empty: no row.", more=[accuracy.TABLE7_NOTE] if letters else [])
