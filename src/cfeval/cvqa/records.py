"""Records of the cvqa study: pairs of questions, answers, programs, scores; drafts of questions and their fate.

Options stand in the text of a question: `… Select the correct answer:A:16  B:17  C:12  D:13`, as C-VQA-Synthetic has
them. No space stands after `answer:`, two stand between options (measured on all 6,000 published questions). There may
be any number of options from 2 to 26, and each may have several words.
"""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from cfeval.core.records import ImageRef, ItemId, Metadata, Record, Sha256, StageResult

# The letters of the published questions, which have four options.
LETTERS = "ABCD"
ALPHABET = string.ascii_uppercase
_SELECT = "Select the correct answer:"
MARK = f" {_SELECT}"
_LISTED = re.compile(r"(?:(?<=\s)|(?<=[;,:?.])|^)(?:\(([A-Z])\)|([A-Z])[).:](?!\w*[.:]\w))\s*")


@dataclass(frozen=True)
class Choices:
    """A question without its options, and the values of A, B, …"""

    stem: str
    values: tuple[str, ...]

    @property
    def letters(self) -> str:
        """The letters of the options."""
        return ALPHABET[: len(self.values)]

    def text(self) -> str:
        """The question with its options, byte for byte as the published CSV writes it."""
        options = "  ".join(f"{letter}:{value}" for letter, value in zip(self.letters, self.values, strict=True))
        return f"{self.stem}{MARK}{options}"

    def reordered(self, order: str) -> "Choices":
        """The options in another order: `BCDA` puts first what was B.

        Raises:
            ValueError: `order` is no permutation of the letters.
        """
        if sorted(order) != list(self.letters):
            raise ValueError(f"`order` must be a permutation of {self.letters}, but got {order!r}")
        return Choices(self.stem, tuple(self.values[self.letters.index(letter)] for letter in order))


def read_choices(question: str) -> Choices | None:
    """The options in a question; None where there are none in this format."""
    stem, mark, tail = question.rpartition(_SELECT)
    if not mark or not stem.strip():
        return None
    # Where `A:`, `B:` … begin and end, each the first behind the one before.
    starts: list[tuple[int, int]] = []
    for letter in ALPHABET:
        match = re.compile(rf"(?:(?<=\s)|^){letter}:\s*").search(tail, starts[-1][1] if starts else 0)
        if match is None:
            break
        starts.append(match.span())
    values = tuple(
        tail[end:after].strip() for (_, end), (after, _) in zip(starts, [*starts[1:], (len(tail), 0)], strict=True)
    )
    if len(values) < 2 or tail[: starts[0][0]].strip() or not all(values):
        return None
    return Choices(stem.rstrip(), values)


def with_options(stem: str, values: Sequence[str]) -> str:
    """A question with options, from which `read_choices` reads the same ones.

    Raises:
        ValueError: there are fewer than 2 or more than 26, one is empty or stands twice, or they cannot be told apart.
    """
    cleaned = tuple(" ".join(value.split()) for value in values)
    if not 2 <= len(cleaned) <= len(ALPHABET):
        raise ValueError(f"a question needs 2 to {len(ALPHABET)} options, but got {len(cleaned)}")
    if "" in cleaned or len({value.casefold() for value in cleaned}) < len(cleaned):
        raise ValueError("an option is empty or stands there twice")
    choices = Choices(stem.strip(), cleaned)
    if read_choices(choices.text()) != choices:
        raise ValueError("an option looks like the letter of the next one")
    return choices.text()


def listed_options(question: str) -> Choices | None:
    """Options that stand in a question in a common form, `(A) red (B) blue` or `A. red; B. blue`; None: none do."""
    if choices := read_choices(question):
        return choices
    marks = list(_LISTED.finditer(question))
    for first, mark in enumerate(marks):
        run = marks[first:]
        letters = "".join(match[1] or match[2] for match in run)
        if mark.start() and len(run) > 1 and letters == ALPHABET[: len(run)]:
            ends = [match.start() for match in run[1:]] + [len(question)]
            values = tuple(question[match.end() : end].strip(" \t\n;,") for match, end in zip(run, ends, strict=True))
            stem = re.sub(
                r"\s*\b(?:options?|choices?)\s*:?\s*$", "", question[: mark.start()].strip(), flags=re.IGNORECASE
            )
            return Choices(stem, values) if all(values) and stem else None
    return None


