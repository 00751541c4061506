"""Human labels: the key of a labelling sheet, what its page saves, and the labels as they are kept (labels.csv)."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from cfeval.core.records import Binary, ItemId, Record, Sha256, Status
from cfeval.edct.protocols.pairs_2026 import PAIRS_2026
from cfeval.edct.protocols.rules import CONTROLS, RULES, Rules
from cfeval.edct.records import Score


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


LABELLED = {**RULES, PAIRS_2026: Rules("none", chained=False, scores=("answer_moved", "named"))}
"""What is asked under each protocol whose results people can label; nothing of a given pair is edited here."""
WITHOUT_PRODUCT = (*CONTROLS, PAIRS_2026)
"""Protocols that have no CCS."""


class Edited(Record):
    """One edit of one item, and what the target said to it: what people look at, whichever judge reads it too."""

    dataset: str
    vlm: str
    writer: str
    protocol: str
    editor: str
    id: ItemId
    edit: int = Field(default=1, ge=1)


class PairScore(Edited):
    """What a judge says of a given pair, as far as people can say it too; the pair counts as one edit."""

    judge: str
    cluster: str = ""
    status: Status = Status.OK
    answer_moved: Binary | None = None
    named: Binary | None = None
    verified: None = None


Judged = Score | PairScore
"""What a tool said of an edit or of a given pair."""


class KeyRow(Edited):
    """What stands behind an item of a sheet (NAME.key.csv). People who label must not see it."""

    sheet: Sha256
    """The hash of the sheet's contents."""
    item: int = Field(ge=1)
    """The item's number on the sheet."""
    asks: str
    """What people are asked about it, separated by blanks: fields of `Marks`."""
    cluster: str = ""
    """See `Score.cluster`."""
    weight: float = Field(gt=0)
    """For how many edits of the study the item stands: the size of its stratum by how many of it were drawn."""
    gate: Binary | None = None
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
    named: Mark | None = None
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
    adjudication: Binary = 0
    """1: a decision where people disagree, made by a further person or by all together; no label of its own."""


def edited_of(row: Any) -> Edited:
    """The edit that a row of a key, of labels or of scores is about."""
    return Edited(**{name: getattr(row, name) for name in Edited.model_fields})
