"""What the verbs that make tables from scores share: their options."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import from_json
from cfeval.core.errors import InputError
from cfeval.core.record import MOST_SHARDS
from cfeval.edct.exam.table import exam_error
from cfeval.edct.exam.verdict import ExamError
from cfeval.edct.records import Condition
from cfeval.stats.intervals import Interval

Conditions = Annotated[
    str, typer.Option("--conditions", help="The conditions to show, in order: a JSON list of objects of names.")
]
Results = Annotated[Path, typer.Option("--results", help="Folder of the study's results, such as results/edct.")]
Shards = Annotated[
    int, typer.Option("--shards", min=1, max=MOST_SHARDS, help="Into how many files each stage of a condition is cut.")
]
ScoreFiles = Annotated[
    list[Path],
    typer.Argument(help="Score files (CSV) or verdicts of given pairs (JSONL); shards are joined."),
]
IntervalOption = Annotated[
    str, typer.Option("--interval", help="How intervals are computed: `interval` of params.yaml as JSON.")
]


def conditions_of(text: str, may_be_none: bool = False) -> list[Condition]:
    """The conditions of `--conditions`; InputError where there are none, but for a table that may be empty."""
    conditions = from_json(text, list[Condition], "--conditions")
    if not conditions and not may_be_none:
        raise InputError("--conditions: the list is empty; name at least one condition")
    return conditions


def interval_of(text: str) -> Interval:
    """The settings of `--interval`."""
    return from_json(text, Interval, "--interval")


def exam_errors(text: str) -> dict[str, ExamError]:
    """The error of the judges of `--exams`, from the table that the exam of each wrote."""
    return {name: exam_error(Path(path), name) for name, path in from_json(text, dict[str, str], "--exams").items()}
