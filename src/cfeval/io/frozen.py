"""Frozen sets: a list of ids, each with the SHA-256 of what its sample shows and asks, as `sha256sum` writes files."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cfeval.errors import InputError
from cfeval.io.atomic import write_text
from cfeval.io.pictures import Picture
from cfeval.io.samples import RawSample
from cfeval.io.selection import read_list
from cfeval.records.edct import Sample


def content_hash(sample: Sample | RawSample, picture: Picture) -> str:
    """The SHA-256 of a sample's content: question, pixels, right answer, people's answers and how they are compared.

    Pixels, not the file: how a PNG is packed differs from machine to machine.
    """
    pixels = picture.pixels
    image = hashlib.sha256(pixels.tobytes()).hexdigest()
    content = [sample.question, pixels.shape, image, sample.reference, sample.answers, sample.scoring]
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
        if frozen.get(sample.id) and content_hash(sample, sample.picture) != frozen[sample.id]:
            raise InputError(
                f"{ids}: '{sample.id}' is not what was frozen (its question, image or right answer is another one); "
                "bring the data back, or select and freeze again"
            )
        yield sample
