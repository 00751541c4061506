"""Language models on replies: on those that the rules left unread, and how far both agree on those that both read; and
on open answers, with their error on replies of known truth, and corrected for it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated

from cfeval.core.records import Status
from cfeval.cvqa.records import HEADLINE, SIDES, CvqaCondition, Reading, Side
from cfeval.cvqa.tables.items import (
    Kind,
    Llm,
    QuestionSet,
    SideColumn,
    Solver,
    TestSolver,
    accuracy_bounds,
    counted,
    noted,
    range_columns,
    scored,
)
from cfeval.cvqa.tables.replies import CvqaTableData, Reply, place
from cfeval.report.tables import (
    Bounded,
    Estimated,
    Figures,
    Heading,
    Methods,
    TableRow,
    figures_of,
    interval_methods,
    table,
)
from cfeval.stats.intervals import ItemScore, estimate
from cfeval.stats.misclassification import JudgeError, judge_error, rogan_gladen
from cfeval.stats.proportions import share, wilson

_ROBUST = place(HEADLINE)


class ReplyReadersRow(TableRow):
    """A language model that reads replies, a row a condition and side."""

    set: QuestionSet
    solver: Solver
    kind: Kind = ""
    llm: Llm = ""
    reader: Annotated[str, Heading("Reader")]
    """The language model that reads the replies; a name from `reply_readers`."""
    side: SideColumn
    n: int
    """Replies that came."""
    n_unread: Annotated[int, Heading("Unread by rules")] = 0
    """Those that the robust rules left unread."""
    n_read: Annotated[int, Heading("of them read")] = 0
    """Those of them in which the language model read an answer."""
    n_none: Annotated[int, Heading("no answer")] = 0
    """Those of them of which it says that they give no answer."""
    n_right: Annotated[int, Heading("right")] = 0
    """Those of them that are right as it reads them."""
    missing: Annotated[str, Heading("Missing", after="agreement")] = ""
    """Why other replies were not read by it, with counts."""
    robust: Annotated[Bounded, Heading("Robust")] = None
    """Accuracy as the robust rules read the replies, over those that they read. Bounds: over all that came."""
    filled: Annotated[Bounded, Heading("Robust, then model")] = None
    """The same where the language model's reading stands for what the rules left unread, and for nothing else."""
    n_both: Annotated[int, Heading("Read by both", after="filled")] = 0
    """Replies of the drawn share that rules and language model read."""
    agreement: Annotated[Estimated, Heading("Agreement")] = None
    """The share of these that both read alike."""
    n_lost: int = 0
    """Replies of the drawn share that the rules read and of which the language model says that they give no answer."""
    ci: Methods = ""
    test_world: TestSolver = 0


def reply_readers_rows(material: CvqaTableData) -> list[ReplyReadersRow]:
    """A row for each reader, condition and side."""
    rows = []
    for (reader, condition), readings in material.readings.items():
        readings = list(readings)
        for side in SIDES:
            of_side = [reading for reading in readings if reading.side == side]
            figures = _reply_readers_figures(material, reader, condition, side, of_side)
            rows.append(ReplyReadersRow.model_validate(figures))
    return rows


def _reply_readers_figures(
    material: CvqaTableData, reader: str, condition: CvqaCondition, side: Side, readings: Sequence[Reading]
) -> Figures:
    came = [
        reply
        for reply in material.scores[condition]
        if reply.side == side and reply.status == Status.OK and reply.form != "text"
    ]
    of_came = {(reply.id, reply.option_order) for reply in came}
    readings = [one for one in readings if not one.known and (one.id, one.option_order) in of_came]
    by_reply = {(reading.id, reading.option_order): reading for reading in readings}
    read_by_model = [by_reply.get((reply.id, reply.option_order)) for reply in came]
    by_rules = [reply.correct[_ROBUST] for reply in came]
    filled = [_filled(reply, reading) for reply, reading in zip(came, read_by_model, strict=True)]
    pairs = zip(by_rules, read_by_model, strict=True)
    unread = [reading for score, reading in pairs if score is None]
    of_unread = [reading.read for reading in unread if reading is not None and reading.status == Status.OK]
    both = [reading for reading in readings if reading.rule is not None and reading.status == Status.OK]
    images = {(reply.id, reply.option_order): reply.image for reply in came}
    alike = [
        ItemScore(reading.id, images[reading.id, reading.option_order], float(reading.read == reading.rule))
        for reading in both
        if reading.read is not None
    ]
    figures: Figures = material.named(condition) | {
        **{"reader": reader, "side": side, "n": len(came), "n_unread": len(unread)},
        "n_read": sum(read is not None for read in of_unread),
        "n_none": of_unread.count(None),
        "missing": counted(Counter(reading.status.value for reading in readings if reading.status != Status.OK)),
        "n_right": sum(score or 0 for score in filled) - sum(score or 0 for score in by_rules),
        "n_both": len(alike),
        "n_lost": len(both) - len(alike),
    }
    figures |= accuracy_bounds("robust", by_rules) | accuracy_bounds("filled", filled)
    scores = {"robust": scored(came, by_rules), "filled": scored(came, filled), "agreement": alike}
    return figures | figures_of({name: estimate(some, material.interval) for name, some in scores.items() if some})


