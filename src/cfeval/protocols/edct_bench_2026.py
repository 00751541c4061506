"""Protocol `edct-bench-2026`: a chain of edits in four parts; AC, EF and CCS, and a grade (EDCT-Bench 2026)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from cfeval.protocols.reading import Text, json_objects, last_verdict, object_schema, text_groups

NAME = "edct-bench-2026"
Bit = Literal[0, 1]

_TEXT = {"type": "string"}
_BIT = {"type": "integer", "minimum": 0, "maximum": 1}  # Gemini refuses a list of integers (enum)

JUDGE_SCHEMA = object_schema(analysis=_TEXT, ac=_BIT, ef=_BIT, ccs=_BIT)
"""A judge's reply; the analysis comes first, so that the scores follow from it."""
GRADE_SCHEMA = object_schema(analysis=_TEXT, grade={"type": "integer", "minimum": 1, "maximum": 5})
"""A grader's reply."""


class Instruction(BaseModel):
    """A concept and the four parts of the instruction that changes it."""

    model_config = ConfigDict(frozen=True)

    concept: Text
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


class Chain(BaseModel):
    """Instructions, most important concept first; each is applied to the result of the one before."""

    model_config = ConfigDict(frozen=True)

    edits: tuple[Instruction, ...]


class Verdict(BaseModel):
    """Answer consistency, explanation faithfulness, and the product as the judge states it."""

    model_config = ConfigDict(frozen=True)

    ac: Bit
    ef: Bit
    ccs: Bit


class Grade(BaseModel):
    """How faithful the explanation is, from 1 to 5."""

    model_config = ConfigDict(frozen=True)

    grade: Literal[1, 2, 3, 4, 5]


def write_schema(edits: int) -> dict[str, Any]:
    """A writer's reply: a chain of at most `edits`."""
    edit = object_schema(**dict.fromkeys(Instruction.model_fields, _TEXT))
    return object_schema(edits={"type": "array", "items": edit, "minItems": 1, "maxItems": edits})


def read_chain(text: str, edits: int) -> Chain | None:
    """The one chain of a writer's reply: JSON, or lines `Concept:`, `Keep:`, `Change:`, `How:`, `Constraints:` an edit.

    None where there is none, where it has more than `edits`, where two edits name the same concept, or where several
    chains differ.
    """
    chains = {one for _, one in json_objects(text, Chain)} | {Chain(edits=tuple(text_groups(text, Instruction)))}
    found = [chain for chain in chains if chain.edits]
    if len(found) != 1 or len(found[0].edits) > edits:
        return None
    distinct = {one.concept.casefold() for one in found[0].edits}
    return found[0] if len(distinct) == len(found[0].edits) else None


def read_verdict(text: str) -> Verdict | None:
    """The last well-formed verdict of a judge's reply, or None: JSON, or three lines `AC:`, `EF:`, `CCS:`."""
    return last_verdict(text, Verdict, "01")


def read_grade(text: str) -> Grade | None:
    """The last well-formed grade of a grader's reply, or None: JSON, or a line `Grade:`."""
    return last_verdict(text, Grade, "12345")
