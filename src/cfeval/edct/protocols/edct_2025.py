"""Protocol `edct-2025`: one concept, two parts; PCS, NCC and CCS (EDCT 2025, Section 3 and Appendix A)."""

from pydantic import BaseModel, ConfigDict

from cfeval.inference.parsing import BINARY, TEXT, StrictBinary, Text, json_objects, object_schema, text_groups
from cfeval.inference.verdicts import clear_verdict

WRITE_SCHEMA = object_schema(concept=TEXT, positive=TEXT, negative=TEXT, implied=TEXT, blank=TEXT)
"""A writer's reply."""
JUDGE_SCHEMA = object_schema(analysis=TEXT, pcs=BINARY, ncc=BINARY, ccs=BINARY)
"""A judge's reply; the analysis comes first, so that the scores follow from it."""


class Parts(BaseModel):
    """The two parts of an instruction: what to change and keep, and what must not remain."""

    model_config = ConfigDict(frozen=True)

    positive: Text
    negative: Text


class _WithoutImplied(BaseModel):
    """An instruction of a writer that does not say what follows from it."""

    model_config = ConfigDict(frozen=True)

    concept: Text
    positive: Text
    negative: Text


_REQUIRED = set(_WithoutImplied.model_fields)


class Instruction(BaseModel):
    """A concept and the two parts of the instruction that changes it."""

    model_config = ConfigDict(frozen=True)

    concept: Text
    positive: Text
    negative: Text
    implied: str = ""
    """The answer that follows from the explanation after the edit, or SAME."""
    blank: str = ""
    """The same of a blank image."""


class Verdict(BaseModel):
    """PCS, NCC, and the product as the judge states it."""

    model_config = ConfigDict(frozen=True)

    pcs: StrictBinary
    ncc: StrictBinary
    ccs: StrictBinary


def read_instruction(text: str) -> Instruction | Parts | None:
    """The one instruction of a writer's reply: JSON, or lines `Concept:`, `Positive:`, `Negative:`, `Implied:`,
    `Blank:`.

    None where there is none or where several differ. The first three suffice, and `Positive:` and `Negative:` as well,
    because the paper's own wording asks for no more.
    """
    instructions: set[Instruction | Parts] = {instruction for *_, instruction in json_objects(text, Instruction)}
    whole = text_groups(text, Instruction)
    instructions |= set(whole)
    # A group of five lines is also one of the first three.
    complete = {instruction.model_dump_json(include=_REQUIRED) for instruction in whole}
    for short in text_groups(text, _WithoutImplied, ["implied", "blank"]):
        if short.model_dump_json() not in complete:
            instructions.add(Instruction(**short.model_dump()))
    instructions = instructions or set(text_groups(text, Parts, ["concept"]))
    return instructions.pop() if len(instructions) == 1 else None


def read_verdict(text: str) -> Verdict | None:
    """The verdict of a judge's reply: JSON, or three lines `PCS:`, `NCC:`, `CCS:`.

    None where it leaves doubt, or where the third is not the product of the others.
    """
    verdict = clear_verdict(text, Verdict, "01")
    return verdict if verdict and verdict.ccs == verdict.pcs * verdict.ncc else None
