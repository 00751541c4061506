"""A set of question pairs in figures: sizes, answers, lengths, scores without an image (C-VQA, Section 3.4)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cfeval.cvqa.choices import read_choices
from cfeval.cvqa.records import REAL, SIDES, SYNTHETIC, PairType, Question, QuestionPair, Side, form_of

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

    def asked(self, side: Side) -> int:
        """How many questions there are on a side."""
        return self.answers[side].total()

    def mean_words(self, side: Side) -> float:
        """Words a question, split at blanks."""
        return self.words[side] / self.asked(side)

    def majority(self, side: Side) -> tuple[str, float]:
        """The commonest right answer and its share; of equally common ones the first in the alphabet."""
        answer, count = min(self.answers[side].items(), key=lambda item: (-item[1], item[0]))
        return answer, count / self.asked(side)

    def share(self, side: Side, answer: str) -> float:
        """The share of questions on a side with this right answer."""
        return self.answers[side][answer] / self.asked(side)


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
