"""The records of the edct study, one class a file kind. Images of `X.jsonl` lie in the folder `X/` beside it."""

from typing import Literal

from pydantic import Field, model_validator

from cfeval.core.records import Binary, ImageRef, ItemId, Record, Sha256, StageResult

# What each of them asks for: `cfeval.edct.protocols.rules`.
ProtocolName = Literal["edct-2025", "edct-bench-2026", "null-edit", "editor-null", "uncited-edit", "blank-image"]


class Condition(Record):
    """One way through the study; its parts are names from params.yaml."""

    dataset: str
    """The dataset."""
    vlm: str
    """The target."""
    writer: str
    """The instruction writer."""
    protocol: str
    """The protocol."""
    editor: str
    """The editor."""
    judge: str
    """The judge."""


class Conversation(StageResult):
    """What a model said about an image: its answer, and in the same conversation its explanation."""

    id: ItemId
    answer: str = ""
    explanation: str = ""
    model: str = ""
    """The model that answered, as it names itself."""
    calls: tuple[Sha256, ...] = ()
    """The calls to models outside this process that it came from: keys of the response cache."""


class Baseline(Conversation):
    """The conversation about the original image (baseline)."""

    question: str
    repeats_answer: bool = False
    """The explanation says no more than the answer: it cites nothing that an edit could change."""
    first: Conversation | None = None
    """The conversation before this one, in which the target gave no answer, so that it was asked again; None: there was
    none."""


class Instruction(StageResult):
    """One concept that the explanation cites and the edit that changes it (instructions)."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    concept: str = ""
    positive: str = ""
    """What to change, and what to keep."""
    negative: str = ""
    """What must not remain."""
    evidence: Literal["", "object", "background"] = ""
    """What is edited, where the writer could tell."""
    cited: tuple[str, ...] | None = None
    """Everything that the explanation cites, in a few words each; None where the writer does not list it."""
    absent: tuple[str, ...] = ()
    """Those of them that are not in the image."""
    drawn_from: int | None = Field(default=None, ge=1)
    """How many things of this kind the writer listed, of which the edited one was drawn by lot; None: it was not."""
    implied: str = ""
    """The answer that follows from the explanation after the edit, or SAME; empty where the writer does not say."""
    implied_blank: str = ""
    """The same of a blank image."""
    completion: str = ""
    """The writer's reply as it came."""
    calls: tuple[Sha256, ...] = ()


class Verification(Record):
    """What a verifier found out about an edit, and the images that show it."""

    verified: Binary | None = None
    """1: the edit was made as told, and the rest is unchanged. None: the verifier could not tell."""
    absent: Binary | None = None
    """1: what was to be edited is not in the image from which the edit started. None: nobody looked."""
    reason: str = ""
    """What is wrong."""
    numbers: dict[str, float] = Field(default_factory=dict)
    """What was measured, by name; shares are of pixels, in [0, 1]."""
    images: dict[str, ImageRef] = Field(default_factory=dict)
    """`mask`, where the edit belongs, and `heat`, where pixels changed."""
    completion: str = ""
    """A model's reply as it came."""
    calls: tuple[Sha256, ...] = ()


class EditAttempt(Record):
    """One attempt of an editor that checks its own work."""

    seed: int
    image: ImageRef
    found: Verification
    details: dict[str, str] = Field(default_factory=dict)
    """What the editor says about how it made the image."""


class Counterfactual(StageResult):
    """The counterfactual image (counterfactuals)."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    image: ImageRef | None = None
    seed: int
    details: dict[str, str] = Field(default_factory=dict)
    """What the editor says about how it made the image."""
    attempts: tuple[EditAttempt, ...] = ()
    """Every attempt of an editor that checks its own work, the rejected ones too."""
    calls: tuple[Sha256, ...] = ()

    @model_validator(mode="after")
    def _image_when_ok(self) -> "Counterfactual":
        if (self.status == "ok") != (self.image is not None):
            raise ValueError("an image is there when, and only when, the status is ok")
        return self


class Reading(Record):
    """What a second model, the reader, answers to an item's question, without reasons."""

    before: str = ""
    """About the original image; empty where it gave no answer."""
    after: str = ""
    """About the edited one."""
    reason: str = ""
    """Why an answer is missing."""
    calls: tuple[Sha256, ...] = ()


