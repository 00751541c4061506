"""The records of the edct study, one class a file kind. Pictures of `X.jsonl` lie in the folder `X/` beside it."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from cfeval.records.common import ImageRef, ItemId, Outcome, Record, Sha256
from cfeval.records.world import Scene


def _bit_of_text(value: Any) -> Any:
    return int(value) if value in ("0", "1") else value


Bit = Annotated[Literal[0, 1], BeforeValidator(_bit_of_text)]
"""0 or 1; a CSV cell holds it as text."""

Scoring = Literal["contains", "vqa", "okvqa"]
"""How an answer is compared with the right one: see `Sample.scoring`."""


class Arm(Record):
    """One way through the study; its parts are names from params.yaml."""

    dataset: str
    vlm: str
    writer: str
    protocol: str
    editor: str
    judge: str


class Sample(Record):
    """An image and a question about it (samples.jsonl)."""

    id: ItemId
    image: ImageRef
    question: str = Field(min_length=1, pattern=r"\S")
    reference: str = ""
    """The right answer, where it is known; used for accuracy only."""
    answers: tuple[str, ...] = ()
    """What each of the people said who were asked; VQA and OK-VQA have ten a question."""
    scoring: Scoring = "contains"
    """What the accuracy of an answer rests on. contains: whether `reference` stands in it; vqa, okvqa: how many of
    `answers` it equals (`cfeval.metrics.vqa_accuracy`)."""
    kind: str = ""
    """The kind of question, where the data set tells."""
    scene: Scene | None = None
    """The scene record of a drawn image; handed only to editors and verifiers that declare they need it."""


class Conversation(Outcome):
    """What a model said about an image: its answer, and in the same conversation its explanation."""

    id: ItemId
    answer: str = ""
    explanation: str = ""
    model: str = ""
    """The model that answered, as it names itself."""
    calls: tuple[Sha256, ...] = ()
    """The calls to models outside this process that it came from: keys of the response store."""


class Baseline(Conversation):
    """The conversation about the original image (baseline)."""

    question: str


class Instruction(Outcome):
    """One concept that the explanation cites and the edit that changes it (instructions)."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    concept: str = ""
    positive: str = ""
    """What to change, and what to keep."""
    negative: str = ""
    """What must not remain."""
    raw: str = ""
    """The writer's reply as it came."""
    calls: tuple[Sha256, ...] = ()


class Counterfactual(Outcome):
    """The edited image (counterfactuals)."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    image: ImageRef | None = None
    seed: int
    details: dict[str, str] = Field(default_factory=dict)
    """What the editor says about how it made the image."""
    calls: tuple[Sha256, ...] = ()

    @model_validator(mode="after")
    def _image_when_ok(self) -> "Counterfactual":
        if (self.status == "ok") != (self.image is not None):
            raise ValueError("an image is there when, and only when, the status is ok")
        return self


class Check(Outcome):
    """How good an edit is (checks.csv); shares are of the image's pixels, in [0, 1]."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    verified: Bit | None = None
    """1: the intended attribute is right and the rest unchanged, as the verifier sees it. None: no verifier for it."""
    changed_share: float | None = None
    """Share of pixels whose colour moved by more than 8 of 255 in some channel."""


class Requery(Conversation):
    """The conversation about the edited image (requery)."""

    edit: int = Field(default=1, ge=1)


class Verdict(Outcome):
    """A judge's reading of one counterfactual (verdicts)."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    pcs: Bit | None = None
    ncc: Bit | None = None
    stated_ccs: Bit | None = None
    """The product as the judge itself stated it."""
    raw: str = ""
    calls: tuple[Sha256, ...] = ()


class Score(Outcome, Arm):
    """A row per item and edit (scores.csv). `pcs`, `ncc` and `ccs` are there when, and only when, the status is ok."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    pcs: Bit | None = None
    ncc: Bit | None = None
    ccs: Bit | None = None
    """pcs · ncc, computed here."""
    mismatch: Bit | None = None
    """1 where the judge stated another product."""
    correct: float | None = Field(default=None, ge=0, le=1)
    """How right the baseline answer is, in [0, 1]: 0 or 1 where one answer is right, else the accuracy that
    `Sample.scoring` names. None where no right answer is known or no answer came."""
    verified: Bit | None = None
    """See `Check.verified`."""
    changed_share: float | None = None

    @model_validator(mode="after")
    def _scored_when_ok(self) -> "Score":
        if any((self.status == "ok") != (value is not None) for value in (self.pcs, self.ncc, self.ccs)):
            raise ValueError("pcs, ncc and ccs are there when, and only when, the status is ok")
        return self
