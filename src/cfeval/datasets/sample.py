"""What every dataset offers, and samples as they are filed: their records, and images named by content.

Frozen sets: a list of ids, each with the SHA-256 of what its sample shows and asks, as `sha256sum` writes files.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypeVar

import typer
from pydantic import Field, ValidationError

from cfeval.core import images, plugin
from cfeval.core.cli_options import existing
from cfeval.core.errors import InputError
from cfeval.core.files import write_text
from cfeval.core.image_folders import LeftOut, inside
from cfeval.core.images import Image
from cfeval.core.jsonl import first_fault
from cfeval.core.record import uses, uses_names
from cfeval.core.records import ImageRef, ItemId, Metadata, Record
from cfeval.core.sampling import read_list
from cfeval.core.shards import file_with_images, shard_of
from cfeval.core.streams import StreamingLookup

# How an answer is compared with the right one: see `Sample.scorer`.
ScorerName = Literal["contains", "vqa", "okvqa"]
R = TypeVar("R", bound=Record)


class Sample(Record):
    """An image and a question about it (samples.jsonl)."""

    id: ItemId
    image: ImageRef
    question: str = Field(min_length=1, pattern=r"\S")
    reference: str = ""
    """The right answer, where it is known; used for accuracy only."""
    answers: tuple[str, ...] = ()
    """What each of the people said who were asked; VQA and OK-VQA have ten a question."""
    scorer: ScorerName = "contains"
    """What the accuracy of an answer rests on. contains: whether `reference` stands in it; vqa, okvqa: how many of
    `answers` it equals (`cfeval.datasets.answer_scoring`)."""
    kind: str = ""
    """The kind of question, where the dataset tells."""
    metadata: Metadata | None = None
    """What the dataset keeps beside the image, such as the record of a drawn scene. Of editors, only those that
    need it get it."""


@dataclass(frozen=True)
class RawSample:
    """A sample before it is filed: see `cfeval.datasets.sample.Sample` for the fields."""

    id: str
    image: Image
    question: str
    reference: str = ""
    answers: tuple[str, ...] = ()
    scorer: ScorerName = "contains"
    kind: str = ""
    metadata: Metadata | None = None


class Raw(Protocol):
    """What is filed with an image, before it is: it has all fields of its record but the reference to the image."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def image(self) -> Image:
        """Its image."""


@dataclass
class Part:
    """The items of a dataset that one step files: those of a shard, or all.

    Attributes:
        shard, shards: which of how many.
        offered: how many items there were to take or leave.
    """

    shard: int = 0
    shards: int = 1
    offered: int = 0

    def takes(self, item: str) -> bool:
        """Whether an item, by its id, is one of them; images of the others need not be opened."""
        self.offered += 1
        return self.shards == 1 or shard_of(item, self.shards) == self.shard

    def reads(self, *images: str | Path) -> None:
        """Say that images are about to be opened: the record of a shard names its own alone."""
        if self.shards > 1:
            uses(*images)

    def reads_names(self, folder: str | Path) -> None:
        """Say that the items follow from the names of a folder's files."""
        if self.shards > 1:
            uses_names(folder)


class Dataset(Protocol):
    """A dataset."""

    def samples(self, items: int, seed: int) -> Iterator[RawSample]:
        """At most `items` samples; the same arguments give the same samples.

        Where it has a third argument, `part: Part | None = None`, it gives those samples that the part takes, opens
        only their images, and says so by `part.reads`. Without it every shard's step has it give all.
        """
        ...


SamplesFile = Annotated[
    Path,
    typer.Option(
        "--samples", callback=existing, help="Items (JSONL); their images are in the folder or archive next to it."
    ),
]


def samples_of(source: Dataset, items: int, seed: int, part: Part) -> Iterator[RawSample]:
    """The samples that a part takes of those that a dataset draws.

    Raises:
        InputError: the dataset has none at all; like its `samples`.
    """
    by_part = "part" in signature(source.samples).parameters
    raws = source.samples(items, seed, part) if by_part else source.samples(items, seed)  # type: ignore[call-arg]
    yield from (raw for raw in raws if by_part or part.takes(raw.id))
    if not part.offered:
        raise InputError("there is no item to file; the dataset is empty")


