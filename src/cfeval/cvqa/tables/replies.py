"""What the cvqa study's tables are made from: scores of conditions in little memory, and what is known beside them; and
sets of question pairs in figures: sizes, answers, lengths, scores without an image (C-VQA, Section 3.4).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar, cast

from cfeval.core.errors import InputError
from cfeval.core.records import Record, Status
from cfeval.cvqa.records import (
    READERS,
    REAL,
    SIDES,
    SYNTHETIC,
    Answer,
    CvqaBuild,
    CvqaCondition,
    CvqaScore,
    ExtractorName,
    Form,
    Gender,
    PairType,
    Question,
    QuestionPair,
    Reading,
    Side,
    form_of,
    read_choices,
)
from cfeval.report.tables import Figures
from cfeval.stats.intervals import Interval


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


_OPPOSITE = {"yes": "no", "no": "yes"}


def _answer_text(question: Question) -> str:
    """The right answer itself: of options not the letter, which stands elsewhere in another list, but its value."""
    choices = read_choices(question.question)
    return choices.values[choices.letters.index(question.answer)] if choices else question.answer


class PairStatistics(NamedTuple):
    """What of a pair is counted; `image` is any name that tells its image from others."""

    original: Question | None
    counterfactual: Question
    type: PairType
    image: str = ""

    @property
    def questions(self) -> dict[Side, Question]:
        """The questions that are asked, by side."""
        original: dict[Side, Question] = {} if self.original is None else {"original": self.original}
        return original | {"counterfactual": self.counterfactual}


@dataclass
class Counts:
    """Sums over the pairs of one group."""

    n: int = 0
    images: set[str] = field(default_factory=set)
    words: Counter[Side] = field(default_factory=Counter)
    answers: dict[Side, Counter[str]] = field(default_factory=lambda: {side: Counter() for side in SIDES})
    if_inside: int = 0
    if_first: int = 0
    unchanged: int = 0
    negated: int = 0
    """Counterfactual answers that are the opposite of a `yes` or `no`."""
    booleans: int = 0
    """Pairs whose answers are yes or no."""
    choices: int = 0
    """Pairs whose answers are letters."""

    def add(self, pair: PairStatistics) -> None:
        """Count one pair."""
        original, changed = pair.original, pair.counterfactual
        self.n += 1
        self.images |= {pair.image} if pair.image else set()
        for side, question in pair.questions.items():
            self.words[side] += len(question.question.split())
            self.answers[side][question.answer] += 1
        self.if_inside += " if " in changed.question.lower()
        self.if_first += changed.question.startswith("If")
        if original is not None:
            self.unchanged += _answer_text(original) == _answer_text(changed)
            self.negated += _OPPOSITE.get(original.answer) == changed.answer
        self.booleans += form_of(changed) == "boolean"
        self.choices += form_of(changed) == "choice"

    def questions_of(self, side: Side) -> int:
        """How many questions there are on a side."""
        return self.answers[side].total()

    def mean_words(self, side: Side) -> float:
        """Words a question, split at blanks."""
        return self.words[side] / self.questions_of(side)

    def majority(self, side: Side) -> tuple[str, float]:
        """The commonest right answer and its share; of equally common ones the first in the alphabet."""
        answer, count = min(self.answers[side].items(), key=lambda item: (-item[1], item[0]))
        return answer, count / self.questions_of(side)

    def share(self, side: Side, answer: str) -> float:
        """The share of questions on a side with this right answer."""
        return self.answers[side][answer] / self.questions_of(side)


def question_pairs(pairs: Iterable[QuestionPair]) -> Iterator[PairStatistics]:
    """What of filed pairs is counted."""
    for pair in pairs:
        yield PairStatistics(pair.original, pair.counterfactual, pair.type, pair.image.sha256[:16])


def count(pairs: Iterable[PairStatistics]) -> dict[str, Counts]:
    """Counts by type, in the paper's order whatever the pairs', and of all together as `all`; empty for no pairs."""
    counts: dict[str, Counts] = {}
    whole = Counts()
    for pair in pairs:
        counts.setdefault(pair.type, Counts()).add(pair)
        whole.add(pair)
    published = [kind for kind in (*REAL, *SYNTHETIC) if kind in counts]
    ordered: dict[str, Counts] = {kind: counts[kind] for kind in [*published, *sorted(counts.keys() - published)]}
    return ordered | {"all": whole} if counts else {}


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

    def named(self, condition: CvqaCondition) -> Figures:
        """Who answered what."""
        facts = self.facts(condition.solver)
        names = {"set": condition.set, "solver": condition.solver, "kind": facts.kind, "llm": facts.llm}
        return {**names, "test_world": int(facts.test_world)}

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

        def plain(name: str) -> str:
            return re.sub(r"[^a-z0-9]", "", name.casefold())

        facts = self.facts(solver)
        for line in self.published:
            same_cell = (line.table, line.type, plain(line.model)) == (table, kind, plain(facts.paper))
            if same_cell and (not line.llm or plain(line.llm) == plain(facts.llm)):
                return line
        return None


def cvqa_material(scores: Mapping[CvqaCondition, Iterable[CvqaScore]], /, **settings: object) -> CvqaTableData:
    """Gather the scores of conditions, in whatever order they come; `settings` are the other fields of `CvqaTableData`.

    Raises:
        InputError: a question of a condition appears twice in the same order of options.
    """
    same: dict[object, object] = {}
    replies = {condition: _gathered(condition, some, same) for condition, some in scores.items()}
    return CvqaTableData(replies, **settings)  # type: ignore[arg-type]


def _gathered(condition: CvqaCondition, scores: Iterable[CvqaScore], same: dict[object, object]) -> list[Reply]:
    # One copy of equal values is kept: a study has millions of replies, and few that differ.
    def once(value: T) -> T:
        return cast(T, same.setdefault(value, value))

    def of_both(values: Mapping[ExtractorName, T | None]) -> tuple[T | None, T | None]:
        first, second = READERS
        return once((values.get(first), values.get(second)))

    replies: dict[tuple[str, Side, str], Reply] = {}
    for score in scores:
        reply = Reply(
            id=once(score.id),
            side=score.side,
            type=once(score.type),
            option_order=once(score.option_order),
            image=once(score.image[:16]),
            coco=score.coco,
            gold=once(score.gold),
            status=score.status,
            read=of_both(score.read),
            shown=of_both(score.shown),
            correct=of_both(score.correct),
            form=score.form,
            options=score.options,
            people=score.people,
        )
        key = (reply.id, reply.side, reply.option_order)
        if key in replies:
            order = f", order {score.option_order}" if score.option_order else ""
            where = f"the {score.side} question of '{score.id}'{order}"
            raise InputError(f"two scores of {where}, of {condition.set}/{condition.solver}; give each file once")
        replies[key] = reply
    return [replies[key] for key in sorted(replies)]


def place(reader: ExtractorName) -> Literal[0, 1]:
    """Where a reader stands in the fields of a `Reply`."""
    return 0 if reader == READERS[0] else 1
