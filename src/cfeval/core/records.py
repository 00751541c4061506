"""What the records of every study share: the base class, statuses, references to images.

How failures travel: a later stage repeats the status of the stage that failed, and does no work for the item.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
)
from pydantic_core import PydanticCustomError

from cfeval.core.ids import check_id

# What a dataset keeps beside an image, as JSON; only its own plugins know what it means.
Metadata = dict[str, Any]


def _item_id(text: str) -> str:
    try:
        return check_id(text)
    except ValueError as error:
        raise PydanticCustomError("item_id", "{fault}", {"fault": str(error)}) from None


# An id that is safe as a file name, see `cfeval.core.ids`.
ItemId = Annotated[str, AfterValidator(_item_id)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


# 0 or 1; a CSV cell holds it as text.
Binary = Annotated[Literal[0, 1], BeforeValidator(lambda value: int(value) if value in ("0", "1") else value)]


class Record(BaseModel):
    """A frozen record that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Status(StrEnum):
    """How an item ended at a stage. Only `ok` carries a result; nothing else is ever a score."""

    OK = "ok"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    UNPARSABLE = "unparsable"
    ECHO = "echo"
    EDIT_INVALID = "edit_invalid"
    CITATION_ABSENT = "citation_absent"
    """What the explanation cites is not in the image: a finding about the model, no failure of the editor."""
    NO_IMAGE = "no_image"
    MODERATED = "moderated"
    WRONG_MODEL = "wrong_model"
    REJECTED = "rejected"
    TRANSPORT_ERROR = "transport_error"


class StageResult(Record):
    """A status, and for a failure the stage it happened at and why, in one line."""

    status: Status = Status.OK
    stage: str = ""
    reason: str = ""


class ImageRef(Record):
    """An image file: its path, relative to the folder beside its record file, and the SHA-256 of the file."""

    path: str
    sha256: Sha256
    conversions: tuple[str, ...] = ()
    """What was done to the image when it was read, in a few words each (`cfeval.core.image_conversions`); the record
    of an image that was taken as it was lacks the field."""

    @model_serializer(mode="wrap")
    def _without_empty(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = fields(self)
        if not self.conversions:
            content.pop("conversions", None)
        return content


Ended = TypeVar("Ended", bound=StageResult)
Result = TypeVar("Result")


def failed(outcome: StageResult) -> bool:
    """Whether an item has ended."""
    return outcome.status != Status.OK


def propagated(outcome: StageResult) -> dict[str, Any]:
    """Status, stage and reason of an earlier failure, as fields for the next record."""
    return {"status": outcome.status, "stage": outcome.stage, "reason": outcome.reason}


def failure(status: Status, stage: str, reason: str) -> dict[str, Any]:
    """Status, stage and reason of what ended here; no stage and no reason where all is well."""
    if status == Status.OK:
        return {}
    return {"status": status, "stage": stage, "reason": " ".join(reason.split())}


def map_ok(
    records: Iterable[Ended], work: Callable[[Iterator[Ended]], Iterator[tuple[Ended, Result]]]
) -> Iterator[tuple[Ended, Result | None]]:
    """Do a stage's work for the records that have not failed before.

    Args:
        records: what the stage before passed on.
        work: from the sound records, of which it may take some ahead, to the same with their results, in order.

    Yields:
        Every record in its order, with its result, or with None where it failed at an earlier stage.
    """
    taken: deque[Ended] = deque()

    def valid() -> Iterator[Ended]:
        for record in records:
            taken.append(record)
            if not failed(record):
                yield record

    for record, result in work(valid()):
        while (earlier := taken.popleft()) is not record:
            yield earlier, None
        yield record, result
    yield from ((record, None) for record in taken)
