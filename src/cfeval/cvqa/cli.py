"""The steps that see a whole study, its tables and its figures; and the verbs about files that others made.

Labels of perceived gender of the people in COCO images, from a file that the user supplies (C-VQA, Section 4.3).

The paper uses those of Zhao, Wang and Russakovsky (ICCV 2021), which their authors give out on request. A row is one
person: `id`, the number of the COCO image, and `bb_gender`. Images with only women or only men are kept.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from cfeval.core.cli_options import OutFolder, StudyFile, from_json, read_study_params
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv
from cfeval.core.package import carried
from cfeval.core.records import ImageRef, Record, Status, failure
from cfeval.core.shards import records_of
from cfeval.core.text_files import csv_rows
from cfeval.cvqa.csv_format import CvqaResult, key_lines, read_questions, read_results
from cfeval.cvqa.files import Results, TableFile, usable
from cfeval.cvqa.plugins.question_sets import id_of
from cfeval.cvqa.records import SIDES, Answer, CvqaBuild, CvqaCondition, CvqaScore, QuestionPair, Reading
from cfeval.cvqa.stages.scores import scores
from cfeval.cvqa.step_params import TablesParams
from cfeval.cvqa.tables import FIGURES, TABLES, accuracy
from cfeval.cvqa.tables.accuracy import AccuracyRow, metrics, render_accuracy, rows_of
from cfeval.cvqa.tables.replies import CvqaTableData, PairStatistics, PublishedAnswer, cvqa_material, question_pairs
from cfeval.cvqa.tables.sets import STATISTICS
from cfeval.report.files import Figures, TablesFolder, draw_figures, write_metrics, write_table
from cfeval.report.tables import markdown
from cfeval.stats.intervals import Interval

# The paper's published figures.
REFERENCE = "data/reference/cvqa.csv"
# The tables whose headline figures `dvc metrics` shows.
IN_METRICS = ("table3", "table7", "builds")
R = TypeVar("R", bound=Record)


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
    questions = list(usable(read_questions(file)))
    for line in key_lines(questions, str(file)):
        print(line, file=sys.stderr)
    pairs = (PairStatistics(row.original, row.counterfactual, row.type, row.img_path) for row in questions)
    rows = STATISTICS.rows(CvqaTableData({}, pairs={file.stem: pairs}))
    rendered = STATISTICS.render(rows)
    print(markdown(rendered), end="")
    if out:
        write_table(out, STATISTICS.row, rows, rendered)


def run_tables(study: StudyFile, out: OutFolder, results: Results = Path("results/cvqa")) -> None:
    """Make the study's tables: CSV with every column, Markdown and LaTeX for readers; and headline figures as JSON.

    They are made of scores; `statistics` and `answers` of questions, `programs` also of answers, `reply_readers` and
    `open_answers` of readings, `builds` of what became of drafts. A table that has nothing to show is empty.
    """
    params = read_study_params(study, TablesParams)

    def records(stage: str, kind: type[R], *names: str, shards: int = params.shards) -> Iterator[R]:
        return records_of(results / stage, names, kind, shards)

    # For all tables, but for questions and readings, which two of them read each.
    material = cvqa_material(
        {condition: records("scores", CvqaScore, condition.set, condition.solver) for condition in params.conditions},
        solvers=params.solvers,
        sets=params.sets,
        interval=params.interval,
        published=read_csv(carried(REFERENCE), PublishedAnswer),
        genders=read_genders(Path(params.genders)) if params.genders else {},
        said={
            condition: records("answers", Answer, condition.set, condition.solver) for condition in params.of_programs()
        },
        built={name: records("fates", CvqaBuild, name, shards=1) for name in params.builds},
    )
    for name, listed in TABLES.items():
        table = listed.load()
        pairs = {
            name: question_pairs(records("questions", QuestionPair, name)) for name in (*params.sets, *params.builds)
        }
        readings = {
            (reader, condition): records("readings", Reading, reader, condition.set, condition.solver)
            for reader in params.readers
            for condition in params.conditions
        }
        rows = table.rows(replace(material, pairs=pairs, readings=readings))
        write_table(out / f"cvqa_{name}", table.row, rows, table.render(rows))
    write_metrics("cvqa", TABLES, IN_METRICS, metrics, out, "cvqa_metrics.json")


def run_figures(tables: TablesFolder, figure: Figures, out: OutFolder) -> None:
    """Draw figures of the study from its tables (PNG, SVG and PDF)."""
    draw_figures("cvqa", FIGURES, TABLES, figure, tables, out)


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
    settings = from_json(interval, Interval, "--interval")
    usable_results = usable(read_results(results))
    scored = (
        score for result in usable_results for score in scores({id_of(result.row): _pair(result)}, _answers(result))
    )
    condition = CvqaCondition(set=results.stem, solver=solver)
    rows = rows_of(cvqa_material({condition: scored}, interval=settings), "", [condition])
    letters = any(row.type.startswith("abs_counting") for row in rows)
    title = f"{results.name}: original and counterfactual questions, by type"
    rendered = render_accuracy(
        "cvqa_rate", title, rows, "Empty: no row.", more=[accuracy.TABLE7_NOTE] if letters else []
    )
    print(markdown(rendered), end="")
    if out:
        write_table(out, AccuracyRow, rows, rendered)


def _pair(result: CvqaResult) -> QuestionPair:
    """The row as the study files it; the image's name stands for its hash."""
    row = result.row
    return QuestionPair(
        id=id_of(row),
        image=ImageRef(path=row.img_path, sha256=sha256(row.img_path.encode()).hexdigest()),
        original=row.original,
        counterfactual=row.counterfactual,
        type=row.type,
        img_path=row.img_path,
    )


