"""Make one of the study's tables from its results: CSV with every column, Markdown and LaTeX for readers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.cli.output import TableOut, from_json, write_table
from cfeval.errors import InputError, nearest
from cfeval.io.gender_labels import read_genders
from cfeval.io.records import read_csv
from cfeval.io.shards import records_of
from cfeval.params.edct import Interval
from cfeval.records.cvqa import CvqaArm, CvqaBuild, CvqaScore, Pair, Said
from cfeval.records.cvqa_tables import PublishedAnswer
from cfeval.studies.cvqa.statistics import QuestionPair
from cfeval.tables.cvqa_material import AnswererFacts, CvqaMaterial, SetFacts, cvqa_material
from cfeval.tables.names_cvqa import TABLES

OF_QUESTIONS = ("statistics", "answers")
OF_BUILDS = ("builds",)
"""Tables that are made from something else than scores."""
OF_ANSWERS = ("programs",)
"""Tables that are made from scores and answers, of arms whose answerers write programs."""


def run(
    name: Annotated[str, typer.Argument(help=f"Which table: {', '.join(TABLES)}.")],
    out: TableOut,
    results: Annotated[Path, typer.Option(help="The study's results: questions/, answers/, scores/, … in it.")] = Path(
        "results/cvqa"
    ),
    shards: Annotated[int, typer.Option(min=1, max=999, help="Into how many files each stage is cut.")] = 1,
    arms: Annotated[str, typer.Option(help='The arms, as JSON: [{"set": …, "answerer": …}].')] = "[]",
    sets: Annotated[str, typer.Option(help='What sets are, as JSON: {"NAME": {"subset": false}}.')] = "{}",
    answerers: Annotated[
        str, typer.Option(help='What answerers are, as JSON: {"NAME": {"kind": "chat", "paper": …}}.')
    ] = "{}",
    builds: Annotated[list[str] | None, typer.Option("--build", help="A set that was built; once for each.")] = None,
    interval: Annotated[str, typer.Option(help="How intervals are computed: `interval` as JSON.")] = "{}",
    genders: Annotated[
        Path | None, typer.Option(help="Perceived gender of people in COCO images (CSV: id, bb_gender).")
    ] = None,
    reference: Annotated[
        list[Path] | None, typer.Option("--reference", help="Published cells (CSV); may be repeated.")
    ] = None,
) -> None:
    """Make one of the study's tables from its results: CSV with every column, Markdown and LaTeX for readers.

    Without arms, sets and builds it is an empty table.
    """
    if name not in TABLES:
        raise InputError(f"unknown table '{name}'; {nearest(name, TABLES)}")
    asked = from_json(arms, list[CvqaArm], "--arms")
    of_set = from_json(sets, dict[str, SetFacts], "--sets")
    of_answerer = from_json(answerers, dict[str, AnswererFacts], "--answerers")
    if name in OF_ANSWERS:
        asked = [arm for arm in asked if _programs(of_answerer, arm)]
    material = cvqa_material(
        {arm: records_of(results / "scores", _names(arm), CvqaScore, shards) for arm in asked if _of_scores(name)},
        answerers=of_answerer,
        sets=of_set,
        interval=from_json(interval, Interval, "--interval"),
        published=[line for file in reference or () for line in read_csv(file, PublishedAnswer)],
        genders=read_genders(genders) if genders else {},
        **_others(name, results, shards, asked, [*of_set, *(builds or ())], builds or []),
    )
    _write(name, material, out)


def _programs(answerers: dict[str, AnswererFacts], arm: CvqaArm) -> bool:
    """Whether an arm's answers are programs'."""
    return arm.answerer in answerers and answerers[arm.answerer].kind == "program"


def _of_scores(name: str) -> bool:
    return name not in (*OF_QUESTIONS, *OF_BUILDS)


def _others(
    name: str, results: Path, shards: int, arms: list[CvqaArm], sets: list[str], builds: list[str]
) -> dict[str, Any]:
    """What a table is made from beside scores."""
    if name in OF_QUESTIONS:
        return {"pairs": {of: _questions(results, of, shards) for of in dict.fromkeys(sets)}}
    if name in OF_ANSWERS:
        return {"said": {arm: records_of(results / "answers", _names(arm), Said, shards) for arm in arms}}
    if name in OF_BUILDS:
        return {"built": {of: records_of(results / "fates", [of], CvqaBuild, 1) for of in builds}}
    return {}


def _questions(results: Path, of: str, shards: int) -> Iterator[QuestionPair]:
    for pair in records_of(results / "questions", [of], Pair, shards):
        yield QuestionPair(pair.original, pair.counterfactual, pair.type, pair.image.sha256)


def _names(arm: CvqaArm) -> tuple[str, str]:
    return arm.set, arm.answerer


def _write(name: str, material: CvqaMaterial, out: Path) -> None:
    table = TABLES[name].load()
    rows = table.rows(material)
    write_table(out, table.row, rows, table.sheet(rows))