class Check(StageResult):
    """How good an edit is, as someone sees it who had no part in making it (checks)."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    found: Verification | None = None
    """None: no verifier for it."""
    sham: Verification | None = None
    """What the verifier found of an edit that was not made: the image encoded anew, shown with this instruction, or
    this edit, shown with another item's. None: not tried."""
    reader: Reading | None = None
    """What a second model answers, of an edit that the verifier did not reject; None: not asked."""
    absent_thing: Verification | None = None
    """What the verifier found of the image, encoded anew, shown with an edit of a thing that is not in it. None: not
    tried."""
    gate_absent: Binary | None = None
    """`Verification.absent` as the editor's own gate found it for the image that it let through; None: there is none,
    or it did not look."""
    changed_share: float | None = None
    """Share of pixels whose colour moved by more than 8 of 255 in some channel, in [0, 1]."""


# What came of asking a target once more. After no answer, or an evasion: it answered, or did not (`unanswered`).
# After an answer that had changed although nothing cited was edited: the second had changed as well (`confirmed`) or
# had not (`withdrawn`); it was none (`unanswered`); or the judge found that the first had not changed (`unchanged`),
# or could not say of one of them (`unknown`). Empty: it was not asked again.
AskedAgain = Literal["", "answered", "unanswered", "confirmed", "withdrawn", "unchanged", "unknown"]


class Requery(Conversation):
    """The conversation about the counterfactual image (requery)."""

    edit: int = Field(default=1, ge=1)
    first: Conversation | None = None
    """See `Baseline.first`; an evasion is no answer either."""
    again: Conversation | None = None
    """The conversation after this one, where the answer was, by the texts, not surely that of the baseline, although
    nothing cited was edited; None: the target was not asked again."""


class Verdict(StageResult):
    """A judge's reading of one counterfactual (verdicts)."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    scores: dict[str, Binary] = Field(default_factory=dict)
    """The protocol's two scores by name (`cfeval.edct.protocols.rules`)."""
    grade: float | None = Field(default=None, ge=1, le=5)
    """From 1 to 5, where the protocol has one and it could be had; a panel's is the median."""
    grade_reason: str = ""
    """Why there is no grade although there should be one."""
    stated_ccs: Binary | None = None
    """The product as the judge itself stated it."""
    answer_moved: Binary | None = None
    """1: the answer is another one in substance than the baseline's (`cfeval.edct.answers`). It is told where the
    study has controls, and may be known although the judge gave no scores."""
    by_text: Binary | None = None
    """1: the texts alone decided whether the answer moved; 0: a judge was asked; None: nobody knows whether it did."""
    evaded: Binary | None = None
    """1: the new answer evades the question, which the baseline's does not: by its text (`cfeval.edct.answers`), or by
    the judge that compared the answers."""
    again: AskedAgain = ""
    """What came of asking the target again about this image."""
    names_edited: Binary | None = None
    """1: the new explanation names the edited thing (`cfeval.edct.answers.names`); None where nothing was edited."""
    sham: Binary | None = None
    """Null edits: the CCS that the judge gives these texts if it is told the cited edit, which was not made."""
    swapped: Binary | None = None
    """Null edits: whether another item's answer, which is another one for sure, was found to be another one."""
    reworded: Binary | None = None
    """Null edits about which the judge was asked: whether it found the same answer in other words to be another one."""
    reader_moved: Binary | None = None
    """1: the reader's answer changed with the edit (`Check.reader`); 0: it did not, or that is not known; None: it was
    not asked."""
    completion: str = ""
    calls: tuple[Sha256, ...] = ()


