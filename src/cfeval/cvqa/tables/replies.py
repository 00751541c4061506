"""What the cvqa study's tables are made from: scores of conditions in little memory, and what is known beside them.

In the rows of all tables figures are plain numbers; an empty cell: there is no such figure.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Literal, TypeVar, cast

from cfeval.core.errors import InputError
from cfeval.core.records import Binary, Record, Status
from cfeval.cvqa.records import (
    READERS,
    Answer,
    CvqaBuild,
    CvqaCondition,
    CvqaScore,
    ExtractorName,
    Form,
    Gender,
    PairType,
    Reading,
    Side,
)
from cfeval.cvqa.stages.statistics import PairStatistics
from cfeval.cvqa.tables.cells import arrow, mark, side_cell
from cfeval.report.columns import Bounded, Heading, TableRow
from cfeval.report.tables import Figure, p_cell, scored_cell
from cfeval.stats.intervals import Interval


class ReadRow(TableRow):
    """What every table of accuracies begins with: whose answers, to what, read by whom."""

    set: Annotated[str, Heading("Set")]
    """Whose questions."""
    solver: Annotated[str, Heading("Solver", mark)]
    """Who was asked, or a baseline."""
    kind: str = ""
    """What the solver is: `chat`, `program`, `agent`, `random`; `baseline` for what needs no solver."""
    llm: str = ""
    """The language model that writes the programs."""
    type: Annotated[str, Heading("Type")]
    """The group of questions, or `all`."""
    reader: str = ""
    """Who read the answers: `robust`, or `reference` (the released rules); empty for baselines."""


class AccuracyRow(ReadRow):
    """Accuracy on original and counterfactual questions."""

    n: int
    """Pairs."""
    n_scored: Annotated[int, Heading("Scored", scored_cell, after="paper_original")]
    """Those with a score on both sides; the test rests on them."""
    images: int = 0
    """Their different images."""
    missing: Annotated[str, Heading("Missing", after="n_scored")] = ""
    """Why questions have no score, with counts of questions."""
    n_unread_original: int = 0
    """Replies that the reader could not read. `robust`: they have no score; `reference`: they count as wrong."""
    n_unread_counterfactual: int = 0
    """The same on the counterfactual side."""
    original: Annotated[Bounded, Heading("Original", partial(side_cell, name="original"))] = None
    """Accuracy on original questions that have a score, resampled by image. Bounds: over all pairs, missing scores
    wrong, or right.
    """
    counterfactual: Annotated[Bounded, Heading("Counterfactual")] = None
    """Accuracy on counterfactual questions."""
    difference: Annotated[Bounded, Heading("Difference", partial(side_cell, name="difference"))] = None
    """Counterfactual − original."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    test: str = ""
    """What `p` is from: `McNemar`, exact, over images where they have several pairs; or `bootstrap`, where scores are
    means over orders.
    """
    p: Figure = None
    """Two-sided, that the difference is 0."""
    p_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_holm))] = None
    """Adjusted by Holm over the rows of one reader in this table."""
    paper_original: Annotated[
        Figure, Heading("Paper", lambda row: arrow(row.paper_original, row.paper_counterfactual), optional=True)
    ] = None
    """What the paper printed in this very cell, for the model that the solver's `paper` names."""
    paper_counterfactual: Figure = None
    """The same on counterfactual questions."""
    paper_difference: Figure = None
    """The same of the difference."""
    test_world: Binary = 0
    """1: a built-in test solver, which stands for no real model."""

    @property
    def alone(self) -> bool:
        """Whether the counterfactual question alone was asked, so that there is no drop.

        Where both were, the original has a figure, or at least bounds; only the baseline `negate` has none for it.
        """
        figures = (self.original, getattr(self, "original_min"))  # noqa: B009 - a column that the type adds
        return (self.kind, self.solver) != ("baseline", "negate") and figures == (None, None)


class PublishedAnswer(Record):
    """Accuracies of one model and group as the paper printed them (data/reference/cvqa.csv), in [0, 1]."""

    source: str
    table: str
    model: str
    """As Table 3 calls it; a solver's `paper` names it so."""
    printed: str = ""
    """As this very table calls it, where that differs."""
    llm: str = ""
    """The language model inside, in Table 6."""
    type: str
    """`direct`, `indirect`, `boolean`; `all` in Table 7."""
    original: float
    counterfactual: float
    difference: float
    """Counterfactual − original, as printed."""


T = TypeVar("T")


@dataclass(frozen=True)
class SolverFacts:
    """What a solver is.

    `cot`: it is asked to think step by step; `no_cot_baseline` is then the same solver without. `llm` writes its
    programs. `paper` is what the paper calls it (`model` of data/reference/cvqa.csv), where it stands for one of the
    paper's. `test_world`: it is built in and stands for no real model.
    """

    kind: Literal["chat", "program", "agent", "random"] = "chat"
    cot: bool = False
    no_cot_baseline: str = ""
    llm: str = ""
    paper: str = ""
    test_world: bool = False


