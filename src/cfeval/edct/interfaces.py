"""What every writer, editor, verifier and judge offers: a request in, a reply out (EDCT 2025, Section 3, Appendix A).

A writer and a judge see the texts, not the images, and a judge not the question either. Two exceptions: for
`uncited-edit` a writer is shown the image, because what an explanation leaves out stands nowhere in the texts; and a
judge that `needs_image` is blind to the instructions and looks at the counterfactual image itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cfeval.core.images import Image, Mask
from cfeval.core.records import Binary, Metadata, Status


@dataclass(frozen=True)
class WriteRequest:
    """A question, a model's answer and its explanation; at most `edits` concepts are wanted.

    `image` is filled only for a protocol that edits what is not cited, and with it `metadata`, what the dataset
    keeps beside it.
    """

    item: str
    question: str
    answer: str
    explanation: str
    seed: int
    edits: int = 1
    protocol: str = "edct-2025"
    image: Image | None = None
    metadata: Metadata | None = None


@dataclass(frozen=True)
class Edit:
    """A concept and the instruction that changes it, with its positive and negative part.

    `evidence` says what is edited, `object` or `background`, where the writer can tell. `implied` is the answer that
    follows from the explanation after the edit, or SAME; empty where the writer does not say.
    """

    concept: str
    positive: str
    negative: str
    evidence: Literal["", "object", "background"] = ""
    implied: str = ""


@dataclass(frozen=True)
class WriteReply:
    """The edits, most important concept first, or why there are none.

    `completion` is the reply as it came; `calls` names the stored calls it came from. `cited` is everything that the
    explanation cites, where the writer lists it, and `absent` those of them that it does not see in the image.
    `implied_blank` is the answer that follows for a blank image, or SAME; empty where the writer does not say.
    `lists_all`: there is an edit for each thing that is cited, or of an uncited edit for each object that is not, up to
    as many as were asked for, so that those to be made can be drawn by lot.
    """

    edits: tuple[Edit, ...] = ()
    completion: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()
    cited: tuple[str, ...] | None = None
    absent: tuple[str, ...] = ()
    implied_blank: str = ""
    lists_all: bool = False


class Writer(Protocol):
    """A writer. A reply depends on its own request only."""

    async def write(self, request: WriteRequest) -> WriteReply:
        """Write the instructions of a request."""


@dataclass(frozen=True)
class VerifyRequest:
    """An image before and after an edit, and the instruction.

    `concept` is what the instruction changes, in a few words; `metadata` is what the dataset keeps beside the
    image that the first edit began with; `edit` is the instruction's number among those of the item; `before` are the
    positive parts of the instructions that `original` has been through already, in order.
    """

    item: str
    original: Image
    edited: Image
    positive: str
    metadata: Metadata | None = None
    negative: str = ""
    concept: str = ""
    before: tuple[str, ...] = ()
    seed: int = 0
    edit: int = 1


@dataclass(frozen=True)
class VerifyReply:
    """Whether the edit is right; None where this verifier cannot tell. `reason` says what is wrong.

    `absent`: True where what was to be edited is not in the original image, False where it is, None where this verifier
    does not know. That says something about whoever cited it, not about the editor.
    `numbers` are what was measured, by name (shares in [0, 1]); `images` what shows it, by name: `mask`, where the
    edit belongs, white, and `heat`, where pixels changed. `completion` is a model's reply as it came, `calls` names the
    stored calls. `content`: False where this verifier only looked where the image changed, not into what: its
    acceptance is enough for a gate, and never shows that an edit is what was asked.
    """

    verified: bool | None
    reason: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    images: Mapping[str, Image] = field(default_factory=dict)
    completion: str = ""
    calls: tuple[str, ...] = ()
    absent: bool | None = None
    content: bool = True


class Verifier(Protocol):
    """A verifier. A reply depends on its own request only."""

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """Check an edit."""


@dataclass(frozen=True)
class EditRequest:
    """An image and the instruction.

    `concept` is what the instruction changes, in a few words; `metadata` is what the dataset keeps beside
    the original image, filled only for an editor that `needs_metadata`; `edit` is the instruction's number among those
    of the item; `before` are the positive parts of the instructions that `image` has been through already, in order.
    `nothing`: nothing is to be changed; the editor passes the image through all that its edits go through.
    """

    item: str
    image: Image
    positive: str
    negative: str
    seed: int
    concept: str = ""
    metadata: Metadata | None = None
    edit: int = 1
    before: tuple[str, ...] = ()
    nothing: bool = False


def verify_request(request: EditRequest, edited: Image, seed: int) -> VerifyRequest:
    """What a verifier is asked about an image that came of an edit."""
    copied = ("item", "positive", "metadata", "negative", "concept", "before", "edit")
    fields = {name: getattr(request, name) for name in copied}
    return VerifyRequest(original=request.image, edited=edited, seed=seed, **fields)


@dataclass(frozen=True)
class EditAttempt:
    """One attempt of an editor that checks its own work: what came of it, and what the verifier found.

    `details` tells how it was made.
    """

    seed: int
    image: Image
    found: VerifyReply
    details: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EditReply:
    """The counterfactual image, or why there is none.

    `details` tells how it was made; `calls` names the stored calls it came from; `tries` are the attempts of an editor
    that checks its own work, the last one accepted where the status is ok.
    """

    image: Image | None = None
    details: dict[str, str] = field(default_factory=dict)
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()
    attempts: tuple[EditAttempt, ...] = ()


class Editor(Protocol):
    """An editor. The same request gives the same bytes."""

    needs_metadata: bool

    async def edit(self, request: EditRequest) -> EditReply:
        """Edit an image."""


@dataclass(frozen=True)
class Change:
    """An edit's instruction: its positive and negative part."""

    positive: str
    negative: str = ""


