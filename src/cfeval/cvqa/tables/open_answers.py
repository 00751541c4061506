"""Open answers as a language model judges them, with its error on replies of known truth, and corrected for it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated

from cfeval.core.records import Binary, Status
from cfeval.cvqa.records import HEADLINE, SIDES, CvqaCondition, Reading, Side
from cfeval.cvqa.tables.accuracy import named
from cfeval.cvqa.tables.cells import mark, range_columns, world
from cfeval.cvqa.tables.items import counted
from cfeval.cvqa.tables.replies import CvqaTableData, Reply, place
from cfeval.report.columns import Bounded, Estimated, Heading, TableRow, laid_out
from cfeval.report.tables import Figures, RenderedTable, Table, figures_of, interval_methods, intervals
from cfeval.stats.intervals import ItemScore, estimate, rounded
from cfeval.stats.misclassification import JudgeError, judge_error, rogan_gladen
from cfeval.stats.proportions import share, wilson


class OpenAnswersRow(TableRow):
    """A language model that judges open answers, a row a condition and side."""

    set: Annotated[str, Heading("Set")]
    """Whose questions."""
    solver: Annotated[str, Heading("Solver", mark)]
    """Who was asked."""
    kind: str = ""
    """What the solver is: `chat`, `program`, `agent`, `random`."""
    llm: str = ""
    """The language model that writes the programs."""
    judge: Annotated[str, Heading("Judge")]
    """The language model that judges; a name from `reply_readers`."""
    side: Annotated[str, Heading("Side")]
    """`original` or `counterfactual`."""
    n: int
    """Open answers that came."""
    n_judged: Annotated[int, Heading("Judged", lambda row: f"{row.n_judged} of {row.n}")] = 0
    """Those that have a verdict."""
    n_none: int = 0
    """Those of which the judge says that they give no answer: no verdict, and no score."""
    missing: Annotated[str, Heading("Missing", after="corrected_note")] = ""
    """Why others have none, with counts."""
    rules: Annotated[Bounded, Heading("By rules")] = None
    """Accuracy by the robust rules, over those that they read. Bounds: over all that came."""
    judged: Annotated[Bounded, Heading("By judge")] = None
    """Accuracy by the judge, over those with a verdict. Bounds: over all that came, the judge taken at its word."""
    n_differ: Annotated[int, Heading("Differ")] = 0
    """Answers with a score by the rules and another by the judge."""
    n_known: Annotated[int, Heading("Tried on")] = 0
    """Replies of known truth on which the judge gave a verdict; the same for both sides."""
    known_missing: str = ""
    """Why it gave none on others, with counts; `no answer`: it says that they give none."""
    sensitivity: Annotated[Estimated, Heading("Sensitivity")] = None
    """The share of right ones among them that it calls right."""
    specificity: Annotated[Estimated, Heading("Specificity")] = None
    """The share of wrong ones among them that it calls wrong."""
    corrected: Annotated[Estimated, Heading("Corrected")] = None
    """The judge's accuracy, corrected for these two (Rogan and Gladen); the interval is wider by what is not known of
    them.
    """
    corrected_note: Annotated[str, Heading("Note", optional=True)] = ""
    """Why there is no correction, or where it was cut off."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    test_world: Binary = 0
    """1: a built-in test solver, which stands for no real model."""


EMPTY = "Empty: no language model judges open answers (`cvqa.reply_readers`), or no question has one."
NOTE = (
    "The judge sees question, accepted answers and reply, not the image. It is tried on replies of known truth: 52 "
    "written by hand, and one to each open question of the set. Corrected: its accuracy without the errors that it "
    "made there; none where it is not shown to be better than chance. Replies of models may be harder than these: then "
    "its error is larger. The other tables rest on the rules."
)


def rows(material: CvqaTableData) -> list[OpenAnswersRow]:
    """A row for each judge, condition and side with open answers."""
    return [
        OpenAnswersRow.model_validate(figures)
        for (judge, condition), readings in material.readings.items()
        for figures in _condition_figures(material, judge, condition, list(readings))
    ]


def render(shown: Sequence[OpenAnswersRow]) -> RenderedTable:
    """The table for readers."""
    notes = (intervals(shown) + NOTE, *world(shown)) if shown else (EMPTY,)
    ranges = {"judged": range_columns(shown, {"rules": "By rules: range", "judged": "By judge: range"})}
    return RenderedTable("cvqa_open_answers", "Open answers", *laid_out(OpenAnswersRow, shown, ranges), notes)


