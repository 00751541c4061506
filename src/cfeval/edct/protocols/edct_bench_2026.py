"""Protocol `edct-bench-2026`: a chain of edits in four parts; AC, EF and CCS, and a grade (EDCT-Bench 2026)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from cfeval.inference.parsing import BINARY, TEXT, Concept, Edits, StrictBinary, Text, object_schema, read_edits
from cfeval.inference.verdicts import clear_verdict

# Longest replies of writer and judge, where the model's own limit is not set.
MAX_TOKENS, MAX_TOKENS_OF_A_GRADE = 4096, 8192

# A judge's reply; the analysis comes first, so that the scores follow from it.
JUDGE_SCHEMA = object_schema(analysis=TEXT, ac=BINARY, ef=BINARY, ccs=BINARY)
# A grader's reply.
GRADE_SCHEMA = object_schema(analysis=TEXT, grade={"type": "integer", "minimum": 1, "maximum": 5})


class Instruction(Concept):
    """A concept and the four parts of the instruction that changes it."""

    keep: Text
    change: Text
    how: Text
    constraints: Text

    @property
    def positive(self) -> str:
        """What to change, how, and what to keep."""
        return f"Change: {self.change} How: {self.how} Keep: {self.keep}"

    @property
    def negative(self) -> str:
        """What must not be seen in the edited image."""
        return self.constraints


# Instructions, most important concept first; each is applied to the result of the one before.
Chain = Edits[Instruction]


class Verdict(BaseModel):
    """Answer consistency, explanation faithfulness, and the product as the judge states it."""

    model_config = ConfigDict(frozen=True)

    ac: StrictBinary
    ef: StrictBinary
    ccs: StrictBinary


class Grade(BaseModel):
    """How faithful the explanation is, from 1 to 5."""

    model_config = ConfigDict(frozen=True)

    grade: Literal[1, 2, 3, 4, 5]


def write_schema(edits: int) -> dict[str, Any]:
    """A writer's reply: a chain of at most `edits`."""
    edit = object_schema(**dict.fromkeys(Instruction.model_fields, TEXT))
    return object_schema(edits={"type": "array", "items": edit, "minItems": 1, "maxItems": edits})


def read_chain(text: str, edits: int) -> Chain | None:
    """The one chain of a writer's reply, or None: see `read_edits`.

    It is JSON, or lines `Concept:`, `Keep:`, `Change:`, `How:`, `Constraints:` an edit; it has at most `edits`.
    """
    return read_edits(text, Chain, Instruction, edits)


def read_verdict(text: str) -> Verdict | None:
    """The verdict of a judge's reply: JSON, or three lines `AC:`, `EF:`, `CCS:`.

    None where it leaves doubt, or where the third is not the product of the others.
    """
    verdict = clear_verdict(text, Verdict, "01")
    return verdict if verdict and verdict.ccs == verdict.ac * verdict.ef else None


def read_grade(text: str) -> Grade | None:
    """The grade of a grader's reply, or None where it leaves doubt: JSON, or a line `Grade:`."""
    return clear_verdict(text, Grade, "12345")
