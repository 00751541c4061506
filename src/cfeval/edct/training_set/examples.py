"""What there is to learn from a study, and the examples that teach it.

A study tells what was said about each image, and the tests that it was put to. A fine-tuning set holds what stood them;
EDCT-Bench 2026 fine-tuned on 48 such items made by hand.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

from pydantic import Field

from cfeval.core.errors import InputError
from cfeval.core.records import Binary, ItemId, Record, Sha256
from cfeval.datasets.sample import Sample
from cfeval.edct.protocols.rules import CONTROLS, RULES
from cfeval.edct.records import Baseline, Check, Condition, Conversation, Counterfactual, Instruction, Requery, Score
from cfeval.edct.stages.baselines import Prompts
from cfeval.edct.verification.chain import calls_of
from cfeval.inference.prompts import fill


class Origin(Condition):
    """A test that the words of an example were put to: an edit, and how a judge scored what was said around it."""

    edit: int
    concept: str
    positive: str
    negative: str
    edited: Sha256
    """The edited image."""
    seed: int
    """Of the edit."""
    verified: Binary | None
    """Whether the edit was made as told; None where no verifier could tell."""
    numbers: dict[str, float]
    """What the verifier measured."""
    changed_share: float | None
    scores: dict[str, float]
    """The protocol's, by name; `ccs` where it has one."""
    correct: float | None
    """How right the answer about the original is, where that is known."""
    calls: tuple[Sha256, ...]
    """The calls behind instruction, edit, check and verdict: keys of the response cache."""


class Provenance(Record):
    """Where the words of an example come from."""

    item: ItemId
    edit: int
    """0: they are about the original image."""
    image: Sha256
    original: Sha256
    words: Literal["model", "people"]
    """Whose they are."""
    model: str
    """The model, as it names itself."""
    calls: tuple[Sha256, ...]
    """The calls behind the words."""
    tests: tuple[Origin, ...]


class PairProvenance(Record):
    """Where the two replies of a pair come from."""

    chosen: Provenance
    rejected: Provenance


class Written(Record):
    """Words that people wrote for an image (a line of `--answers`)."""

    id: ItemId
    image: str
    """The image's SHA-256, or its first digits, at least eight; `.png` may follow."""
    answer: str = Field(pattern=r"\S")
    explanation: str = ""
    """Empty: the conversation ends with the answer."""


Teach = Literal["consistent", "contrast", "written", "all"]
# So many digits of an image's hash name it.
LEAST_DIGITS = 8


@dataclass(frozen=True)
class Trial:
    """An item and edit of a condition that was scored, start to end; `judged` are the calls behind its verdict."""

    sample: Sample
    before: Baseline
    told: Instruction
    made: Counterfactual
    check: Check
    after: Requery
    judged: tuple[str, ...]
    score: Score


@dataclass(frozen=True)
class ExplainedAnswer:
    """What a target said about an image; the same words are one conversation, however often they were judged."""

    dataset: str
    vlm: str
    item: str
    image: str
    original: str
    question: str
    answer: str
    explanation: str
    edit: int = field(compare=False)
    model: str = field(compare=False)
    calls: tuple[str, ...] = field(compare=False)


Trials = dict[ExplainedAnswer, list[Trial]]