def _condition_figures(
    material: CvqaTableData, judge: str, condition: CvqaCondition, readings: Sequence[Reading]
) -> Iterable[Figures]:
    error, error_figures = _error([reading for reading in readings if reading.known], material.interval.level)
    verdicts = {(reading.id, reading.side): reading for reading in readings if not reading.known}
    for side in SIDES:
        replies = [reply for reply in material.scores[condition] if reply.side == side and reply.form == "text"]
        if replies:
            figures = named(material, condition) | {"judge": judge, "side": side}
            yield figures | _judged(material, replies, verdicts, error, error_figures)


def _error(tried: Sequence[Reading], level: float) -> tuple[JudgeError, Figures]:
    """The judge's error on replies of known truth, and its figures."""
    each = list({(reading.id, reading.side): reading for reading in tried}.values())
    with_verdict = [reading for reading in each if reading.correct is not None]
    error = judge_error(
        [float(reading.correct or 0) for reading in with_verdict],
        [float(reading.known == "right") for reading in with_verdict],
    )
    figures = figures_of(
        {
            name: wilson(rate, level)
            for name, rate in (("sensitivity", error.sensitivity), ("specificity", error.specificity))
            if rate is not None
        }
    )
    return error, figures | {"n_known": len(with_verdict), "known_missing": _why_missing(each)}


def _judged(
    material: CvqaTableData,
    replies: Sequence[Reply],
    verdicts: dict[tuple[str, Side], Reading],
    error: JudgeError,
    error_figures: Figures,
) -> Figures:
    came = [reply for reply in replies if reply.status == Status.OK]
    readings = [verdicts.get((reply.id, reply.side)) for reply in came]
    by_rules = [reply.correct[place(HEADLINE)] for reply in came]
    by_judge = [None if reading is None else reading.correct for reading in readings]
    scored = {"rules": _scored(came, by_rules), "judged": _scored(came, by_judge)}
    shown = {name: estimate(scores, material.interval) for name, scores in scored.items() if scores}
    figures = figures_of(shown) | _ranges("rules", by_rules) | _ranges("judged", by_judge)
    note = ""
    if scored["judged"]:
        observed = share([score.value for score in scored["judged"]], [score.cluster for score in scored["judged"]])
        corrected = rogan_gladen(observed, error, material.interval.level)
        figures |= figures_of({"corrected": corrected}) | {"ci": figures["ci"]}
        note = corrected.note
        if corrected.method:
            figures["ci"] = interval_methods(figures["ci"], corrected.method)
    methods = interval_methods(figures["ci"], error_figures["ci"])
    return (
        figures
        | error_figures
        | {
            "n": len(came),
            "n_judged": sum(verdict is not None for verdict in by_judge),
            "n_none": sum(reading is not None and _gives_none(reading) for reading in readings),
            "n_differ": sum(
                rule is not None and verdict is not None and rule != verdict
                for rule, verdict in zip(by_rules, by_judge, strict=True)
            ),
            "missing": _why_missing([reading for reading in readings if reading is not None]),
            "corrected_note": note,
            "ci": methods,
        }
    )


def _gives_none(reading: Reading) -> bool:
    """Whether the judge says that a reply gives no answer."""
    return reading.status == Status.OK and reading.correct is None


def _why_missing(readings: Iterable[Reading]) -> str:
    """Why replies have no verdict, with counts."""
    return counted(
        Counter(
            "no answer" if _gives_none(reading) else reading.status.value
            for reading in readings
            if reading.correct is None
        )
    )


def _scored(replies: Sequence[Reply], scores: Sequence[int | None]) -> list[ItemScore]:
    """The replies that have a score."""
    pairs = zip(replies, scores, strict=True)
    return [ItemScore(reply.id, reply.image, float(score)) for reply, score in pairs if score is not None]


def _ranges(name: str, scores: Sequence[int | None]) -> Figures:
    """What an accuracy could be over all replies that came."""
    if not scores:
        return {}
    right, missing = sum(score or 0 for score in scores), scores.count(None)
    return {
        f"{name}_min": rounded(right / len(scores)),
        f"{name}_max": rounded((right + missing) / len(scores)),
    }


TABLE = Table(row=OpenAnswersRow, rows=rows, render=render)
