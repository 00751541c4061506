"""Programs that answered questions: how many ran, why others did not, what they cost (C-VQA, Section 4.1)."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

from cfeval.core.records import Status
from cfeval.cvqa.programs.limits import LIMIT_MARK
from cfeval.cvqa.records import HEADLINE, SIDES, Answer, CvqaCondition
from cfeval.cvqa.tables.items import ALL, QuestionSet, SideColumn, Solver, TestSolver, Type, counted, kinds, noted
from cfeval.cvqa.tables.replies import CvqaTableData, place
from cfeval.report.tables import Estimated, Figure, Figures, Heading, Methods, TableRow, figures_of, table
from cfeval.stats.intervals import ItemScore, estimate, rounded

_SHOWN = 4
"""Kinds of faults that readers see; the CSV has them all."""


def commonest(faults: str) -> str:
    """The first few kinds of a cell that may name many."""
    kinds = re.findall(r".+?\s\d+(?=, |$)", faults)
    more = len(kinds) - _SHOWN
    return faults if more <= 0 else "".join(kinds[:_SHOWN]) + f", {more} other kinds"


def mean_cell(value: float | None) -> str:
    """`12.5`."""
    return "" if value is None else f"{value:.1f}"


def fallbacks_cell(row: "ProgramsRow") -> str:
    """`12 (9 right)`."""
    return str(row.n_fallback) + (f" ({row.n_fallback_right} right)" if row.n_fallback_right is not None else "")


class ProgramsRow(TableRow):
    """Programs that answered questions, a row a side."""

    set: QuestionSet
    solver: Solver
    llm: Annotated[str, Heading("LLM")] = ""
    """The language model that writes the programs."""
    language: Annotated[str, Heading("Language")] = ""
    """Whose surface the programs are written for."""
    type: Type
    side: SideColumn
    n: int
    """Questions."""
    n_written: Annotated[int, Heading("Written", lambda row: f"{row.n_written} of {row.n}", after="ran")]
    """Those for which there is a program."""
    missing: Annotated[str, Heading("Missing", after="mean_steps")] = ""
    """Why others have none, or no answer, with counts."""
    n_ran: int = 0
    """Programs that ran to their end."""
    ran: Annotated[Estimated, Heading("Ran")] = None
    """Share of those that ran or failed by an error of their own."""
    ci: Methods = ""
    n_faults: Annotated[int, Heading("Faults")] = 0
    """Programs that failed by an error of their own."""
    faults: Annotated[str, Heading("By kind", lambda row: commonest(row.faults))] = ""
    """These errors by kind, with counts."""
    n_limits: Annotated[int, Heading("Limits")] = 0
    """Programs that our interpreter does not support, or stopped by a budget: no errors of theirs."""
    limits: Annotated[str, Heading("Limits by kind", lambda row: commonest(row.limits))] = ""
    """These limits by kind, with counts."""
    n_nothing: Annotated[int, Heading("Nothing returned")] = 0
    """Programs that returned nothing: they answer `no`, or have failed where the study says so."""
    n_repairs: Annotated[int, Heading("Repaired", lambda row: f"{row.n_repaired} of {row.n_repairs}")] = 0
    """Programs that failed and that their generator was asked to repair."""
    n_repaired: int = 0
    """Those that then ran to their end."""
    n_fallback: Annotated[int, Heading("Fallbacks", lambda row: fallbacks_cell(row))] = 0
    """Questions that were put to the whole image instead."""
    n_fallback_right: int | None = None
    """Those whose answer is right, by the robust reader; empty where nothing was scored."""
    mean_calls: Annotated[Figure, Heading("Calls", lambda row: mean_cell(row.mean_calls))] = None
    """Calls of vision operations a written program."""
    mean_steps: Annotated[Figure, Heading("Steps", lambda row: mean_cell(row.mean_steps))] = None
    """Interpreter steps a written program."""
    test_world: TestSolver = 0


@dataclass
class _Runs:
    n: int = 0
    ran: list[ItemScore] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    written: int = 0
    nothing: int = 0
    languages: set[str] = field(default_factory=set)
    repairs: int = 0
    repaired: int = 0
    fallbacks: int = 0
    right: int | None = None
    calls: int = 0
    steps: int = 0

    def add(self, reply: Answer, image: str, right: int | None) -> None:
        """Count what was said to one question, and whether that is right, where it was scored."""
        self.n += 1
        if reply.status != Status.OK:
            self.failed[reply.status.value] += 1
        run = reply.program
        if run is None or not run.code.strip():
            return
        self.written += 1
        if not run.unsupported:
            self.ran.append(ItemScore(reply.id, image, float(not run.fault)))
        if run.fallback and right is not None:
            self.right = (self.right or 0) + right
        self.languages.add(run.language)
        self.repairs += bool(run.first_fault)
        self.repaired += bool(run.first_fault) and not run.fault
        self.fallbacks += run.fallback
        self.calls += run.calls
        self.steps += run.steps
        self.nothing += run.nothing
        if run.fault:
            (self.limits if run.unsupported else self.faults)[kind_of(run.fault)] += 1


def programs_rows(material: CvqaTableData) -> list[ProgramsRow]:
    """A row for each condition whose replies are given, type and side; `all` is all types of the condition."""
    return [row for condition, said in material.said.items() for row in _condition_rows(material, condition, said)]


def kind_of(fault: str) -> str:
    """What a fault's line says up to its first colon or semicolon, without line, names in quotes and numbers."""
    text = re.sub(r"^line \d+: ", "", fault.strip()).replace(LIMIT_MARK, "")
    text = re.split(r"[:;](?:\s|$)", text)[0]
    text = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "…", text)
    return re.sub(r"\d[\d.,]*", "…", text).strip() or "unknown"