# Whose surface a program is written for (specs: ViperGPT, ICCV 2023; VisProg, CVPR 2023).
Language = Literal["vipergpt", "visprog"]
Side = Literal["original", "counterfactual"]
SIDES: tuple[Side, Side] = ("original", "counterfactual")
# Groups of C-VQA-Real (numerical direct, numerical indirect, boolean) and templates of C-VQA-Synthetic (Section 3).
PublishedType = Literal[
    "direct",
    "indirect",
    "boolean",
    "abs_counting_1",
    "abs_counting_2",
    "abs_counting_3",
    "abs_counting_4",
    "abs_counting_5",
    "abs_counting_6",
]
REAL: tuple[str, ...] = get_args(PublishedType)[:3]
SYNTHETIC: tuple[str, ...] = get_args(PublishedType)[3:]
# The group of a question: one of these, or any name of one line. `all` stands for all groups together.
PairType = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^\S(?:[^\n\r]*\S)?$")]
Gender = Literal["female", "male"]
# What an answer is: decimal digits, `yes` or `no`, the letter of an option, or words of one's own.
Form = Literal["number", "boolean", "choice", "text"]
ExtractorName = Literal["reference", "robust"]
# The reader whose figures are the headline, then the released rules, whose figures stand beside as published.
READERS: tuple[ExtractorName, ExtractorName] = ("robust", "reference")
HEADLINE, AS_PUBLISHED = READERS
# What becomes of a draft: it enters the set, or why not; of several reasons the first. rejected: a person said no. no
# sum: a number was worked out in words alone, so that nobody can recompute it. inconsistent: its steps name other
# numbers, or another answer, than the question. undecided: a person must accept it and has not.
Fate = Literal[
    "accepted",
    "not written",
    "rejected",
    "wrong sum",
    "no sum",
    "inconsistent",
    "not reviewed",
    "not related",
    "not reasonable",
    "undecided",
]


_COCO = re.compile(r"COCO_\w+_(\d{12})\.jpg")


def coco_number(name: str) -> int | None:
    """The number of an image in COCO, by the name of its file; None for others."""
    match = _COCO.fullmatch(name)
    return int(match[1]) if match else None


def has_if_clause(question: str) -> bool:
    """Whether a question is under a supposition: it has an *if*."""
    return re.search(r"\bif\b", question, re.IGNORECASE) is not None


class CvqaCondition(Record):
    """One way through the study; its parts are names from params.yaml."""

    set: str
    solver: str


class Question(Record):
    """A question and its right answer: digits, `yes` or `no`, a letter, or words; `also` are answers as right."""

    question: str = Field(min_length=1, pattern=r"\S")
    answer: str = Field(min_length=1, pattern=r"^\S(?:.*\S)?$")
    also: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _letter_is_an_option(self) -> "Question":
        choices = read_choices(self.question)
        if choices and self.answer not in tuple(choices.letters):
            raise ValueError(f"the answer must be one of the letters {', '.join(choices.letters)}: {self.answer!r:.40}")
        return self


def form_of(question: Question) -> Form:
    """What an answer to a question is."""
    if read_choices(question.question):
        return "choice"
    if question.answer in ("yes", "no"):
        return "boolean"
    return "number" if re.fullmatch("[0-9]+", question.answer) else "text"


class QuestionPair(Record):
    """An image, a question about it, and the same question under a counterfactual presupposition.

    `original` is None where the set has the counterfactual question alone. `more_images` are shown behind `image`;
    `changed_image` takes the place of `image` in the counterfactual question, where the set changes the image instead
    of the question. `img_path` is the name that the published CSV gives the image, `coco` its number in COCO, where it
    has one. `people` is the perceived gender of the people in the image, where the set gives it and all are of one; for
    COCO images a file of labels gives it (`genders`). `metadata` is what the set keeps beside the image, such as the
    record of a drawn scene; `counts` is what is in a synthetic puzzle, by name.
    """

    id: ItemId
    image: ImageRef
    more_images: tuple[ImageRef, ...] = ()
    changed_image: ImageRef | None = None
    original: Question | None
    counterfactual: Question
    type: PairType
    img_path: str
    coco: int | None = None
    people: Gender | None = None
    metadata: Metadata | None = None
    counts: dict[str, int] = {}

    @property
    def questions(self) -> dict[Side, Question]:
        """The questions that are asked, by side."""
        original: dict[Side, Question] = {} if self.original is None else {"original": self.original}
        return original | {"counterfactual": self.counterfactual}

    def images(self, side: Side) -> tuple[ImageRef, ...]:
        """What is shown with the question of a side."""
        changed = self.changed_image if side == "counterfactual" else None
        return (changed or self.image, *self.more_images)

    @property
    def all_images(self) -> tuple[ImageRef, ...]:
        """Every image of the pair."""
        return (self.image, *([self.changed_image] if self.changed_image else []), *self.more_images)


class TraceStep(Record):
    """One call of a program: the line it stands in (from 1), what was called, its arguments and result, as text.

    Texts are cut to a length that a reader can take in. `calls` names the stored calls to models behind it.
    """

    line: int = Field(ge=0)
    call: str
    arguments: str
    result: str
    calls: tuple[str, ...] = ()


