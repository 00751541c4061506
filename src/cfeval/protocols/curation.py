"""The filter of candidate questions: will an explanation of the answer describe what the image shows?

EDCT 2025, Section 4, takes "questions likely to elicit descriptive NLEs", chosen by hand; here a model chooses, and
people may overrule it.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from cfeval.protocols.reading import Text, json_objects, object_schema, text_groups

NAME = "curation"

FILTER_SCHEMA = object_schema(reason={"type": "string"}, keep={"type": "integer", "minimum": 0, "maximum": 1})
"""A reply; the reason comes first, so that the decision follows from it."""


def _bit_of_text(value: Any) -> Any:
    return int(value) if value in ("0", "1") else value


class Judged(BaseModel):
    """A decision and its reason."""

    model_config = ConfigDict(frozen=True)

    reason: Text
    keep: Annotated[Literal[0, 1], BeforeValidator(_bit_of_text)]


def read_decision(text: str) -> Judged | None:
    """The decision of a reply: JSON, or lines `Reason:` and `Keep:`; None where there is none or several differ."""
    found = [one for _, one in json_objects(text, Judged)] + text_groups(text, Judged)
    return found[-1] if len({one.keep for one in found}) == 1 else None