@dataclass(frozen=True)
class Message:
    """A turn of a conversation; the first one of the user shows the image."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Example:
    """A conversation to learn; or, with `rejected`, two replies to the same turns, of which the first is the better."""

    image: str
    original: str
    turns: tuple[Message, ...]
    provenance: Provenance | PairProvenance
    chosen: Message | None = None
    rejected: Message | None = None


def examples(teach: Teach, trials: Sequence[Trial], prompts: Prompts, written: Iterable[Written]) -> list[Example]:
    """The examples that teach one thing.

    Args:
        teach: consistent: conversations that stood every test. contrast: pairs of replies about the same edited image
            that a score tells apart. written: conversations in the words of people. all: every conversation.

    Raises:
        InputError: pairs are wanted from a condition of a control; words are for an image that is not there.
    """
    if teach == "contrast":
        made = _pairs(trials, prompts)
    elif teach == "written":
        tests = trials_of_all(trials)
        made = (_in_words(line, tests, prompts) for line in written)
    else:
        made = (
            _conversation(answer, provenance(answer, answer_trials), prompts)
            for answer, answer_trials in trials_of_all(trials).items()
            if teach == "all" or all(withstood(trial.score) for trial in answer_trials)
        )
    distinct: dict[tuple[object, ...], Example] = {}
    for example in made:
        distinct.setdefault((example.image, example.turns, example.chosen, example.rejected), example)
    return list(distinct.values())


def trials_of_all(trials: Iterable[Trial]) -> Trials:
    """Every conversation with its tests: one about an original has those of all its edits."""
    by_answer: Trials = {}
    for trial in trials:
        for answer in (before(trial), after(trial)):
            by_answer.setdefault(answer, []).append(trial)
    return by_answer


def before(trial: Trial) -> ExplainedAnswer:
    """The conversation about the original."""
    return _answer_of(trial, trial.before, 0, trial.sample.image.sha256)


def after(trial: Trial) -> ExplainedAnswer:
    """The conversation about the edited image."""
    assert trial.made.image is not None, "what is scored has an image"
    return _answer_of(trial, trial.after, trial.made.edit, trial.made.image.sha256)


def _answer_of(trial: Trial, conversation: Conversation, edit: int, image: str) -> ExplainedAnswer:
    return ExplainedAnswer(
        dataset=trial.score.dataset,
        vlm=trial.score.vlm,
        item=trial.sample.id,
        edit=edit,
        image=image,
        original=trial.sample.image.sha256,
        question=trial.sample.question,
        answer=conversation.answer,
        explanation=conversation.explanation,
        model=conversation.model,
        calls=conversation.calls,
    )


def withstood(score: Score) -> bool:
    """Whether the words before and after stood the test: CCS is 1, or under a control nothing moved."""
    if score.protocol in CONTROLS:
        return (score.answer_moved, score.explanation_moved) == (0, 0)
    return score.ccs == 1


def provenance(answer: ExplainedAnswer, tests: Iterable[Trial], people: bool = False) -> Provenance:
    """Where words about an image come from; with `people`, they wrote the words."""
    return Provenance(
        item=answer.item,
        edit=answer.edit,
        image=answer.image,
        original=answer.original,
        words="people" if people else "model",
        model="" if people else answer.model,
        calls=() if people else answer.calls,
        tests=tuple(_origin(trial) for trial in tests),
    )


def _origin(trial: Trial) -> Origin:
    verification = trial.check.found
    score = trial.score
    names = (*RULES[score.protocol].scores, "ccs", "ccs_graded")
    return Origin(
        **{name: getattr(score, name) for name in Condition.model_fields},
        edit=score.edit,
        concept=trial.told.concept,
        positive=trial.told.positive,
        negative=trial.told.negative,
        edited=after(trial).image,
        seed=trial.made.seed,
        verified=score.verified,
        numbers=verification.numbers if verification else {},
        changed_share=score.changed_share,
        scores={name: value for name in names if (value := getattr(score, name)) is not None},
        correct=score.correct,
        calls=(*(call for record in (trial.told, trial.made, trial.check) for call in calls_of(record)), *trial.judged),
    )


def _conversation(answer: ExplainedAnswer, source: Provenance, prompts: Prompts) -> Example:
    turns: tuple[Message, ...] = (_question(answer, prompts), Message("assistant", answer.answer))
    if answer.explanation:
        turns = (*turns, Message("user", prompts.explain), Message("assistant", answer.explanation))
    return Example(answer.image, answer.original, turns, source)


def _question(answer: ExplainedAnswer, prompts: Prompts) -> Message:
    return Message("user", fill(prompts.answer, question=answer.question))


def _in_words(line: Written, tests: Trials, prompts: Prompts) -> Example:
    """The conversation about the image of a line, in its words."""
    digits = line.image.removesuffix(".png")
    meant = [answer for answer in tests if answer.item == line.id and answer.image.startswith(digits)]
    if len(digits) < LEAST_DIGITS or len({(answer.dataset, answer.image, answer.question) for answer in meant}) != 1:
        raise InputError(
            f"--answers: item '{line.id}' has no scored image {line.image[:70]!r}, or several; name it by "
            f"{LEAST_DIGITS} or more digits of its SHA-256, as in the images of `--teach all`"
        )
    own = replace(meant[0], answer=line.answer, explanation=line.explanation)
    return _conversation(
        own, provenance(own, (trial for answer in meant for trial in tests[answer]), people=True), prompts
    )


def _pairs(trials: Sequence[Trial], prompts: Prompts) -> Iterator[Example]:
    """Pairs of answers that the first score tells apart, and of explanations of one answer that the second does.

    A text on which scores differ, from judge to judge or condition to condition, is in no pair.
    """
    if controls := sorted({trial.score.protocol for trial in trials} & set(CONTROLS)):
        raise InputError(
            f"--teach contrast: under the control {controls[0]} a score says whether words moved, not which words are "
            "better; take its conditions out"
        )
    by_image: dict[tuple[str, ...], list[Trial]] = {}
    for trial in trials:
        answer = after(trial)
        by_image.setdefault((answer.dataset, answer.item, answer.question, answer.image), []).append(trial)
    for tests in by_image.values():
        question = (_question(after(tests[0]), prompts),)
        answers = _by_text(tests, lambda trial: trial.after.answer)
        yield from _better(answers, 0, question)
        for text in (text for text, trials_of_answer in answers.items() if _settled(trials_of_answer, 0) == 1):
            turns = (*question, Message("assistant", text), Message("user", prompts.explain))
            yield from _better(_by_text(answers[text], lambda trial: trial.after.explanation), 1, turns)


def _by_text(tests: Iterable[Trial], text_of: Callable[[Trial], str]) -> dict[str, list[Trial]]:
    by_text: dict[str, list[Trial]] = {}
    for trial in tests:
        by_text.setdefault(text_of(trial), []).append(trial)
    return by_text


def _better(by_text: Mapping[str, Sequence[Trial]], which: int, turns: tuple[Message, ...]) -> Iterator[Example]:
    """A pair of every text that scored 1 with every one that scored 0."""
    good, bad = (
        [text for text, trials_of_text in by_text.items() if _settled(trials_of_text, which) == value]
        for value in (1, 0)
    )
    for texts in product(good, bad):
        chosen, rejected = (provenance(after(by_text[text][0]), by_text[text]) for text in texts)
        answer = after(by_text[texts[0]][0])
        source = PairProvenance(chosen=chosen, rejected=rejected)
        yield Example(answer.image, answer.original, turns, source, *(Message("assistant", text) for text in texts))


def _settled(tests: Iterable[Trial], which: int) -> int | None:
    """The score that all tests gave the answer (0) or the explanation (1); None where they differ."""
    scores = {getattr(trial.score, RULES[trial.score.protocol].scores[which]) for trial in tests}
    return int(scores.pop()) if len(scores) == 1 else None
