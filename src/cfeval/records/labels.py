"""Human labels: the key of a labelling sheet, what its page saves, and the labels as they are kept (labels.csv)."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from cfeval.records.common import ItemId, Record, Sha256
from cfeval.records.edct import Bit


def _word(value: Any) -> Any:
    """`Cannot tell` and 1 as people and spreadsheets write them: `cannot_tell` and `1`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return "_".join(value.split()).lower() if isinstance(value, str) else value


EditWord = Annotated[Literal["valid", "invalid", "cannot_tell"], BeforeValidator(_word)]
Mark = Annotated[Literal["0", "1", "not_assessable"], BeforeValidator(_word)]
GradeMark = Annotated[Literal["1", "2", "3", "4", "5", "not_assessable"], BeforeValidator(_word)]
Rater = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40, pattern=r"^[^\x00-\x1f\x7f]+$")
]
"""Name or initials of a person, at most 40 characters on one line."""


class Edited(Record):
    """One edit of one item, and what the target said to it: what people look at, whichever judge reads it too."""

    dataset: str
    vlm: str
    writer: str
    protocol: str
    editor: str
    id: ItemId
    edit: int = Field(default=1, ge=1)


class KeyRow(Edited):
    """What stands behind an item of a sheet (NAME.key.csv). People who label must not see it."""

    sheet: Sha256
    """The hash of the sheet's contents."""
    item: int = Field(ge=1)
    """The item's number on the sheet."""
    asks: str
    """What people are asked about it, separated by blanks: fields of `Marks`."""
    group: str = ""
    """See `Score.group`."""
    weight: float = Field(gt=0)
    """For how many edits of the study the item stands: the size of its stratum by how many of it were drawn."""
    gate: Bit | None = None
    """Whether the editor's own gate accepted the edit; None: the editor has none."""


class Marks(Record):
    """What one person said about one item; None: not answered, which is as missing as `not_assessable`."""

    item: int = Field(ge=1)
    edit_valid: EditWord | None = None
    pcs: Mark | None = None
    ncc: Mark | None = None
    ac: Mark | None = None
    ef: Mark | None = None
    answer_moved: Mark | None = None
    explanation_moved: Mark | None = None
    grade: GradeMark | None = None
    comment: str = Field(default="", max_length=10_000)

    def answered(self) -> dict[str, str]:
        """The answers that were given, by name."""
        return {name: said for name in ASKED if (said := getattr(self, name)) is not None}

    @model_validator(mode="after")
    def _no_scores_of_an_invalid_edit(self) -> "Marks":
        if self.edit_valid == "invalid" and len(self.answered()) > 1:
            raise ValueError("an invalid edit has no scores; leave them empty")
        return self


ASKED = tuple(name for name in Marks.model_fields if name not in ("item", "comment"))
"""What people may be asked."""


class SavedLabels(Record):
    """The file that the page of a sheet saves."""

    format: Literal["cfeval-labels-1"]
    sheet: Sha256
    rater: Rater
    labels: tuple[Marks, ...]


class Label(Marks, KeyRow):
    """What one person said about one edit (labels.csv)."""

    rater: Rater


def edited_of(row: Any) -> Edited:
    """The edit that a row of a key, of labels or of scores is about."""
    return Edited(**{name: getattr(row, name) for name in Edited.model_fields})


class LabelAgreementRow(Record):
    """How far people, or a tool and people, agree about one question (edct_labels.csv). Figures are in [0, 1].

    An empty cell: there is no such figure.
    """

    protocol: str
    about: str
    """edit_valid, a score of the protocol, ccs (their product) or grade."""
    comparison: Literal["human_human", "tool_human", "tool_consensus", "three_way"]
    """three_way: all people and the tool."""
    tool: str = ""
    """The judge; for edit_valid `gate`, the editor's own, or `check`, the independent one."""
    rater: str = ""
    """Whom of the people the tool is compared with, in tool_human."""
    n: int
    """Edits that people labelled, and that the tool met."""
    n_assessable: int
    """Those for which there is all that is compared: at least two people's answers, the tool's."""
    agreement: float | None = None
    """The share of them with one and the same answer."""
    agreement_lo: float | None = None
    agreement_hi: float | None = None
    agreement_min: float | None = None
    """The share of all n if on every edit that is not assessable the answers had differed."""
    agreement_max: float | None = None
    """The same if they had not."""
    paper_agreement: float | None = None
    """What EDCT-Bench 2026 printed for this cell; empty where it has none."""
    kappa: float | None = None
    """Cohen's, of two sides; not of grades."""
    kappa_lo: float | None = None
    kappa_hi: float | None = None
    alpha: float | None = None
    """Krippendorff's, of grades the ordinal one."""
    alpha_lo: float | None = None
    alpha_hi: float | None = None
    both_1: int | None = None
    """tool_consensus: edits to which the consensus and the tool give a 1."""
    human_1_tool_0: int | None = None
    human_0_tool_1: int | None = None
    both_0: int | None = None
    sensitivity: float | None = None
    """Share of the tool's 1 among edits whose consensus is 1, each counted by its weight."""
    sensitivity_lo: float | None = None
    """Wilson's, edits of an image a cluster; empty where edits differ in weight."""
    sensitivity_hi: float | None = None
    specificity: float | None = None
    """Share of the tool's 0 among edits whose consensus is 0, each counted by its weight."""
    specificity_lo: float | None = None
    specificity_hi: float | None = None
    ccs: float | None = None
    """tool_consensus about ccs: share of 1 that the judge gives to the arm's edits of items that nobody labelled."""
    n_corrected: int | None = None
    """Those edits."""
    corrected: float | None = None
    """`ccs` corrected for the judge's error on the labelled edits (`cfeval.stats.judge_error.corrected`)."""
    corrected_lo: float | None = None
    corrected_hi: float | None = None
    corrected_note: str = ""
    """Why there is no such figure, or what it leaves out."""
    ci: str = ""
    missing: str = ""
    """Why edits are not assessable, with counts."""
