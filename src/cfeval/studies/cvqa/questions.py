"""Questions: pairs of a set, checked and ready to be filed with their pictures."""

from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from cfeval.backends.question_sets.base import RawPair
from cfeval.errors import InputError
from cfeval.io.pictures import Picture
from cfeval.io.records import first_fault
from cfeval.records.cvqa import Pair


def questions(raws: Iterable[RawPair]) -> Iterator[tuple[Pair, Picture]]:
    """Every pair as its record, with its picture; pictures are named by their content, so equal ones are one file.

    Raises:
        InputError: a pair cannot be filed, such as one whose id is no file name.
    """
    for raw in raws:
        yield _filed(raw), raw.picture


def _filed(raw: RawPair) -> Pair:
    try:
        return Pair(
            id=raw.id,
            image=raw.picture.ref(f"{raw.picture.sha256[:32]}.png"),
            original=raw.original,
            counterfactual=raw.counterfactual,
            type=raw.type,
            img_path=raw.img_path,
            coco=raw.coco,
            scene=raw.scene,
            counts=raw.counts,
        )
    except ValidationError as error:
        raise InputError(f"pair {raw.id!r}: {first_fault(error)}") from None
