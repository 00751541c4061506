"""The records of curation: which candidates are fit for the study, as a model and as people see it."""

from pydantic import Field, model_validator

from cfeval.records.common import ItemId, Outcome, Record, Sha256
from cfeval.records.edct import Bit


class Decision(Outcome):
    """What a model decided about a candidate (decisions.jsonl); one that failed is undecided."""

    id: ItemId
    question: str
    """The question that was decided about."""
    keep: Bit | None = None
    """1: likely to draw an explanation that describes visible evidence. None: undecided."""
    why: str = ""
    """The model's reason, in one line."""
    raw: str = ""
    """Its reply as it came."""
    calls: tuple[Sha256, ...] = ()

    @model_validator(mode="after")
    def _decided_when_ok(self) -> "Decision":
        if (self.status == "ok") != (self.keep is not None):
            raise ValueError("a decision is there when, and only when, the status is ok")
        return self


class Override(Record):
    """What a person decided about a candidate, whatever the model said (overrides.csv)."""

    id: ItemId
    keep: bool
    """yes or no, 1 or 0."""
    reason: str = Field(min_length=1)
    who: str = Field(min_length=1)