def file_samples(
    path: Path,
    raws: Iterable[RawSample],
    shards: int = 1,
    archive: bool = False,
    left_out: Callable[[], Sequence[LeftOut]] = tuple,
    may_be_empty: bool = False,
) -> None:
    """File every sample and its image; see `cfeval.core.shards.file_with_images`.

    Raises:
        InputError: two samples have the same id, one cannot be filed, or there is none.
    """
    filed = ((as_record(raw, Sample), raw.image) for raw in raws)
    items = ((sample.id, sample, {sample.image.path: image}) for sample, image in filed)
    file_with_images(path, items, shards, archive, left_out, may_be_empty)


def left_out_by(source: object) -> Sequence[LeftOut]:
    """What a dataset, or a set of pairs or questions, did not use when it was last read; most use all or refuse."""
    return list(getattr(source, "left_out", ()))


def name_left_out(others: Iterable[LeftOut]) -> None:
    """Say on stderr, which is the step's log, what was left out: a line each."""
    for entry in others:
        print(f"left out: {entry.name}: {entry.why or entry.kind}", file=sys.stderr)


def as_record(raw: Raw, kind: type[R]) -> R:
    """The record of what has images. An image is named by its content, so that equal ones are one file.

    Raises:
        InputError: it cannot be one, such as where its id is no file name.
    """
    fields = {name: _filed(getattr(raw, name)) for name in kind.model_fields}
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise InputError(f"{kind.__name__.lower()} {raw.id!r}: {first_fault(error)}") from None


def _filed(value: object) -> object:
    """A field as the record has it: of images their references."""
    if isinstance(value, Image):
        return value.ref(f"{value.sha256[:32]}.png")
    return tuple(map(_filed, value)) if isinstance(value, tuple) else value


def content_hash(sample: Sample | RawSample, image: Image) -> str:
    """The SHA-256 of a sample's content: question, pixels, right answer, people's answers and how they are compared.

    Pixels, not the file: how a PNG is packed differs from machine to machine.
    """
    pixels = image.pixels
    digest = hashlib.sha256(pixels.tobytes()).hexdigest()
    content = [sample.question, pixels.shape, digest, sample.reference, sample.answers, sample.scorer]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def write_set(path: Path, hashes: Mapping[str, str]) -> None:
    """Write a frozen set, an id and its hash a line, in the order given."""
    write_text(path, "".join(f"{item}  {digest}\n" for item, digest in hashes.items()))


def as_frozen(samples: Iterable[RawSample], ids: str | None) -> Iterator[RawSample]:
    """Pass samples through that are what the list `ids` froze; a plain list of ids freezes nothing.

    Raises:
        InputError: one line that names the first that differs.
    """
    frozen = {item: line.sha256 for item, line in read_list(Path(ids)).items()} if ids else {}
    for sample in samples:
        if frozen.get(sample.id) and content_hash(sample, sample.image) != frozen[sample.id]:
            raise InputError(
                f"{ids}: '{sample.id}' is not what was frozen (its question, image or right answer is another one); "
                "bring the data back, or select and freeze again"
            )
        yield sample


def samples_by_id(path: Path) -> StreamingLookup[str, Sample]:
    """The samples of a file."""
    return StreamingLookup(path, Sample, lambda record: record.id)


def originals(samples: Path) -> Callable[[Sample], Image]:
    """How to open a sample's image."""
    folder = images.folder_of(samples)
    return lambda sample: images.load(folder, sample.image)


class OwnImages(plugin.Plugin):
    """The options that every set of images read from files has."""

    allow_outside: bool = False
    """Whether images may lie outside the set's folder, also by a link; a hosted model would be sent them."""

    def checked(self, image: Path, folders: Sequence[Path], place: str) -> Path:
        """An image itself; InputError where it lies in none of the folders and that is not allowed."""
        return image if self.allow_outside else inside(image, folders, place)
