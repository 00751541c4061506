"""Filing samples and pairs of questions: the record file or its shards, and their pictures named by content."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import ValidationError

from cfeval.errors import InputError
from cfeval.io.pictures import Picture
from cfeval.io.records import first_fault
from cfeval.io.shards import file_pictured
from cfeval.records.common import Metadata, Record
from cfeval.records.edct import Sample, Scoring

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class RawSample:
    """A sample before it is filed: see `cfeval.records.edct.Sample` for the fields."""

    id: str
    picture: Picture
    question: str
    reference: str = ""
    answers: tuple[str, ...] = ()
    scoring: Scoring = "contains"
    kind: str = ""
    metadata: Metadata | None = None


class Raw(Protocol):
    """What is filed with a picture, before it is: it has all fields of its record but the reference to the image."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def picture(self) -> Picture:
        """Its picture."""


def file_samples(path: Path, raws: Iterable[RawSample], shards: int = 1, archive: bool = False) -> None:
    """File every sample and its picture; see `cfeval.io.shards.file_pictured`.

    Raises:
        InputError: two samples have the same id, one cannot be filed, or there is none.
    """
    filed = ((as_record(raw, Sample), raw.picture) for raw in raws)
    items = ((sample.id, sample, picture, sample.image.path) for sample, picture in filed)
    file_pictured(path, items, shards, archive)


def as_record(raw: Raw, kind: type[R]) -> R:
    """The record of what has a picture. The picture is named by its content, so that equal ones are one file.

    Raises:
        InputError: it cannot be one, such as where its id is no file name.
    """
    fields = {name: getattr(raw, name) for name in kind.model_fields if name != "image"}
    try:
        return kind.model_validate(fields | {"image": raw.picture.ref(f"{raw.picture.sha256[:32]}.png")})
    except ValidationError as error:
        raise InputError(f"{kind.__name__.lower()} {raw.id!r}: {first_fault(error)}") from None
