"""Given pairs: two images that differ in one thing, one question about both, and what was changed.

Each image is filed as an item of its own, `ID.before` and `ID.after`, so that the stages that query a target model need
not know of pairs; the metadata of both holds what the pair is. Every so many pairs have a third item, `ID.again`: the
first image encoded again, of which the answer should be the same (the noise floor).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from pydantic import ValidationError

from cfeval.core.errors import InputError
from cfeval.core.images import Mask, Picture
from cfeval.core.records import Record
from cfeval.core.sampling import derive_seed
from cfeval.core.shards import sharded_gallery
from cfeval.datasets.sample import RawSample, Sample, as_record

Side = Literal["before", "after", "again"]
SIDES: tuple[Side, Side, Side] = ("before", "after", "again")
ChangeKind = Literal["", "object", "attribute", "count", "relation", "background", "other"]
"""What kind of thing was changed; empty where the set does not tell."""
THRESHOLD = 8
"""Of 255: a pixel that moved by no more in every channel counts as unchanged."""


class Pair(Record):
    """What is known of a pair; the items of both images hold it as metadata."""

    pair: str
    side: Side
    before: str
    """What was changed, in a few words, as it is in the first image; empty where it is not there."""
    after: str
    """The same in the second image."""
    kind: ChangeKind = ""
    natural: bool = False
    """The images are two photographs, not one and its edit: they differ in more than one thing."""
    biased: str = ""
    """The answer that a model gives which relies on what it knows and not on the second image."""
    verified: str = ""
    """Who checked that the change was made."""
    outside: float | None = None
    """Of the pixels that changed, the share outside the region that the set gives; None where it gives none."""


@dataclass(frozen=True)
class RawPair:
    """A pair before it is filed; see `Pair`. `references` are the right answers to both images, where known.

    `region`, (H, W) of the first image, is where the change belongs.
    """

    id: str
    pictures: tuple[Picture, Picture]
    question: str
    before: str
    after: str
    references: tuple[str, str] = ("", "")
    kind: ChangeKind = ""
    natural: bool = False
    biased: str = ""
    verified: str = ""
    region: Mask | None = None


class PairSet(Protocol):
    """A set of given pairs."""

    def pairs(self, items: int, seed: int) -> Iterator[RawPair]:
        """At most `items` pairs; the same arguments give the same pairs."""
        ...


def file_pairs(
    path: Path, raws: Iterable[RawPair], seed: int, every: int, shards: int = 1, archive: bool = False
) -> None:
    """File the images of every pair as items; all items of a pair are in one shard, one after the other.

    Args:
        path: the record file; its pictures go beside it.
        raws: the pairs.
        seed: draws which pairs are asked about again.
        every: of one pair in so many, on average, the first image is asked about again.
        shards, archive: see `cfeval.core.shards.sharded_gallery`.

    Raises:
        InputError: two pairs have the same id, one cannot be filed, or there is none.
    """
    seen: set[str] = set()
    with sharded_gallery(path, shards, archive) as add:
        for raw in raws:
            if raw.id in seen:
                raise InputError(f"two pairs have the id '{raw.id}'; ids must differ")
            seen.add(raw.id)
            again = derive_seed(seed, raw.id, "again") % every == 0
            for sample, picture in items_of(raw, again):
                add(raw.id, sample, {sample.image.path: picture})
    if not seen:
        raise InputError(f"{path}: there is no pair to file; the set is empty")


def items_of(raw: RawPair, again: bool) -> Iterator[tuple[Sample, Picture]]:
    """The items of a pair, each with its picture.

    Raises:
        InputError: the pair names no change, or cannot be filed.
    """
    if not (raw.before.strip() or raw.after.strip()):
        raise InputError(f"pair '{raw.id}': nothing says what was changed; name it as it is in either image")
    first, second = raw.pictures
    outside = None if raw.region is None else changed_outside(first, second, raw.region)
    for side, picture, reference in zip(
        SIDES, (first, second, first.reencoded()), (*raw.references, raw.references[0]), strict=True
    ):
        if side == "again" and not again:
            continue
        known = Pair(
            pair=raw.id,
            side=side,
            before=raw.before.strip(),
            after=raw.after.strip(),
            kind=raw.kind,
            natural=raw.natural,
            biased=raw.biased,
            verified=raw.verified,
            outside=outside,
        )
        item = RawSample(
            id=f"{raw.id}.{side}",
            picture=picture,
            question=raw.question,
            reference=reference,
            kind=raw.kind,
            metadata=known.model_dump(),
        )
        yield as_record(item, Sample), picture


def pair_of(sample: Sample) -> Pair:
    """The pair that an item belongs to; InputError where it belongs to none."""
    try:
        return Pair.model_validate(sample.metadata)
    except ValidationError:
        raise InputError(
            f"item '{sample.id}' belongs to no pair; give a file of `cfeval stage edct pair-items`"
        ) from None


def changed_outside(before: Picture, after: Picture, region: Mask) -> float | None:
    """Of the pixels that changed, the share outside a region, in [0, 1]; None where none changed.

    Args:
        before, after: the images; the second is brought to the size of the first.
        region: (H, W), as large as the first.

    Raises:
        InputError: the region has another size.
    """
    height, width = before.pixels.shape[:2]
    if region.shape != (height, width):
        raise InputError(f"a region of {region.shape} for an image of {(height, width)} pixels; both must be equal")
    moved = np.abs(before.pixels.astype(np.int16) - after.resized(width, height).pixels).max(axis=-1) > THRESHOLD
    return round(float((moved & ~region).sum() / moved.sum()), 4) if moved.any() else None