@dataclass(frozen=True)
class JudgeRequest:
    """Answer and explanation before and after, and the instructions of all edits between them, in order.

    A control has none: nothing that is cited was changed. `question` and `image`, the counterfactual image, are filled
    only for a judge that `needs_image`; it gets no instructions.
    """

    item: str
    answer: str
    explanation: str
    changes: tuple[Change, ...]
    new_answer: str
    new_explanation: str
    seed: int
    protocol: str = "edct-2025"
    question: str = ""
    image: Image | None = None


@dataclass(frozen=True)
class JudgeReply:
    """The protocol's two scores by name (`cfeval.edct.protocols.rules`), or why there are none.

    `grade`, from 1 to 5, is there where the protocol has one and it could be had; else `grade_reason` says why not. A
    reply can be ok without it. `stated_ccs` is the product as the judge wrote it, `completion` its whole reply, `calls`
    the stored calls it came from. `evades`, under a control: 1 where the new answer evades the question as the one
    before does not; None where the judge does not say.
    """

    scores: Mapping[str, Binary] = field(default_factory=dict)
    grade: float | None = None
    grade_reason: str = ""
    stated_ccs: Binary | None = None
    evades: Binary | None = None
    completion: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class Judge(Protocol):
    """A judge. A reply depends on its own request only."""

    needs_image: bool

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge a request."""


@dataclass(frozen=True)
class Found:
    """Where an edit belongs: the union of a mask of the original and one of the edited image, bool (H, W), any size.

    Without either, `reason` says why there is none, and `refuted` whether that shows that the edit was not made.
    `absent`: True where the segmenter is sure that the target is not in the original, False where it found it there,
    None where it did not look or cannot tell. `numbers` are what was measured on the way.
    """

    original: Mask | None = None
    edited: Mask | None = None
    reason: str = ""
    refuted: bool = False
    numbers: Mapping[str, float] = field(default_factory=dict)
    absent: bool | None = None


@dataclass(frozen=True)
class Seen:
    """What a text names in an image, and how sure that is; None where nothing is found.

    `absent`: whether it is sure that nothing of it is there.
    """

    mask: Mask | None
    score: float
    absent: bool = False


class Segmenter(Protocol):
    """A segmenter. A reply depends on its own request only.

    One that knows few words answers any other by a reason alone: a mask of what it knows would pass for what was asked.
    """

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """Find where an edit belongs; both images have one size.

        Args:
            request: images and instruction.
            changed: the pixels that changed, (H, W), in the original's frame at the gate's working size.
        """
        ...
