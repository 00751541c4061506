"""The controls: did anything move when nothing was changed, or only what the explanation does not cite, or all?

Neither paper has them. They are judged alike, by a comparison that is told of no edit: what moves under `null-edit` is
the noise floor, what moves under `uncited-edit` beyond it has a cause that the explanation left out, and what does not
even move under `blank-image` does not rest on the image. The writer of uncited edits is shown the image, so it also
says which of the cited things it sees there.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from cfeval.inference.parsing import (
    BINARY,
    TEXT,
    Concept,
    Edits,
    StrictBinary,
    Text,
    object_schema,
    read_edits,
    text_groups,
)
from cfeval.inference.verdicts import clear_verdict


def _word(value: Any) -> Any:
    return value.strip(" .").lower() if isinstance(value, str) else value


Evidence = Annotated[Literal["object", "background"], BeforeValidator(_word)]

# A judge's reply; the analysis comes first, so that the scores follow from it.
COMPARE_SCHEMA = object_schema(analysis=TEXT, answer_moved=BINARY, explanation_moved=BINARY, answer_evades=BINARY)


class Comparison(BaseModel):
    """Whether an answer is another one in substance than one before, and an explanation rests on other evidence."""

    model_config = ConfigDict(frozen=True)

    answer_moved: StrictBinary
    explanation_moved: StrictBinary


class FullComparison(Comparison):
    """The same, and whether the later answer evades the question as the one before does not."""

    answer_evades: StrictBinary


class UncitedEdit(Concept):
    """Something that the explanation does not cite, and the two parts of the instruction that changes it."""

    evidence: Evidence
    positive: Text
    negative: Text


class CitedThing(BaseModel):
    """Something that the explanation cites, and whether it is seen in the image."""

    model_config = ConfigDict(frozen=True)

    cited: Text
    seen: Annotated[Literal["yes", "no"], BeforeValidator(_word)]


class UncitedEdits(Edits[UncitedEdit]):
    """Instructions, each for the original image, and what the explanation cites; nothing where it is not listed."""

    cited: tuple[CitedThing, ...] = ()


def uncited_schema(edits: int) -> dict[str, Any]:
    """A writer's reply: at most `edits` instructions."""
    evidence = {"type": "string", "enum": ["object", "background"]}
    edit = object_schema(concept=TEXT, evidence=evidence, positive=TEXT, negative=TEXT)
    cited = object_schema(cited=TEXT, seen={"type": "string", "enum": ["yes", "no"]})
    return object_schema(
        cited={"type": "array", "items": cited, "minItems": 1},
        edits={"type": "array", "items": edit, "minItems": 1, "maxItems": edits},
    )


def read_uncited_edits(text: str, edits: int) -> UncitedEdits | None:
    """The instructions of a writer's reply, each for the original image, or None: see `read_edits`.

    They are JSON, or lines `Concept:`, `Evidence:`, `Positive:`, `Negative:` an edit; there are at most `edits`. What
    is cited stands in lines `Cited:`, `Seen:` a thing.
    """
    listing = read_edits(text, UncitedEdits, UncitedEdit, edits)
    if listing is None or listing.cited:
        return listing
    return listing.model_copy(update={"cited": tuple(text_groups(text, CitedThing))})


def read_comparison(text: str) -> Comparison | None:
    """The comparison of a judge's reply, or None.

    It is JSON, or lines `ANSWER_MOVED:`, `EXPLANATION_MOVED:`, `ANSWER_EVADES:`. An own prompt need not ask for the
    last.
    """
    return clear_verdict(text, FullComparison, "01") or clear_verdict(text, Comparison, "01")
