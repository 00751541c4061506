"""What a second model says of a draft (C-VQA, Section 3.2): is the new question about the image, its answer right?"""

from pydantic import BaseModel, ConfigDict

from cfeval.protocols.reading import BIT, TEXT, Bit, last_verdict, object_schema

SCHEMA = object_schema(analysis=TEXT, related=BIT, reasonable=BIT)
"""A reply; the analysis comes first, so that the verdict follows from it."""


class Verdict(BaseModel):
    """Whether the new question is about the image, and whether its answer is right."""

    model_config = ConfigDict(frozen=True)

    related: Bit
    reasonable: Bit


def read_verdict(text: str) -> Verdict | None:
    """The last well-formed verdict of a reply, or None: JSON, or two lines `RELATED:`, `REASONABLE:`."""
    return last_verdict(text, Verdict, "01")