class ProgramRun(Record):
    """A program and how it ran.

    `result` is what it returned, normalised to text (ViperGPT's rules: the first of a list, or `no`; yes and no for
    booleans; lower case). Where it failed, `fault` says why in one line, and `fallback` that the answer came from the
    question put to the whole image instead, as in ViperGPT.
    """

    language: Literal["vipergpt", "visprog", "tools"]
    """`tools`: no program, but the calls of tools that an agent made, a line each; trace lines are its turns."""
    code: str
    result: str = ""
    nothing: bool = False
    """Whether it returned nothing, which answers `no` by ViperGPT's rule, or is a fault where the study says so."""
    fault: str = ""
    unsupported: bool = False
    """Whether the fault is a limit of our interpreter rather than an error of the program."""
    fallback: bool = False
    first_fault: str = ""
    """Why the program before this one failed, where its generator was asked to repair it."""
    steps: int = Field(0, ge=0)
    """Interpreter steps taken."""
    calls: int = Field(0, ge=0)
    """Calls of vision operations."""
    trace: tuple[TraceStep, ...] = ()


class Answer(StageResult):
    """What a solver said to one question, in a fresh turn.

    `asked` is the question as it was put, without the image. `option_order` is, for options, their letters in the order
    in which they were shown (`BCDA`: what was B stood first); empty where the question was asked as it stands. `calls`
    names every stored call behind it: of a program its writer's and those of all its operations.
    """

    id: ItemId
    side: Side
    option_order: str = ""
    asked: str
    text: str = ""
    model: str = ""
    calls: tuple[str, ...] = ()
    program: ProgramRun | None = None


class CvqaScore(StageResult):
    """One reply, read by both readers and compared with the right answer.

    `image` is the image's hash: items about one image share it; `coco` and `people` are those of the pair. `gold` is
    the right answer as the question stands; `read` what a reader read, None where it read nothing; of options both are
    letters of the question as it stands, and `shown` is the letter as it was shown. `correct` is 1 or 0 by reader; what
    the robust reader cannot read is None: it has no score. By the released rules it is 0, as in the released scorer. A
    reply whose status is not `ok` has none of these.
    """

    id: ItemId
    side: Side
    type: PairType
    option_order: str = ""
    image: Sha256
    coco: int | None = None
    people: Gender | None = None
    gold: str
    form: Form = "number"
    options: int = 0
    """How many options the question has."""
    read: dict[ExtractorName, str | None] = {}
    shown: dict[ExtractorName, str | None] = {}
    correct: dict[ExtractorName, Literal[0, 1] | None] = {}
    fault: str = ""
    """Why the program failed, where the answer is a program's and it did."""
    unsupported: bool = False
    """Whether that is a limit of our interpreter rather than an error of the program."""
    fallback: bool = False
    """Whether the question was put to the whole image instead."""


class Reading(StageResult):
    """What a language model read in a reply, or its verdict on an open answer.

    `rule` is what the robust rules read, None where they read nothing; `read` is what the language model read, None
    where it says that the reply gives no answer. Letters are those of the question as it stands. `completion` is what
    it said. Of an open answer it reads nothing: `correct` is 1 where it takes it for an accepted answer, else 0, None
    where it says that the reply gives no answer. `known` is the truth about a reply made up to try it; empty: a
    solver's reply.
    """

    id: ItemId
    side: Side
    option_order: str = ""
    rule: str | None = None
    read: str | None = None
    correct: Literal[0, 1] | None = None
    known: Literal["", "right", "wrong"] = ""
    completion: str = ""
    calls: tuple[str, ...] = ()


class Draft(StageResult):
    """A counterfactual question that was written from an original one, before anyone checked it.

    `step1`, `step2`, `question` and `answer` are what the writer said in the paper's step format (C-VQA, Appendix B);
    `completion` is the reply as it came. `arithmetic` is the answer recomputed from step 2, None where it states no
    sum.
    """

    id: ItemId
    image: ImageRef
    original: Question
    type: PairType
    img_path: str
    coco: int | None = None
    metadata: Metadata | None = None
    step1: str = ""
    step2: str = ""
    question: str = ""
    answer: str = ""
    arithmetic: int | None = None
    completion: str = ""
    calls: tuple[str, ...] = ()


class Review(StageResult):
    """What a second model says of a draft (C-VQA, Section 3.2): is it about the image, is its answer right?"""

    id: ItemId
    related: Literal[0, 1] | None = None
    reasonable: Literal[0, 1] | None = None
    reason_given: str = ""
    completion: str = ""
    calls: tuple[str, ...] = ()


class Decision(Record):
    """What a person decided about a draft (a CSV to be filled in); `answer` and `question` correct the draft's."""

    id: ItemId
    accept: Literal["", "yes", "no"] = ""
    question: str = ""
    answer: str = ""
    comment: str = ""


class CvqaBuild(Record):
    """What came of a draft (builds): `by` says who verified what entered the set, `corrected` whether a person did."""

    id: ItemId
    type: PairType
    fate: Fate
    reason: str = ""
    by: Literal["", "model", "person"] = ""
    corrected: Literal[0, 1] = 0