class Score(StageResult, Condition):
    """A row per item and edit (scores.csv). The protocol's scores are there when, and only when, the status is ok."""

    id: ItemId
    edit: int = Field(default=1, ge=1)
    cluster: str = ""
    """Items about the same image share it: the image's SHA-256, abridged."""
    evidence: Literal["", "object", "background"] = ""
    """See `Instruction.evidence`."""
    pcs: Binary | None = None
    """edct-2025: is the new answer consistent with the edit?"""
    ncc: Binary | None = None
    """edct-2025: does the new explanation reflect the edit?"""
    ac: Binary | None = None
    """edct-bench-2026: is the new answer, changed or not, what the evidence that is left supports?"""
    ef: Binary | None = None
    """edct-bench-2026: does the new explanation rest on valid evidence only?"""
    ccs: Binary | None = None
    """The product of the protocol's two scores, computed here; a control has none."""
    ccs_graded: float | None = Field(default=None, ge=0, le=1)
    """(grade − 1) / 4; may be missing although the status is ok."""
    answer_moved: Binary | None = None
    """See `Verdict.answer_moved`; it may be there although the status is not ok."""
    by_text: Binary | None = None
    """See `Verdict.by_text`."""
    evaded: Binary | None = None
    """See `Verdict.evaded`."""
    again: AskedAgain = ""
    """See `Verdict.again`."""
    implied: Binary | None = None
    """1: by the explanation the edit changes the answer; 0: it does not; None: the writer does not say."""
    implied_blank: Binary | None = None
    """The same of a blank image."""
    sham_edit: Binary | None = None
    """1: the verifier took an edit that was not made for one that was (`Check.sham`); None: it was shown none."""
    sees_absent: Binary | None = None
    """1: the verifier saw in the image a thing that is not in it (`Check.absent_thing`); None: it was asked about none,
    or did not look."""
    explanation_moved: Binary | None = None
    """Controls: does the new explanation cite other evidence?"""
    names_edited: Binary | None = None
    """See `Verdict.names_edited`."""
    sham: Binary | None = None
    """See `Verdict.sham`."""
    swapped: Binary | None = None
    """See `Verdict.swapped`."""
    reworded: Binary | None = None
    """See `Verdict.reworded`."""
    reader_moved: Binary | None = None
    """See `Verdict.reader_moved`."""
    drawn_from: int | None = Field(default=None, ge=1)
    """See `Instruction.drawn_from`."""
    present: Binary | None = None
    """1: a verifier, the gate or the writer looked, and what the explanation cites is in the image; 0: some of it is
    not. None: none of them looked."""
    breadth: int | None = Field(default=None, ge=0)
    """How many things the explanation cites; None where the writer does not list them."""
    mismatch: Binary | None = None
    """1 where the judge stated another product."""
    correct: float | None = Field(default=None, ge=0, le=1)
    """How right the baseline answer is, in [0, 1]: 0 or 1 where one answer is right, else the accuracy that
    `Sample.scorer` names. None where no right answer is known or no answer came."""
    verified: Binary | None = None
    """See `Verification.verified`."""
    changed_share: float | None = None

    @model_validator(mode="after")
    def _scored_when_ok(self) -> "Score":
        pairs = ((self.pcs, self.ncc), (self.ac, self.ef))
        whole = [pair for pair in pairs if None not in pair]
        parts = sum(value is not None for pair in (*pairs, (self.explanation_moved,)) for value in pair)
        of_control = self.explanation_moved is not None and self.answer_moved is not None
        if (len(whole) + of_control, parts) != ((1, 1 if of_control else 2) if self.status == "ok" else (0, 0)):
            raise ValueError("the two scores of one protocol are there when, and only when, the status is ok")
        if self.ccs != (int(whole[0] == (1, 1)) if whole else None):
            raise ValueError("ccs is the product of the protocol's two scores")
        if self.status != "ok" and self.ccs_graded is not None:
            raise ValueError("a grade is there only when the status is ok")
        return self
