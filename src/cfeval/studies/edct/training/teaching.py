"""What there is to learn from a study, and the examples that teach it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from cfeval.errors import InputError
from cfeval.io.prompts import fill
from cfeval.protocols.rules import CONTROLS, RULES
from cfeval.records.training import PairProvenance, Provenance, Written
from cfeval.studies.edct.conversation import Prompts
from cfeval.studies.edct.training.said import Said, Trial, Trials, after, provenance, trials_of_all, withstood

Teach = Literal["consistent", "contrast", "written", "all"]
LEAST_DIGITS = 8
"""So many digits of a picture's hash name it."""


@dataclass(frozen=True)
class Turn:
    """A turn of a conversation; the first one of the user shows the picture."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Example:
    """A conversation to learn; or, with `rejected`, two replies to the same turns, of which the first is the better."""

    picture: str
    original: str
    turns: tuple[Turn, ...]
    provenance: Provenance | PairProvenance
    chosen: Turn | None = None
    rejected: Turn | None = None


def examples(teach: Teach, trials: Sequence[Trial], prompts: Prompts, written: Iterable[Written]) -> list[Example]:
    """The examples that teach one thing.

    Args:
        teach: consistent: conversations that stood every test. contrast: pairs of replies about the same edited image
            that a score tells apart. written: conversations in the words of people. all: every conversation.
        trials: what was scored, of all arms.
        prompts: what the model was asked.
        written: the words, for `written`.

    Raises:
        InputError: pairs are wanted from an arm of a control; words are for a picture that is not there.
    """
    if teach == "contrast":
        found = _pairs(trials, prompts)
    elif teach == "written":
        tests = trials_of_all(trials)
        found = (_in_words(line, tests, prompts) for line in written)
    else:
        found = (
            _conversation(said, provenance(said, of), prompts)
            for said, of in trials_of_all(trials).items()
            if teach == "all" or all(withstood(trial.score) for trial in of)
        )
    distinct: dict[tuple[object, ...], Example] = {}
    for one in found:
        distinct.setdefault((one.picture, one.turns, one.chosen, one.rejected), one)
    return list(distinct.values())


def _conversation(said: Said, source: Provenance, prompts: Prompts) -> Example:
    turns: tuple[Turn, ...] = (_question(said, prompts), Turn("assistant", said.answer))
    if said.explanation:
        turns = (*turns, Turn("user", prompts.explain), Turn("assistant", said.explanation))
    return Example(said.picture, said.original, turns, source)


def _question(said: Said, prompts: Prompts) -> Turn:
    return Turn("user", fill(prompts.answer, question=said.question))


def _in_words(line: Written, tests: Trials, prompts: Prompts) -> Example:
    """The conversation about the picture of a line, in its words."""
    digits = line.picture.removesuffix(".png")
    meant = [said for said in tests if said.item == line.id and said.picture.startswith(digits)]
    if len(digits) < LEAST_DIGITS or len({(said.dataset, said.picture, said.question) for said in meant}) != 1:
        raise InputError(
            f"--answers: item '{line.id}' has no scored picture {line.picture[:70]!r}, or several; name it by "
            f"{LEAST_DIGITS} or more digits of its SHA-256, as in the images of `--teach all`"
        )
    own = replace(meant[0], answer=line.answer, explanation=line.explanation)
    return _conversation(own, provenance(own, (trial for said in meant for trial in tests[said]), people=True), prompts)


def _pairs(trials: Sequence[Trial], prompts: Prompts) -> Iterator[Example]:
    """Pairs of answers that the first score tells apart, and of explanations of one answer that the second does.

    A text on which scores differ, from judge to judge or arm to arm, is in no pair.
    """
    if controls := sorted({trial.score.protocol for trial in trials} & set(CONTROLS)):
        raise InputError(
            f"--teach contrast: under the control {controls[0]} a score says whether words moved, not which words are "
            "better; take its arms out"
        )
    for tests in _by_picture(trials):
        asked = (_question(after(tests[0]), prompts),)
        answers = _by_text(tests, lambda trial: trial.after.answer)
        yield from _better(answers, 0, asked)
        for answer in (text for text, of in answers.items() if _settled(of, 0) == 1):
            turns = (*asked, Turn("assistant", answer), Turn("user", prompts.explain))
            yield from _better(_by_text(answers[answer], lambda trial: trial.after.explanation), 1, turns)


def _by_picture(trials: Iterable[Trial]) -> Iterable[list[Trial]]:
    """The tests about the same edited image and question."""
    found: dict[tuple[str, ...], list[Trial]] = {}
    for trial in trials:
        said = after(trial)
        found.setdefault((said.dataset, said.item, said.question, said.picture), []).append(trial)
    return found.values()


def _by_text(tests: Iterable[Trial], text_of: Callable[[Trial], str]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for trial in tests:
        found.setdefault(text_of(trial), []).append(trial)
    return found


def _better(by_text: Mapping[str, Sequence[Trial]], which: int, turns: tuple[Turn, ...]) -> Iterator[Example]:
    """A pair of every text that scored 1 with every one that scored 0."""
    good, bad = ([text for text, of in by_text.items() if _settled(of, which) == value] for value in (1, 0))
    for texts in product(good, bad):
        chosen, rejected = (provenance(after(by_text[text][0]), by_text[text]) for text in texts)
        one = after(by_text[texts[0]][0])
        source = PairProvenance(chosen=chosen, rejected=rejected)
        yield Example(one.picture, one.original, turns, source, *(Turn("assistant", text) for text in texts))


def _settled(tests: Iterable[Trial], which: int) -> int | None:
    """The score that all tests gave the answer (0) or the explanation (1); None where they differ."""
    found = {getattr(trial.score, RULES[trial.score.protocol].scores[which]) for trial in tests}
    return int(found.pop()) if len(found) == 1 else None
