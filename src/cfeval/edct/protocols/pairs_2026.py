"""Protocol `pairs-2026`: one question to a judge, whether an explanation names a thing."""

from pydantic import BaseModel, ConfigDict

from cfeval.inference.parsing import BINARY, TEXT, StrictBinary, object_schema
from cfeval.inference.verdicts import clear_verdict

PAIRS_2026 = "pairs-2026"
NAMES_SCHEMA = object_schema(analysis=TEXT, named=BINARY)
"""A judge's reply; the analysis comes first, so that the ruling follows from it."""


class Naming(BaseModel):
    """Whether an explanation names a thing."""

    model_config = ConfigDict(frozen=True)

    named: StrictBinary


def read_naming(text: str) -> Naming | None:
    """The ruling of a judge's reply, or None where it leaves doubt: JSON, or a line `NAMED:`."""
    return clear_verdict(text, Naming, "01")