def _answers(result: CvqaResult) -> Iterator[Answer]:
    row, responses = result.row, (result.response.strip(), result.new_response.strip())
    for side, question, text in zip(SIDES, (row.original, row.counterfactual), responses, strict=True):
        status = failure(Status.OK if text else Status.UNPARSABLE, "answers", "empty response")
        yield Answer(id=id_of(row), side=side, asked=question.question, text=text, **status)


GENDER_COLUMNS = ("id", "bb_gender")
# By label in small letters; empty: a person of whom nobody could tell.
_GENDERS = {"female": "female", "male": "male", "unsure": "", "both": "", "": ""}
_GENDERS_ALLOWED = "Female, Male, Unsure, Both"
# Bad rows that are told one by one; digits of a COCO id at most.
_SHOWN_FAULTS, _DIGITS = 5, 12


@dataclass
class GenderLabels:
    """What a file says.

    `of` is `female` or `male` by COCO id, for images whose people are all of that kind; `mixed` counts the other
    images: of both kinds, or with a person of whom nothing is known. `bad` has a line for each row that cannot be used.
    """

    of: dict[int, str] = field(default_factory=dict)
    mixed: int = 0
    bad: list[str] = field(default_factory=list)


def read_genders(path: Path) -> dict[int, str]:
    """`female` or `male` by COCO id; rows that cannot be used are told on stderr. Raises as `read_gender_labels`."""
    labels = read_gender_labels(path)
    more = len(labels.bad) - _SHOWN_FAULTS
    lines = labels.bad[:_SHOWN_FAULTS] + ([f"{path}: {more} more rows cannot be used"] if more > 0 else [])
    for line in lines:
        print(line, file=sys.stderr)
    return labels.of


def read_gender_labels(path: Path) -> GenderLabels:
    """Read labels. A bad row is left out and told; a person whose label is bad is one of whom nothing is known.

    Raises:
        InputError: the file cannot be read, lacks a column, or has no row that can be used.
    """
    genders: dict[int, set[str]] = {}
    labels = GenderLabels()
    for row in csv_rows(path, GENDER_COLUMNS):
        image, label = row.cells["id"].strip(), row.cells["bb_gender"].strip()
        if not (image.isascii() and image.isdigit() and len(image) <= _DIGITS):
            labels.bad.append(f"{path}, line {row.line}: id '{image}' is no number of a COCO image")
            continue
        if label.lower() not in _GENDERS:
            labels.bad.append(f"{path}, line {row.line}: bb_gender '{label}' is none of {_GENDERS_ALLOWED}")
        genders.setdefault(int(image), set()).add(_GENDERS.get(label.lower(), ""))
    if not genders:
        raise InputError(f"{path}: no label in it; a row is a person with {' and '.join(GENDER_COLUMNS)}")
    labels.of = {image: next(iter(kinds)) for image, kinds in genders.items() if len(kinds) == 1 and "" not in kinds}
    labels.mixed = len(genders) - len(labels.of)
    return labels