def _condition_rows(material: CvqaTableData, condition: CvqaCondition, answers: Iterable[Answer]) -> list[ProgramsRow]:
    replies = material.scores.get(condition, ())
    about = {reply.id: (str(reply.type), reply.image) for reply in replies}
    right = {
        (reply.id, reply.side, reply.option_order): reply.correct[place(HEADLINE)]
        for reply in replies
        if reply.status == Status.OK
    }
    runs: dict[tuple[str, str], _Runs] = {}
    for answer in answers:
        if answer.program is None and answer.status == Status.OK:  # a response that was recorded without its program
            continue
        kind, image = about.get(answer.id, (ALL, answer.id))
        for name in dict.fromkeys((kind, ALL)):
            is_right = right.get((answer.id, answer.side, answer.option_order))
            runs.setdefault((name, answer.side), _Runs()).add(answer, image, is_right)
    order = kinds(replies, whole=False)
    shown = order if len(order) == 1 else [*order, ALL]
    return [
        _row(material, condition, kind, side, runs[kind, side])
        for kind in shown
        for side in SIDES
        if (kind, side) in runs
    ]


def _row(material: CvqaTableData, condition: CvqaCondition, kind: str, side: str, runs: _Runs) -> ProgramsRow:
    figures: Figures = material.named(condition) | {
        **{"type": kind, "side": side, "language": ", ".join(sorted(runs.languages)), "n": runs.n},
        **{"n_written": runs.written, "missing": counted(runs.failed), "n_nothing": runs.nothing},
        **{"n_faults": runs.faults.total(), "faults": counted(runs.faults)},
        **{"n_limits": runs.limits.total(), "limits": counted(runs.limits)},
        **{"n_ran": sum(score.value == 1 for score in runs.ran), "n_fallback": runs.fallbacks},
        **{"n_fallback_right": runs.right, "n_repairs": runs.repairs, "n_repaired": runs.repaired},
    }
    del figures["kind"]
    if runs.ran:
        figures |= figures_of({"ran": estimate(sorted(runs.ran, key=lambda score: score.item), material.interval)})
    if runs.written:
        figures |= {"mean_calls": rounded(runs.calls / runs.written), "mean_steps": rounded(runs.steps / runs.written)}
    return ProgramsRow.model_validate(figures)


PROGRAMS = table(
    "cvqa_programs",
    "Programs",
    ProgramsRow,
    programs_rows,
    noted(
        "Ran: to their end, of those that ran or failed by an error of their own (faults). Limits: what our "
        "interpreter does not support or stopped by a budget. Nothing returned: without an answer, which counts as "
        "“no” unless the study makes it a fault. Repaired: those that failed, were written again when the generator "
        "was told why, and then ran. Fallback: the question was then put to the whole image. Calls of vision "
        "operations and steps of the interpreter are means over the written programs. A fault's kind is what it says "
        "without line, names and numbers."
    ),
    "Empty: no solver writes programs.",
)
