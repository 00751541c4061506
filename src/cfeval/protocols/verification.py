"""What a model says that looks at an edit, under any protocol: was it made, and was everything else kept?"""

from pydantic import BaseModel, ConfigDict

from cfeval.protocols.reading import BIT, TEXT, Bit, last_verdict, object_schema

FOLDER = "verification"
"""Of the prompts."""
SCHEMA = object_schema(analysis=TEXT, made=BIT, kept=BIT)
"""A reply; the analysis comes first, so that the scores follow from it."""


class Sight(BaseModel):
    """Whether the edit is there as told, and whether nothing else changed."""

    model_config = ConfigDict(frozen=True)

    made: Bit
    kept: Bit


def read_sight(text: str) -> Sight | None:
    """The last well-formed verdict of a reply, or None: JSON, or two lines `MADE:`, `KEPT:`."""
    return last_verdict(text, Sight, "01")