def _filled(reply: Reply, reading: Reading | None) -> int | None:
    """Whether a reply is right, where the language model reads what the rules left unread; None where neither did."""
    if (by_rules := reply.correct[_ROBUST]) is not None:
        return by_rules
    read = reading.read if reading is not None and reading.status == Status.OK else None
    return None if read is None else int(read == reply.gold)


REPLY_READERS = table(
    "cvqa_reply_readers",
    "Language models that read replies",
    ReplyReadersRow,
    reply_readers_rows,
    noted(
        "The language model sees question and reply, neither the image nor the right answer. It reads every reply that "
        "the robust rules leave unread and a share of the others, on which agreement rests. It changes no reading of "
        "the rules and no other table. Open answers have a table of their own."
    ),
    "Empty: no language model reads replies (`cvqa.reply_readers`).",
    added=lambda rows: {
        "filled": range_columns(rows, {"robust": "Robust range", "filled": "Robust, then model: range"})
    },
)


class OpenAnswersRow(TableRow):
    """A language model that judges open answers, a row a condition and side."""

    set: QuestionSet
    solver: Solver
    kind: Kind = ""
    llm: Llm = ""
    judge: Annotated[str, Heading("Judge")]
    """The language model that judges; a name from `reply_readers`."""
    side: SideColumn
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
    ci: Methods = ""
    test_world: TestSolver = 0


def open_answers_rows(material: CvqaTableData) -> list[OpenAnswersRow]:
    """A row for each judge, condition and side with open answers."""
    return [
        OpenAnswersRow.model_validate(figures)
        for (judge, condition), readings in material.readings.items()
        for figures in _condition_figures(material, judge, condition, list(readings))
    ]


def _condition_figures(
    material: CvqaTableData, judge: str, condition: CvqaCondition, readings: Sequence[Reading]
) -> Iterable[Figures]:
    error, error_figures = _error([reading for reading in readings if reading.known], material.interval.level)
    verdicts = {(reading.id, reading.side): reading for reading in readings if not reading.known}
    for side in SIDES:
        replies = [reply for reply in material.scores[condition] if reply.side == side and reply.form == "text"]
        if replies:
            figures = material.named(condition) | {"judge": judge, "side": side}
            yield figures | _judged(material, replies, verdicts, error, error_figures)


def _error(tried: Sequence[Reading], level: float) -> tuple[JudgeError, Figures]:
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
    of_rules, of_judge = scored(came, by_rules), scored(came, by_judge)
    with_scores = {name: scores for name, scores in (("rules", of_rules), ("judged", of_judge)) if scores}
    shown = {name: estimate(scores, material.interval) for name, scores in with_scores.items()}
    figures = figures_of(shown) | accuracy_bounds("rules", by_rules) | accuracy_bounds("judged", by_judge)
    note = ""
    if of_judge:
        observed = share([score.value for score in of_judge], [score.cluster for score in of_judge])
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
    return reading.status == Status.OK and reading.correct is None


def _why_missing(readings: Iterable[Reading]) -> str:
    return counted(
        Counter(
            "no answer" if _gives_none(reading) else reading.status.value
            for reading in readings
            if reading.correct is None
        )
    )


OPEN_ANSWERS = table(
    "cvqa_open_answers",
    "Open answers",
    OpenAnswersRow,
    open_answers_rows,
    noted(
        "The judge sees question, accepted answers and reply, not the image. It is tried on replies of known truth: "
        "52 written by hand, and one to each open question of the set. Corrected: its accuracy without the errors "
        "that it made there; none where it is not shown to be better than chance. Replies of models may be harder "
        "than these: then its error is larger. The other tables rest on the rules."
    ),
    "Empty: no language model judges open answers (`cvqa.reply_readers`), or no question has one.",
    added=lambda rows: {"judged": range_columns(rows, {"rules": "By rules: range", "judged": "By judge: range"})},
)
