"""Records of the cvqa study: pairs of questions, answers, programs, scores; drafts of questions and their fate."""

import re
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from cfeval.core.records import ImageRef, ItemId, Metadata, Record, Sha256, StageResult
from cfeval.cvqa.choices import read_choices

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
