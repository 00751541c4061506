"""Score what another tool answered: a CSV in the published layout with the columns `response` and `new_response`."""

from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from cfeval.backends.question_sets.csv import id_of
from cfeval.cli.cvqa.common import TableFile, usable
from cfeval.cli.output import from_json, write_table
from cfeval.io.cvqa_csv import CvqaResult, read_results
from cfeval.params.edct import Interval
from cfeval.records.common import ImageRef, Status
from cfeval.records.cvqa import CvqaArm, Pair, Said, Side
from cfeval.records.cvqa_tables import AccuracyRow
from cfeval.records.outcomes import ended
from cfeval.studies.cvqa.scores import scores
from cfeval.tables import cvqa_table7
from cfeval.tables.cvqa_accuracy import accuracy_sheet, rows_of
from cfeval.tables.cvqa_material import cvqa_material
from cfeval.tables.formats import Sheet, markdown


def run(
    results: Annotated[
        Path, typer.Argument(help="CSV: the columns of the published questions, then response and new_response.")
    ],
    answerer: Annotated[str, typer.Option(help="What the table calls whoever answered.")] = "response",
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
    arm = CvqaArm(set=results.stem, answerer=answerer)
    rows = rows_of(cvqa_material({arm: scored}, interval=how), "", [arm])
    sheet = _sheet(results, rows)
    print(markdown(sheet), end="")
    if out:
        write_table(out, AccuracyRow, rows, sheet)


def _pair(one: CvqaResult) -> Pair:
    """The row as the study files it; the image's name stands for its hash."""
    row = one.row
    return Pair(
        id=id_of(row),
        image=ImageRef(path=row.img_path, sha256=sha256(row.img_path.encode()).hexdigest()),
        original=row.original,
        counterfactual=row.counterfactual,
        type=row.type,
        img_path=row.img_path,
    )


def _said(one: CvqaResult) -> tuple[Said, Said]:
    row = one.row
    return (
        _reply(id_of(row), "original", row.original.question, one.response),
        _reply(id_of(row), "counterfactual", row.counterfactual.question, one.new_response),
    )


def _reply(item: str, side: Side, asked: str, text: str) -> Said:
    status = Status.OK if text.strip() else Status.UNPARSABLE
    return Said(id=item, side=side, asked=asked, text=text.strip(), **ended(status, "answers", "empty response"))


def _sheet(results: Path, rows: list[AccuracyRow]) -> Sheet:
    letters = any(row.type.startswith("abs_counting") for row in rows)
    title = f"{results.name}: original and counterfactual questions, by type"
    return accuracy_sheet("cvqa_rate", title, rows, "Empty: no row.", more=[cvqa_table7.NOTE] if letters else [])
