"""What was said about each picture, and the tests that it was put to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cfeval.protocols.rules import CONTROLS, RULES
from cfeval.records.edct import Arm, Baseline, Check, Conversation, Counterfactual, Instruction, Requery, Sample, Score
from cfeval.records.training import Origin, Provenance
from cfeval.studies.edct.evidence.asked import calls_of


@dataclass(frozen=True)
class Trial:
    """An item and edit of an arm that was scored, start to end; `judged` are the calls behind its verdict."""

    sample: Sample
    before: Baseline
    told: Instruction
    made: Counterfactual
    check: Check
    after: Requery
    judged: tuple[str, ...]
    score: Score


@dataclass(frozen=True)
class Said:
    """What a target said about a picture; the same words are one conversation, however often they were judged."""

    dataset: str
    vlm: str
    item: str
    picture: str
    original: str
    question: str
    answer: str
    explanation: str
    edit: int = field(compare=False)
    model: str = field(compare=False)
    calls: tuple[str, ...] = field(compare=False)


Trials = dict[Said, list[Trial]]


def trials_of_all(trials: Iterable[Trial]) -> Trials:
    """Every conversation with its tests: one about an original has those of all its edits."""
    found: Trials = {}
    for trial in trials:
        for said in (before(trial), after(trial)):
            found.setdefault(said, []).append(trial)
    return found


def before(trial: Trial) -> Said:
    """The conversation about the original."""
    return _said(trial, trial.before, 0, trial.sample.image.sha256)


def after(trial: Trial) -> Said:
    """The conversation about the edited image."""
    assert trial.made.image is not None, "what is scored has an image"
    return _said(trial, trial.after, trial.made.edit, trial.made.image.sha256)


def _said(trial: Trial, words: Conversation, edit: int, picture: str) -> Said:
    return Said(
        dataset=trial.score.dataset,
        vlm=trial.score.vlm,
        item=trial.sample.id,
        edit=edit,
        picture=picture,
        original=trial.sample.image.sha256,
        question=trial.sample.question,
        answer=words.answer,
        explanation=words.explanation,
        model=words.model,
        calls=words.calls,
    )


def withstood(score: Score) -> bool:
    """Whether the words before and after stood the test: CCS is 1, or under a control nothing moved."""
    if score.protocol in CONTROLS:
        return (score.answer_moved, score.explanation_moved) == (0, 0)
    return score.ccs == 1


def provenance(said: Said, tests: Iterable[Trial], people: bool = False) -> Provenance:
    """Where words about a picture come from; with `people`, they wrote the words."""
    return Provenance(
        item=said.item,
        edit=said.edit,
        picture=said.picture,
        original=said.original,
        words="people" if people else "model",
        model="" if people else said.model,
        calls=() if people else said.calls,
        tests=tuple(_origin(trial) for trial in tests),
    )


def _origin(trial: Trial) -> Origin:
    found = trial.check.found
    score = trial.score
    names = (*RULES[score.protocol].scores, "ccs", "ccs_graded")
    return Origin(
        **{name: getattr(score, name) for name in Arm.model_fields},
        edit=score.edit,
        concept=trial.told.concept,
        positive=trial.told.positive,
        negative=trial.told.negative,
        edited=after(trial).picture,
        seed=trial.made.seed,
        verified=score.verified,
        numbers=found.numbers if found else {},
        changed_share=score.changed_share,
        scores={name: value for name in names if (value := getattr(score, name)) is not None},
        correct=score.correct,
        calls=tuple(_calls(trial)),
    )


def _calls(trial: Trial) -> Iterator[str]:
    for record in (trial.told, trial.made, trial.check):
        yield from calls_of(record)
    yield from trial.judged
