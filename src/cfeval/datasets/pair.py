"""Given pairs: two images that differ in one thing, one question about both, and what was changed.

Each image is filed as an item of its own, `ID.before` and `ID.after`, so that the stages that query a target model need
not know of pairs; the metadata of both holds what the pair is. `before` is the set's original image and `after` its
change; which of the two comes first, where it is asked about and where a judge reads of it, is drawn by a hash of the
pair's id and the seed, so that half of the pairs go the other way. Every so many pairs have a third item, `ID.again`:
the image that comes first, encoded again, of which the answer should be the same (the noise floor).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from pydantic import ValidationError

from cfeval.core.errors import InputError
from cfeval.core.image_folders import LeftOut
from cfeval.core.images import Image, Mask
from cfeval.core.records import Record
from cfeval.core.sampling import derive_seed
from cfeval.core.shards import sharded_gallery
from cfeval.datasets.sample import RawSample, Sample, as_record

Side = Literal["before", "after", "again"]
WhichImage = Literal["before", "after"]
IMAGES: tuple[WhichImage, WhichImage] = ("before", "after")
# What kind of thing was changed; empty where the set does not tell.
ChangeKind = Literal["", "object", "attribute", "count", "relation", "background", "other"]
# Of 255: a pixel that moved by no more in every channel counts as unchanged.
THRESHOLD = 8


class Pair(Record):
    """What is known of a pair; the items of both images hold it as metadata."""

    pair: str
    side: Side
    first: WhichImage = "before"
    """Which image comes first."""
    before: str
    """What was changed, in a few words, as it is in the original image; empty where it is not there."""
    after: str
    """The same in the changed image."""
    kind: ChangeKind = ""
    natural: bool = False
    """The images are two photographs, not one and its edit: they differ in more than one thing."""
    biased: str = ""
    """The answer that a model gives which relies on what it knows and not on the changed image."""
    verified: str = ""
    """Who checked that the change was made."""
    outside: float | None = None
    """Of the pixels that changed, the share outside the region that the set gives; None where it gives none."""

    @property
    def order(self) -> tuple[WhichImage, WhichImage]:
        """Both images, the one that comes first before the other."""
        return ("before", "after") if self.first == "before" else ("after", "before")

    @property
    def told(self) -> tuple[str, str]:
        """The changed thing as it is in either image, in this order."""
        return (self.before, self.after) if self.first == "before" else (self.after, self.before)


@dataclass(frozen=True)
class RawPair:
    """A pair before it is filed; see `Pair`.

    `images` are the original and the changed one, `references` the right answers to them, where known; `region`,
    (H, W) of the original image, is where the change belongs.
    """

    id: str
    images: tuple[Image, Image]
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
    path: Path,
    raws: Iterable[RawPair],
    seed: int,
    every: int,
    shards: int = 1,
    archive: bool = False,
    left_out: Callable[[], Sequence[LeftOut]] = tuple,
) -> None:
    """File the images of every pair as items; all items of a pair are in one shard, one after the other.

    Args:
        path: the record file; its image files go beside it.
        raws: the pairs.
        seed: draws which image of a pair comes first, and which pairs are asked about again.
        every: of one pair in so many, on average, the image that comes first is asked about again.
        shards, archive, left_out: see `cfeval.core.shards.sharded_gallery`.

    Raises:
        InputError: two pairs have the same id, one cannot be filed, or there is none.
    """
    seen: set[str] = set()
    with sharded_gallery(path, shards, archive, left_out) as add:
        for raw in raws:
            if raw.id in seen:
                raise InputError(f"two pairs have the id '{raw.id}'; ids must differ")
            seen.add(raw.id)
            for sample, image in drawn_items(raw, seed, every):
                add(raw.id, sample, {sample.image.path: image})
    if not seen:
        raise InputError(f"{path}: there is no pair to file; the set is empty")


def drawn_items(raw: RawPair, seed: int, every: int) -> Iterator[tuple[Sample, Image]]:
    """The items of a pair, with what a study draws of it: the image that comes first, and whether there is a third."""
    first: WhichImage = "after" if derive_seed(seed, raw.id, "first") % 2 else "before"
    return items_of(raw, derive_seed(seed, raw.id, "again") % every == 0, first)


def items_of(raw: RawPair, again: bool, first: WhichImage = "before") -> Iterator[tuple[Sample, Image]]:
    """The items of a pair in the order in which they are asked about, each with its image.

    Raises:
        InputError: the pair names no change, or cannot be filed.
    """
    _refuse_no_change(raw)
    outside = None if raw.region is None else changed_outside(*raw.images, raw.region)
    image_and_reference: dict[Side, tuple[Image, str]] = dict(
        zip(IMAGES, zip(raw.images, raw.references, strict=True), strict=True)
    )
    shown: list[Side] = list(IMAGES if first == "before" else reversed(IMAGES))
    if again:
        image_and_reference["again"] = (image_and_reference[first][0].reencoded(), image_and_reference[first][1])
        shown.append("again")
    for side in shown:
        image, reference = image_and_reference[side]
        pair = Pair(
            pair=raw.id,
            side=side,
            first=first,
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
            image=image,
            question=raw.question,
            reference=reference,
            kind=raw.kind,
            metadata=pair.model_dump(),
        )
        yield as_record(item, Sample), image


def _refuse_no_change(raw: RawPair) -> None:
    if not (raw.before.strip() or raw.after.strip()):
        raise InputError(f"pair '{raw.id}': nothing says what was changed; name it as it is in either image")
    if not differ(raw.before, raw.after):
        raise InputError(
            f"pair '{raw.id}': what was changed is {raw.before.strip()!r:.60} in both images; "
            "name it as it is in each, or leave the pair out"
        )


def levelled(thing: str) -> str:
    """A thing's words without letter case, outer marks and further blanks: those of equal things are equal."""
    return " ".join(thing.casefold().strip(" .,;:!?").split())


def differ(before: str, after: str) -> bool:
    """Whether two texts differ in more than letter case, blanks and outer marks, and so say what was changed."""
    return levelled(before) != levelled(after)


def pair_of(sample: Sample) -> Pair:
    """The pair that an item belongs to; InputError where it belongs to none."""
    try:
        return Pair.model_validate(sample.metadata)
    except ValidationError:
        raise InputError(f"item '{sample.id}' belongs to no pair; give a file of `cfeval edct pair-items`") from None


def changed_outside(before: Image, after: Image, region: Mask) -> float | None:
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