@dataclass(frozen=True)
class SetFacts:
    """What a set is.

    `subset`: drawn from another, so that its figures stand in no column with a whole set's. `fresh_of`: the set of
    which it is a fresh draw, that no model can have seen.
    """

    subset: bool = False
    fresh_of: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The little of a `CvqaScore` that tables need; `read`, `shown` and `correct` are of both `READERS`, in order."""

    id: str
    side: Side
    type: PairType
    option_order: str
    image: str
    """The first 16 hexadecimal digits of its hash."""
    coco: int | None
    gold: str
    status: Status
    read: tuple[str | None, str | None]
    shown: tuple[str | None, str | None]
    correct: tuple[int | None, int | None]
    """None: no score."""
    form: Form = "number"
    options: int = 0
    people: Gender | None = None


@dataclass(frozen=True)
class CvqaTableData:
    """Replies by condition, and the settings.

    `pairs` are the questions of each set (tables `statistics` and `answers`), `said` what solvers that write programs
    said (`programs`), `built` what became of the drafts of built sets (`builds`), `readings` what each reply reader
    read of each condition (`reply_readers`, `open_answers`): each table reads what it needs once. `genders` says of a
    COCO image whose people are all of one kind which kind that is, `female` or `male`.
    """

    scores: Mapping[CvqaCondition, Sequence[Reply]]
    solvers: Mapping[str, SolverFacts] = field(default_factory=dict)
    sets: Mapping[str, SetFacts] = field(default_factory=dict)
    interval: Interval = field(default_factory=Interval)
    published: Sequence[PublishedAnswer] = ()
    genders: Mapping[int, str] = field(default_factory=dict)
    pairs: Mapping[str, Iterable[PairStatistics]] = field(default_factory=dict)
    said: Mapping[CvqaCondition, Iterable[Answer]] = field(default_factory=dict)
    built: Mapping[str, Iterable[CvqaBuild]] = field(default_factory=dict)
    readings: Mapping[tuple[str, CvqaCondition], Iterable[Reading]] = field(default_factory=dict)

    def facts(self, solver: str) -> SolverFacts:
        """What is known of a solver; one that nothing is said of is a model that is asked."""
        return self.solvers.get(solver, SolverFacts())

    def is_subset(self, name: str) -> bool:
        """Whether a set is drawn from another."""
        return self.sets.get(name, SetFacts()).subset

    def fresh_of(self, name: str) -> str:
        """The set of which one is a fresh draw; empty where it is none."""
        return self.sets.get(name, SetFacts()).fresh_of

    def paper(self, table: str, solver: str, kind: str) -> PublishedAnswer | None:
        """The paper's line for a solver and a type, where it has one.

        Names are compared without letter case and without marks; where a line names a language model, the solver's
        must be that one.
        """
        facts = self.facts(solver)
        for line in self.published:
            if (line.table, line.type, _plain(line.model)) != (table, kind, _plain(facts.paper)):
                continue
            if not line.llm or _plain(line.llm) == _plain(facts.llm):
                return line
        return None


def cvqa_material(scores: Mapping[CvqaCondition, Iterable[CvqaScore]], /, **settings: object) -> CvqaTableData:
    """Gather the scores of conditions, in whatever order they come; `settings` are the other fields of `CvqaMaterial`.

    Raises:
        InputError: a question of a condition appears twice in the same order of options.
    """
    same: dict[object, object] = {}
    kept = {condition: _gathered(condition, of, same) for condition, of in scores.items()}
    return CvqaTableData(kept, **settings)  # type: ignore[arg-type]


def _gathered(condition: CvqaCondition, scores: Iterable[CvqaScore], same: dict[object, object]) -> list[Reply]:
    found: dict[tuple[str, Side, str], Reply] = {}
    for score in scores:
        reply = _reply(score, same)
        key = (reply.id, reply.side, reply.option_order)
        if key in found:
            where = f"the {score.side} question of '{score.id}'" + (
                f", order {score.option_order}" if score.option_order else ""
            )
            raise InputError(f"two scores of {where}, of {condition.set}/{condition.solver}; give each file once")
        found[key] = reply
    return [found[key] for key in sorted(found)]


def _reply(score: CvqaScore, same: dict[object, object]) -> Reply:
    """`same` keeps one copy of equal values."""

    def once(value: T) -> T:
        return cast(T, same.setdefault(value, value))

    return Reply(
        id=once(score.id),
        side=score.side,
        type=once(score.type),
        option_order=once(score.option_order),
        image=once(score.image[:16]),
        coco=score.coco,
        gold=once(score.gold),
        status=score.status,
        read=once(_of_both(score.read)),
        shown=once(_of_both(score.shown)),
        correct=once(_of_both(score.correct)),
        form=score.form,
        options=score.options,
        people=score.people,
    )


def _of_both(values: Mapping[ExtractorName, T | None]) -> tuple[T | None, T | None]:
    first, then = READERS
    return values.get(first), values.get(then)


def place(reader: ExtractorName) -> Literal[0, 1]:
    """Where a reader stands in the fields of a `Reply`."""
    return 0 if reader == READERS[0] else 1


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
