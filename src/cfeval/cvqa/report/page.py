"""The report of cvqa: accuracy with and without the "if", the tables, and every pair of questions.

One static HTML page without external resources, which works from the file system (C-VQA, Section 4). Its gallery has a
*view* for each set of questions: one pair with all solvers beside each other, the most wrong answers first. Rows are
JSON; images are numbers (`report.html`).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Annotated, Any

import typer
from markupsafe import Markup

from cfeval.core.cli_options import Out, StudyFile, read_study_params
from cfeval.core.files import write_text
from cfeval.core.records import Status
from cfeval.cvqa.files import Results
from cfeval.cvqa.records import AS_PUBLISHED, HEADLINE, SIDES, Answer, CvqaCondition, CvqaScore, QuestionPair
from cfeval.cvqa.step_params import StudyConditions
from cfeval.cvqa.tables import FIGURES, TABLES
from cfeval.cvqa.tables.accuracy import PUBLISHED, SHOWN, AccuracyRow, Shown, shown
from cfeval.cvqa.tables.items import range_of
from cfeval.report.bars import change_bar
from cfeval.report.digits import two
from cfeval.report.gallery import Item, gallery_of, records_at
from cfeval.report.html import Images
from cfeval.report.page import Progress, Row, not_used_of, page_of, sections_of
from cfeval.report.tables import limits

ENDINGS: Mapping[str, tuple[str, str, str]] = {
    "both": ("both right", "Right on the original and on the counterfactual question", "fits"),
    "original": ("only as it is", "Right on the original question, wrong under the “if”", "stayed"),
    "counterfactual": ("only “if”", "Wrong on the original question, right under the “if”", "also"),
    "neither": ("both wrong", "Wrong on both questions", "zero"),
    "right": ("right", "Right; the question under the “if” alone was asked", "fits"),
    "wrong": ("wrong", "Wrong; the question under the “if” alone was asked", "zero"),
    "missing": ("no score", "A reply to one of the questions is missing, or cannot be read", "missing"),
}
"""How a pair ends for a solver: in two words, in a sentence, and its sign. Of several orders of options all count."""
MOST_STEPS = 20
"""Calls of a program that are shown."""
_Scores = dict[str, list[CvqaScore]]


def sets_of(conditions: Sequence[CvqaCondition]) -> dict[str, list[str]]:
    """The sets of some conditions, each with its solvers, in their order."""
    solvers: dict[str, list[str]] = defaultdict(list)
    for condition in conditions:
        solvers[condition.set].append(condition.solver)
    return solvers


def items_of(
    name: str, solvers: Sequence[str], results: Path, shards: int, images: Images, most: int
) -> tuple[list[Item], int]:
    """The rows of a set, those first that most solvers answer wrongly; and how many more there are.

    Args:
        name: the set.
        solvers: who was asked.
        results: the study's results.
        shards: into how many files each stage is cut.
        images: those of the page.
        most: at most so many rows.

    Raises:
        InputError: a record file is missing or broken.
    """
    wrong: Counter[str] = Counter()
    for solver in solvers:
        for score, _ in records_at(results / "scores" / name / solver, CvqaScore, shards):
            wrong[score.id] += score.correct.get(HEADLINE) == 0
    ids = nsmallest(most, wrong, key=lambda item: (-wrong[item], item))
    place, chosen = results / "questions" / name, set(ids)
    rows = {
        pair.id: _pair_row(pair, folder, images)
        for pair, folder in records_at(place, QuestionPair, shards)
        if pair.id in chosen
    }
    for solver in solvers:
        scores, answers = (
            _by_item(results / stage / name / solver, kind, shards, chosen)
            for stage, kind in (("scores", CvqaScore), ("answers", Answer))
        )
        for item in rows.keys() & scores.keys():
            rows[item]["m"][solver] = _cell(scores[item], answers.get(item, []))
    return [rows[item] for item in ids if item in rows], len(wrong) - len(ids)


def _by_item(place: Path, kind: type[Any], shards: int, ids: Collection[str]) -> dict[str, list[Any]]:
    records: dict[str, list[Any]] = defaultdict(list)
    for record, _ in records_at(place, kind, shards):
        if record.id in ids:
            records[record.id].append(record)
    return records


def _pair_row(pair: QuestionPair, folder: Path, images: Images) -> Item:
    return {
        "id": pair.id,
        "q": pair.counterfactual.question,
        "ref": pair.counterfactual.answer,
        "kind": pair.type,
        "img": images.number(folder, pair.image),
        "more": [images.number(folder, ref) for ref in pair.all_images[1:]],
        "changed": pair.changed_image is not None,
        "sha": pair.image.sha256,
        "sides": {side: {"q": question.question, "a": question.answer} for side, question in pair.questions.items()},
        "m": {},
    }


def _cell(scores: Sequence[CvqaScore], answers: Sequence[Answer]) -> Item:
    """What a solver said to both questions, a turn a reply."""
    replies = {(answer.side, answer.option_order): answer for answer in answers}
    ordered = sorted(scores, key=lambda score: (SIDES.index(score.side), score.option_order))
    turns = [_turn(score, replies.get((score.side, score.option_order))) for score in ordered]
    return {"o": _ending(ordered), "t": turns}


def _ending(scores: Sequence[CvqaScore]) -> str:
    right = {side: [score.correct.get(HEADLINE) for score in scores if score.side == side] for side in SIDES}
    if not right["original"] and None not in right["counterfactual"]:
        return "right" if all(right["counterfactual"]) else "wrong"
    if any(not correct or None in correct for correct in right.values()):
        return "missing"
    original, counterfactual = (all(right[side]) for side in SIDES)
    if original:
        return "both" if counterfactual else "original"
    return "counterfactual" if counterfactual else "neither"


def _turn(score: CvqaScore, answer: Answer | None) -> Item:
    """A reply, and how it was read; what is not there is left out."""
    turn: Item = {"side": score.side, "order": score.option_order, "text": answer.text if answer else ""}
    if score.status == Status.OK:
        turn |= {"ok": score.correct[HEADLINE], "read": score.read.get(HEADLINE)}
        if score.read.get(AS_PUBLISHED) != score.read.get(HEADLINE):
            turn["published"] = score.read.get(AS_PUBLISHED)
    else:
        turn |= {"status": score.status.value.replace("_", " "), "why": score.reason}
    if answer is not None and answer.program is not None:
        steps = [[step.line, step.call, step.arguments, step.result] for step in answer.program.trace[:MOST_STEPS]]
        program = {
            "code": answer.program.code,
            "result": answer.program.result,
            "fault": answer.program.fault,
            "fallback": answer.program.fallback,
        }
        turn["prog"] = program | {"trace": steps, "more": max(0, len(answer.program.trace) - MOST_STEPS)}
    return turn


ALPHA = 0.05
"""An adjusted p-value below it says that accuracy differs."""
_BAR = 180.0
_HEADINGS = (
    ("", "Solver"),
    ("fitcol", "Accuracy: as it is (ring) to under the “if” (dot)"),
    ("num", "As it is"),
    ("num", "Under the “if”"),
    ("num", "Scored"),
    ("num", "As published"),
)
_CAPTION = (
    "The figure beside the bar is the difference, counterfactual − original, with its 95 % interval, as the robust "
    "reader reads the replies. A reply that it cannot read has no score; scored: pairs with a score on both sides; "
    f"brackets: the figure over all pairs, whatever the missing scores are. {PUBLISHED}"
)
MOST_NAMES = 3
"""Solvers that the first sentence names; of more it says how many."""
_READING = (
    ("Pair", "A question, and the same question with an added “if” (a counterfactual presupposition)."),
    ("Accuracy", "The share of questions whose reply, as the robust reader reads it, is the right answer."),
    ("Robust reader", "It reads what a reply says clearly, and nothing else; what it cannot read has no score."),
    ("As published", "The released rules; an item shows their reading where it is another one."),
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
    write(read_study_params(study, StudyConditions), out, results, per_condition)


def write(
    asked: StudyConditions, out: Path, results: Path, per_condition: int = 120, progress: Progress | None = None
) -> None:
    """Write the page of what a study's results hold; those of a run at work with its progress.

    Raises:
        InputError: a record file is missing or broken.
    """
    conditions, folders = asked.conditions, (results / "tables", results / "figures")
    sections = list(sections_of("cvqa", (TABLES, FIGURES), list(TABLES), folders, out.parent))
    # The rows of the first screen; one of which no pair has a score says so.
    headline_rows = shown({section.name: section.rows for section in sections if section.name in SHOWN})
    headlines = [headline for headline in headline_rows if headline.row.n]
    rows = [headline.row for headline in headlines]
    images = Images(out.parent)
    views = [
        ({"title": name, "models": solvers}, *items_of(name, solvers, results, asked.shards, images, per_condition))
        for name, solvers in sets_of(conditions).items()
    ]
    # What was tested, on what.
    sizes: Mapping[str, int] = {
        name: sum({row.type: row.n for row in rows if row.set == name}.values()) for name in sets_of(conditions)
    }
    solvers = len({condition.solver for condition in conditions})
    parts = [f"{name}: {size:,} pairs" if size else name for name, size in sizes.items()]
    text = page_of(
        "study.html.j2",
        "cvqa.js",
        "Are the answers still right if something were different?",
        sections,
        gallery_of(views, images, out),
        ENDINGS,
        progress,
        not_used_of(results / "questions", sets_of(conditions), asked.shards),
        kicker=" · ".join(("Counterfactual questions", f"{solvers} solver{'s' * (solvers != 1)}", *parts)),
        finding=finding([row for row in rows if _has_figure(row)]),
        caveat=test_bed(rows),
        caption=_CAPTION,
        headings=_HEADINGS,
        rows=[_row(headline) for headline in headlines],
        about_items="A row is one pair of questions with every solver beside it, those first that most solvers "
        "answer wrongly. Open one to see both questions, replies, and programs with their calls.",
        reading=_READING,
    )
    write_text(out, text)


def _has_figure(row: AccuracyRow) -> bool:
    return row.counterfactual is not None or row.original is not None


def finding(rows: Sequence[AccuracyRow]) -> str:
    """What was found, in two sentences made from the rows of the first screen; of a user's solvers where there are any.

    Args:
        rows: by the robust reader.
    """
    if not rows:
        return "No question has a score."
    own_rows = [row for row in rows if not row.test_world] or rows
    if all(row.alone for row in own_rows):
        best = max(own_rows, key=lambda row: (row.counterfactual or 0.0, row.solver))
        at_best = "" if len({row.solver for row in own_rows}) == 1 else "At best, "
        return (
            f"{at_best}{best.solver} answers {_two(best.counterfactual)} of {best.n_scored:,} questions under the “if” "
            f"rightly on {_among(best)}. Without original questions there is no drop to measure."
        )
    own_rows = [row for row in own_rows if not row.alone]
    fell = [row for row in own_rows if row.difference is not None and _is_shown(row) and row.difference < 0]
    names = list(dict.fromkeys(row.solver for row in own_rows))
    lost = list(dict.fromkeys(row.solver for row in fell))
    what = "built-in solvers" if own_rows[0].test_world else "solvers"
    if not fell and len(names) == 1:
        return f"Under the “if” {names[0]} is not shown to answer fewer questions rightly."
    if not fell:
        return f"Under the “if” none of {len(names)} {what} is shown to answer fewer questions rightly."
    worst = min(fell, key=lambda row: (row.difference, row.solver))
    sentence = f"Under the “if” {len(lost)} of {len(names)} {what} answer fewer questions rightly"
    if len(names) == 1:
        sentence = f"Under the “if” {names[0]} answers fewer questions rightly"
    elif len(names) <= MOST_NAMES:
        rest = [name for name in names if name not in lost]
        sentence += f": {', '.join(lost)}" + (f"; not shown for {', '.join(rest)}" if rest else "")
    return sentence + (
        f". The greatest loss is that of {worst.solver} on {_among(worst)}, from {_two(worst.original)} to "
        f"{_two(worst.counterfactual)} over {worst.n_scored:,} pairs."
    )


def test_bed(rows: Sequence[AccuracyRow]) -> str:
    """A sentence that introduces the built-in solvers among the rows; empty where there are none."""
    built_in = {row.solver for row in rows if row.test_world}
    if not built_in:
        return ""
    which = "The solvers here" if len(built_in) == len({row.solver for row in rows}) else "The solvers marked †"
    return (
        f"{which} are a test bed: {len(built_in)} built-in programs and scripts whose faults are known, to check that "
        "the evaluation finds them; they stand for no real model."
    )


def _is_shown(row: AccuracyRow) -> bool:
    return row.p_holm is not None and row.p_holm < ALPHA


def _among(row: AccuracyRow) -> str:
    return row.set if row.type == "all" else f"{row.set}, {row.type}"


def _two(value: float | None) -> str:
    return "" if value is None else two(value)


def _ranged(row: AccuracyRow, name: str) -> str:
    """A figure, and in brackets the same over all pairs, whatever the missing scores are."""
    ends = range_of(row, name)
    value = _two(getattr(row, name))
    return value if ends is None else f"{value} ({' to '.join(dict.fromkeys(map(two, ends)))})"


def _row(headline: Shown) -> Row:
    """A set, solver and type on the first screen."""
    row, published = headline
    bar, value, interval, tone, n_scored = Markup(), "", "", "", row.n_scored
    original, counterfactual = _ranged(row, "original"), _ranged(row, "counterfactual")
    before_after = (published.original, published.counterfactual) if published else ()
    as_published = " → ".join(map(_two, before_after)) if any(share is not None for share in before_after) else ""
    label = f"{row.solver} on {_among(row)}: "
    if not _has_figure(row):  # neither a bar nor a figure: what is missing is no zero
        original, counterfactual, n_scored = original.strip(), counterfactual.strip(), 0
    elif row.alone:
        share = row.counterfactual or 0.0
        label += f"{_two(row.counterfactual)} under the if, the other one not asked"
        bar, value = change_bar(share, share, label, _BAR), _two(row.counterfactual)
        original, interval = "not asked", "accuracy; no drop: only the “if” was asked"
        as_published = _two(published.counterfactual) if published else ""
    else:
        low, high = limits(row, "difference")
        label += f"{_two(row.original)} as it is, {_two(row.counterfactual)} under the if"
        bar, value = change_bar(row.original or 0.0, row.counterfactual or 0.0, label, _BAR), _two(row.difference)
        interval = "" if low is None else f"{_two(low)} to {_two(high)}"
        interval += _ranged(row, "difference").removeprefix(_two(row.difference))
        if _is_shown(row):
            tone = "c-do-not-trust" if (row.difference or 0.0) < 0 else "c-trust"
    cells = (
        ("As it is", original),
        ("Under the “if”", counterfactual),
        ("Scored", f"{n_scored:,} of {row.n:,}"),
        ("As published", as_published),
    )
    name = f"{row.solver} †" if row.test_world else row.solver
    return Row(name=name, among=_among(row), bar=bar, value=value, interval=interval, cells=cells, tone=tone)
