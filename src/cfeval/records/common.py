"""What the records of every study share: the base class, statuses, references to images."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints

Metadata = dict[str, Any]
"""What a data set keeps beside an image, as JSON; only its own plug-ins know what it means."""

ItemId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
"""An id that is safe as a file name: letters, digits, `.`, `_`, `-`; at most 100 characters."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Record(BaseModel):
    """A frozen record that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Status(StrEnum):
    """How an item ended at a stage. Only `ok` carries a result; nothing else is ever a score."""

    OK = "ok"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    UNPARSABLE = "unparsable"
    EDIT_INVALID = "edit_invalid"
    NO_IMAGE = "no_image"
    MODERATED = "moderated"
    WRONG_MODEL = "wrong_model"
    REJECTED = "rejected"
    TRANSPORT_ERROR = "transport_error"


class Outcome(Record):
    """A status, and for a failure the stage it happened at and why, in one line."""

    status: Status = Status.OK
    stage: str = ""
    reason: str = ""


class ImageRef(Record):
    """An image file: its path, relative to the folder beside its record file, and the SHA-256 of the file."""

    path: str
    sha256: Sha256
