"""Filing samples: the record file or its shards, and their pictures named by content."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from cfeval.errors import InputError
from cfeval.io.pictures import Picture
from cfeval.io.shards import file_pictured
from cfeval.records.edct import Sample, Scoring
from cfeval.records.world import Scene


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
    scene: Scene | None = None


def file_samples(path: Path, raws: Iterable[RawSample], shards: int = 1) -> None:
    """File every sample and its picture.

    Raises:
        InputError: two samples have the same id, one cannot be filed, or there is none.
    """
    filed = ((as_sample(raw), raw.picture) for raw in raws)
    file_pictured(path, ((sample.id, sample, picture, sample.image.path) for sample, picture in filed), shards)


def as_sample(raw: RawSample) -> Sample:
    """The record of a sample whose picture is filed by its content; InputError where it cannot be one."""
    try:
        return Sample(
            id=raw.id,
            image=raw.picture.ref(f"{raw.picture.sha256[:32]}.png"),
            question=raw.question,
            reference=raw.reference,
            answers=raw.answers,
            scoring=raw.scoring,
            kind=raw.kind,
            scene=raw.scene,
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"sample {raw.id!r}: {first['loc'][0]}: {first['msg']}") from None
