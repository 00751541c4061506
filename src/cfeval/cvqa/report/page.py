"""The report of cvqa: accuracy with and without the "if", the tables, and every pair of questions.

One static HTML page without external resources, which works from the file system (C-VQA, Section 4).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.core.cli_options import Out
from cfeval.core.files import write_text
from cfeval.core.told import StudyFile, read_told
from cfeval.cvqa.asked import Conditions
from cfeval.cvqa.figures import FIGURES
from cfeval.cvqa.files import Results
from cfeval.cvqa.records import CvqaCondition
from cfeval.cvqa.report.items import ENDINGS, READER, items_of, sets_of
from cfeval.cvqa.tables import TABLES
from cfeval.report.bars import change_bar
from cfeval.report.digits import two
from cfeval.report.gallery import gallery_of
from cfeval.report.images import Images
from cfeval.report.page import Progress, Row, Section, not_used_of, page_of, sections_of

ALPHA = 0.05
"""An adjusted p-value below it says that accuracy differs."""
_BAR = 180.0
_HEADINGS = (
    ("", "Solver"),
    ("fitcol", "Accuracy: as it is (ring) to under the “if” (dot)"),
    ("num", "As it is"),
    ("num", "Under the “if”"),
    ("num", "Scored"),
)
_CAPTION = (
    "The figure beside the bar is the difference, counterfactual − original, with its 95 % interval, over the pairs "
    "with a score on both sides, as the released rules read the replies. What they cannot read counts as wrong."
)
_READING = (
    ("Pair", "A question, and the same question with an added “if” (a counterfactual presupposition)."),
    ("Accuracy", "The share of questions whose reply, as the released rules read it, is the right answer."),
    ("Robust reader", "A second reader of the replies; an item shows its reading where it is another one."),
    ("Program", "What a solver that writes programs ran: its code, each call with its result, and why it failed."),
    ("Not measured", "Why a reply is wrong: the page shows the replies, so that readers can see for themselves."),
)


def run(
    study: StudyFile,
    out: Out,
    results: Results = Path("results/cvqa"),
    per_condition: Annotated[int, typer.Option(min=1, help="At most so many pairs of each set in the gallery.")] = 120,
) -> None:
    """Write the report: accuracy with and without the "if", the tables, and every pair, on one HTML page."""
    write(read_told(study, Conditions), out, results, per_condition)


def write(
    asked: Conditions, out: Path, results: Path, per_condition: int = 120, progress: Progress | None = None
) -> None:
    """Write the page of what a study's results hold; those of a run at work with its progress.

    Raises:
        InputError: a record file is missing or broken.
    """
    of, folders = asked.conditions, (results / "tables", results / "figures")
    sections = list(sections_of("cvqa", (TABLES, FIGURES), list(TABLES), folders, out.parent))
    images, rows = Images(out.parent), shown_rows(sections)
    shown = [
        ({"title": name, "models": solvers}, *items_of(name, solvers, results, asked.shards, images, per_condition))
        for name, solvers in sets_of(of).items()
    ]
    built_in = list(dict.fromkeys(row.solver for row in rows if row.test_world))
    caveat = f"{', '.join(built_in)}: built-in test solvers, which stand for no real model."
    text = page_of(
        "study.html.j2",
        "cvqa.js",
        "Are the answers still right if something were different?",
        sections,
        gallery_of(shown, images, out),
        ENDINGS,
        progress,
        not_used_of(results / "questions", sets_of(of), asked.shards),
        kicker=_kicker(of, rows),
        finding=finding(rows),
        caveat=caveat if built_in else "",
        caption=_CAPTION,
        headings=_HEADINGS,
        rows=[_row(row) for row in rows],
        about_items="A row is one pair of questions with every solver beside it, those first that most solvers "
        "answer wrongly. Open one to see both questions, replies, and programs with their calls.",
        reading=_READING,
    )
    write_text(out, text)


def shown_rows(sections: Sequence[Section]) -> list[Any]:
    """The rows of the first screen: of each set and solver all types together where a table has that, else each type.

    Subsets and baselines are left out.
    """
    rows = {section.name: section.rows for section in sections}
    of = [
        row
        for name in ("table3", "table7")
        for row in rows.get(name, ())
        if row.kind != "baseline" and row.reader == READER and row.original is not None
    ]
    whole = {(row.set, row.solver) for row in of if row.type == "all"}
    return [row for row in of if (row.type == "all") == ((row.set, row.solver) in whole)]


def finding(rows: Sequence[Any]) -> str:
    """What was found, in two sentences made from the rows of the first screen."""
    if not rows:
        return "No question has a score."
    fell = [row for row in rows if row.p_holm is not None and row.p_holm < ALPHA and row.difference < 0]
    names = list(dict.fromkeys(row.solver for row in rows))
    lost = list(dict.fromkeys(row.solver for row in fell))
    if not fell:
        return f"Under the “if” none of {len(names)} solvers is shown to answer fewer questions rightly."
    worst = min(fell, key=lambda row: (row.difference, row.solver))
    rest = [name for name in names if name not in lost]
    told = f"Under the “if” {len(lost)} of {len(names)} solvers answer fewer questions rightly: {', '.join(lost)}"
    told += f"; not shown for {', '.join(rest)}. " if rest else ". "
    return told + (
        f"The greatest loss is that of {worst.solver} on {_among(worst)}, from {two(worst.original)} to "
        f"{two(worst.counterfactual)} over {worst.n_scored:,} pairs."
    )


def _kicker(of: Sequence[CvqaCondition], rows: Sequence[Any]) -> str:
    """What was tested, on what."""
    sizes: Mapping[str, int] = {
        name: sum({row.type: row.n for row in rows if row.set == name}.values()) for name in sets_of(of)
    }
    solvers = len({one.solver for one in of})
    parts = [f"{name}: {size:,} pairs" if size else name for name, size in sizes.items()]
    return " · ".join(("Counterfactual questions", f"{solvers} solver{'s' * (solvers != 1)}", *parts))


def _among(row: Any) -> str:
    return row.set if row.type == "all" else f"{row.set}, {row.type}"


def _row(row: Any) -> Row:
    """A set, solver and type on the first screen."""
    interval = "" if row.difference_lo is None else f"{two(row.difference_lo)} to {two(row.difference_hi)}"
    label = f"{row.solver} on {_among(row)}: {two(row.original)} as it is, {two(row.counterfactual)} under the if"
    surely = row.p_holm is not None and row.p_holm < ALPHA
    return Row(
        name=row.solver,
        among=_among(row),
        bar=change_bar(row.original, row.counterfactual, label, _BAR),
        value=two(row.difference),
        interval=interval,
        cells=(
            ("As it is", two(row.original)),
            ("Under the “if”", two(row.counterfactual)),
            ("Scored", f"{row.n_scored:,} of {row.n:,}"),
        ),
        tone="c-do-not-trust" if surely and row.difference < 0 else "c-trust" if surely else "",
    )
