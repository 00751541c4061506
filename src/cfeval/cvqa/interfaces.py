"""What the families of plugins of this study offer, and what their requests and replies hold.

Solvers answer questions about images, reply readers say which answer a reply gives, question generators turn a question
into a counterfactual one in the paper's steps (C-VQA, Appendix B), question validators check such a draft against its
image (Section 3.2), program generators write a program from a question alone, and question sets give pairs of
questions. For the family vision see `cfeval.cvqa.programs.vision`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from cfeval.core.images import Image
from cfeval.core.records import Metadata, Status
from cfeval.cvqa.records import Form, Gender, Language, PairType, ProgramRun, Question, Side


@dataclass(frozen=True)
class AnswerRequest:
    """A question about an image, asked in a fresh turn; `form` says what an answer is, `more_images` are shown too."""

    item: str
    side: Side
    type: PairType
    image: Image
    question: str
    seed: int
    form: Form = "number"
    more_images: tuple[Image, ...] = ()


@dataclass(frozen=True)
class AnswerReply:
    """What was asked and said, or why nothing was; `program` is the program that said it, where it was one."""

    asked: str
    text: str = ""
    model: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()
    program: ProgramRun | None = None


def several_images(request: AnswerRequest) -> AnswerReply | None:
    """What a solver replies that takes one image, where a question has several; None where it has one."""
    if not request.more_images:
        return None
    reason = f"this kind of solver sees one image, and the question has {1 + len(request.more_images)}"
    return AnswerReply(request.question, status=Status.REJECTED, reason=reason)


class Solver(Protocol):
    """Answers questions. A reply depends on its own request only."""

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """Answer a request."""
        ...


@dataclass(frozen=True)
class ReadRequest:
    """A reply to a question, options as they were shown; `form` says what an answer to it is."""

    item: str
    question: str
    form: Form
    reply: str
    seed: int


@dataclass(frozen=True)
class ReadReply:
    """The answer that a reply gives, letters as shown, None where it gives none; or why nobody knows."""

    read: str | None = None
    completion: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class ReplyReader(Protocol):
    """Reads replies. What it reads depends on its own request only."""

    async def read(self, request: ReadRequest) -> ReadReply:
        """Read a reply."""
        ...


@dataclass(frozen=True)
class OpenAnswer:
    """A reply to a question whose answer is open, and the answers that are accepted."""

    item: str
    question: str
    accepted: tuple[str, ...]
    reply: str
    seed: int


@dataclass(frozen=True)
class OpenVerdict:
    """Whether a reply gives an accepted answer, None where it gives none at all; or why nobody knows."""

    correct: Literal[0, 1] | None = None
    completion: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


@runtime_checkable
class AnswerJudge(Protocol):
    """What a reply reader may be as well: it judges open answers, by their own request only."""

    async def judge(self, request: OpenAnswer) -> OpenVerdict:
        """Judge an open answer."""
        ...


# The groups that can be built from the text alone; indirect questions need a person who sees the image.
Wanted = Literal["direct", "boolean"]


@dataclass(frozen=True)
class BuildRequest:
    """An original question with its answer, and the group of the counterfactual one that is wanted."""

    item: str
    question: str
    answer: str
    type: Wanted
    seed: int


@dataclass(frozen=True)
class BuildReply:
    """The four fields of the step format, or why there are none; `completion` is the reply as it came."""

    step1: str = ""
    step2: str = ""
    question: str = ""
    answer: str = ""
    completion: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class QuestionGenerator(Protocol):
    """Builds counterfactual questions. A reply depends on its own request only."""

    async def build(self, request: BuildRequest) -> BuildReply:
        """Build a question for a request."""
        ...


@dataclass(frozen=True)
class CheckRequest:
    """A draft beside its image; `metadata` is what the source keeps beside it, for question validators that know the
    truth.
    """

    item: str
    image: Image
    original: Question
    counterfactual: Question
    type: PairType
    seed: int
    metadata: Metadata | None = None


@dataclass(frozen=True)
class CheckReply:
    """Whether the new question is about the image, and whether its answer is right; or why neither is known."""

    related: Literal[0, 1] | None = None
    reasonable: Literal[0, 1] | None = None
    reason_given: str = ""
    completion: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class QuestionValidator(Protocol):
    """Checks drafts. A reply depends on its own request only."""

    async def check(self, request: CheckRequest) -> CheckReply:
        """Check a request."""
        ...


@dataclass(frozen=True)
class FailedProgram:
    """What a program generator replied before, and in one line why that did not run."""

    completion: str
    fault: str


@dataclass(frozen=True)
class ProgramRequest:
    """A question, and the language its program is wanted in; `failed` is the program that the new one replaces."""

    item: str
    question: str
    type: PairType
    language: Language
    seed: int
    failed: FailedProgram | None = None


@dataclass(frozen=True)
class ProgramReply:
    """The program, cut from the reply, or why there is none; `completion` is the reply as it came."""

    code: str = ""
    completion: str = ""
    model: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class ProgramGenerator(Protocol):
    """Writes programs. A reply depends on its own request only."""

    async def write(self, request: ProgramRequest) -> ProgramReply:
        """Write a program for a request."""
        ...


@dataclass(frozen=True)
class RawPair:
    """A pair before it is filed: see `cfeval.cvqa.records.QuestionPair` for the fields."""

    id: str
    image: Image
    original: Question | None
    counterfactual: Question
    type: PairType
    img_path: str
    coco: int | None = None
    metadata: Metadata | None = None
    counts: dict[str, int] = field(default_factory=dict)
    more_images: tuple[Image, ...] = ()
    changed_image: Image | None = None
    people: Gender | None = None

    @property
    def all_images(self) -> tuple[Image, ...]:
        """Every image of the pair, in the order of `QuestionPair.all_images`."""
        return (self.image, *([self.changed_image] if self.changed_image else []), *self.more_images)


class Sizes(NamedTuple):
    """How many pairs a set has, and of a draw about: how many have options, which are asked in several orders.

    `alone` have a counterfactual question and no original one; at most `images` are shown with a question; of the
    questions of both sides together `open` have an open answer.
    """

    all: int
    with_options: int = 0
    alone: int = 0
    images: int = 1
    open: int = 0

    def asked(self, orders: int) -> int:
        """How many questions are put about them."""
        both = 2 * (self.all - self.with_options + self.with_options * orders)
        return ceil(both * (1 - self.alone / (2 * self.all))) if self.all else 0


class QuestionSet(Protocol):
    """A set of question pairs."""

    def pairs(self, items: int | None, seed: int) -> Iterator[RawPair]:
        """At most `items` pairs, all of them where it is None; the same arguments give the same pairs.

        Rows that cannot be used (no image, malformed) are left out, and `skipped` says which and why.
        """
        ...

    def sizes(self, items: int | None) -> "Sizes":
        """How many pairs `pairs` gives at most, and of which kinds; no image is opened or drawn."""
        ...

    @property
    def skipped(self) -> tuple[str, ...]:
        """One line for each row that `pairs` left out, after it is exhausted."""
        ...
