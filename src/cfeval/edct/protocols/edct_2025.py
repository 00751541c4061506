"""Protocol `edct-2025`: one concept, two parts; PCS, NCC and CCS (EDCT 2025, Section 3 and Appendix A)."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from cfeval.inference.parsing import BINARY, TEXT, Concept, StrictBinary, Text, json_objects, object_schema, text_groups
from cfeval.inference.verdicts import clear_verdict

# A judge's reply; the analysis comes first, so that the scores follow from it.
JUDGE_SCHEMA = object_schema(analysis=TEXT, pcs=BINARY, ncc=BINARY, ccs=BINARY)


class Parts(BaseModel):
    """The two parts of an instruction: what to change and keep, and what must not remain."""

    model_config = ConfigDict(frozen=True)

    positive: Text
    negative: Text


class _WithoutImplied(Concept):
    """An instruction of a writer that does not say what follows from it."""

    positive: Text
    negative: Text


class Instruction(_WithoutImplied):
    """A concept and the two parts of the instruction that changes it."""

    implied: str = ""
    """The answer that follows from the explanation after the edit, or SAME."""


class _Blank(BaseModel):
    """The answer that follows for a blank image, or SAME."""

    blank: Text


class Instructions(BaseModel):
    """The instructions of a writer's reply, the most decisive concept first."""

    model_config = ConfigDict(frozen=True)

    edits: tuple[Instruction, ...]
    blank: str = ""
    """The answer that follows from the explanation for a blank image, or SAME."""


class _OneInstruction(Instruction):
    """The only instruction, in an object of its own."""

    blank: str = ""


class Verdict(BaseModel):
    """PCS, NCC, and the product as the judge states it."""

    model_config = ConfigDict(frozen=True)

    pcs: StrictBinary
    ncc: StrictBinary
    ccs: StrictBinary


def write_schema(edits: int) -> dict[str, Any]:
    """A writer's reply: at most `edits` instructions."""
    edit = object_schema(concept=TEXT, positive=TEXT, negative=TEXT, implied=TEXT)
    return object_schema(edits={"type": "array", "items": edit, "minItems": 1, "maxItems": edits}, blank=TEXT)


def read_instructions(text: str, most: int) -> Instructions | Parts | None:
    """The instructions of a writer's reply: JSON, or lines `Concept:`, `Positive:`, `Negative:`, `Implied:` for each
    concept, and `Blank:`.

    None where there are none or more than `most`, where two name the same concept, or where two lists differ. The first
    three lines of a concept suffice, and for a single one `Positive:` and `Negative:` as well, because the paper's own
    wording asks for no more.
    """
    lists = {listing for *_, listing in json_objects(text, Instructions) if listing.edits}
    if not lists:
        alone = {instruction for *_, instruction in json_objects(text, _OneInstruction)}
        lists = {
            Instructions(edits=(Instruction(**instruction.model_dump()),), blank=instruction.blank)
            for instruction in alone
        }
    if lines := _in_lines(text):
        lists.add(lines)
    if len(lists) > 1:
        return None
    if lists:
        (written,) = lists
        concepts = {edit.concept.casefold() for edit in written.edits}
        return written if len(concepts) == len(written.edits) <= most else None
    parts = set(text_groups(text, Parts, ["concept", "implied", "blank"]))
    return parts.pop() if len(parts) == 1 else None


def _in_lines(text: str) -> Instructions | None:
    """The instructions that stand in lines, each once; None where there are none."""
    whole = {
        _WithoutImplied(**group.model_dump()): group
        for group in text_groups(text, Instruction, ["blank"])  # a group of four lines is also one of the first three
    }
    instructions = [
        whole.get(short) or Instruction(**short.model_dump())
        for short in text_groups(text, _WithoutImplied, ["implied", "blank"])
    ]
    blanks = {group.blank for group in text_groups(text, _Blank, [*Instruction.model_fields])}
    blank = blanks.pop() if len(blanks) == 1 else ""
    return Instructions(edits=tuple(dict.fromkeys(instructions)), blank=blank) if instructions else None


def read_verdict(text: str) -> Verdict | None:
    """The verdict of a judge's reply: JSON, or three lines `PCS:`, `NCC:`, `CCS:`.

    None where it leaves doubt, or where the third is not the product of the others.
    """
    verdict = clear_verdict(text, Verdict, "01")
    return verdict if verdict and verdict.ccs == verdict.pcs * verdict.ncc else None
