"""Print any file of questions in the published layout in figures: sizes, lengths, answers, trivial baselines."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.cvqa.common import TableFile, usable
from cfeval.cli.output import write_table
from cfeval.io.cvqa_csv import read_questions
from cfeval.studies.cvqa.statistics import QuestionPair
from cfeval.tables import cvqa_statistics
from cfeval.tables.cvqa_material import CvqaMaterial
from cfeval.tables.formats import markdown


def run(
    file: Annotated[
        Path, typer.Argument(help="CSV: img_path, query, answer, new query, new answer, type; more columns may follow.")
    ],
    out: TableFile = None,
) -> None:
    """Print any file of questions in the published layout in figures: sizes, lengths, answers, trivial baselines.

    Images are not needed. A row that cannot be used is named in one line and left out.
    """
    found = usable(read_questions(file))
    pairs = (QuestionPair(row.original, row.counterfactual, row.type, row.img_path) for row in found)
    rows = cvqa_statistics.rows(CvqaMaterial({}, pairs={file.stem: pairs}))
    sheet = cvqa_statistics.sheet(rows)
    print(markdown(sheet), end="")
    if out:
        write_table(out, cvqa_statistics.TABLE.row, rows, sheet)
