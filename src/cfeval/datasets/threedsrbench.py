"""3DSRBench: where things are in space and which way they face, asked about photographs, with two to four options.

- Data: version 1; 12 categories from height_higher to orientation_viewpoint; images of MS-COCO.
- Paper: Ma et al., 3DSRBench: A Comprehensive 3D Spatial Reasoning Benchmark (2024, arXiv:2412.07825).
- License: questions CC BY 4.0; images as COCO has them (Flickr's terms).
- Where: dataset ccvl/3DSRBench at Hugging Face. 3dsrbench_v1_vlmevalkit.tsv holds the images itself; the same table
  without them needs the column image_url and coco_images.zip unpacked (option `images`).

By rule:

1. Each question is taken once, as it was written. The other rows about it, with mirrored images or options in another
   order, have its id and a suffix (-flip, -1, -flip-1); they are left out.
2. The options stand behind the question without their letters, and the right answer is the text of the right option: a
   letter such as A is found in any answer.
"""

import base64
import binascii
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from cfeval.core import plugin
from cfeval.core.errors import InputError
from cfeval.core.images import Image, import_encoded, import_image
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import chosen
from cfeval.core.text_files import CsvFile
from cfeval.datasets.sample import Dataset, OwnImages, Part, RawSample, as_frozen

LETTERS = "ABCD"
COLUMNS = ("question", *LETTERS, "answer", "category")


class Plugin(OwnImages):
    """Where the files are."""

    path: str = plugin.file()
    """The table of questions (.tsv or .csv)."""
    images: str | None = plugin.folder(None)
    """The folder of images, where the table has only their addresses."""
    ids: str | None = plugin.file(None)
    """A list of ids, plain or frozen: exactly those, in that order. Without it the seed draws."""

    def read_by_item(self) -> tuple[str, ...]:
        """The folder of images."""
        return (f"{self.images.rstrip('/')}/",) if self.images else ()

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the images are where they should be."""
        if self.images:
            there = Path(self.images).is_dir()
            yield Diagnostic(
                there, f"{self.images}: " + ("images" if there else "no such folder; unpack the images there")
            )

    def build(self) -> Dataset:
        """The dataset."""
        return ThreeDSRBench(self)


class _Item(NamedTuple):
    question: str
    reference: str
    kind: str
    image: str
    """The last part of the image's address, where the table has one."""


class ThreeDSRBench:
    """Reads the table twice, so that only the images that are taken are held."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    def samples(self, items: int, seed: int, part: Part | None = None) -> Iterator[RawSample]:
        """At most `items` questions, each with its image: the listed ones, else a draw by seed.

        Raises:
            InputError: one line: the table is no such table, or an image is missing.
        """
        source, ids = Path(self.options.path), self.options.ids
        with closing(_rows(source)) as rows:
            available = {item: _item(place, row) for item, place, row in rows}
        part = part or Part()
        drawn = chosen(available, items, seed, Path(ids) if ids else None, source)
        wanted = dict.fromkeys(item for item in drawn if part.takes(item))
        held: dict[str, str] = {}  # images that the table holds, base64
        if not self.options.images:
            held = {item: row.get("image", "") for item, _, row in _rows(source) if item in wanted}
        yield from as_frozen((self._sample(item, available[item], held.get(item), part) for item in wanted), ids)

    def _sample(self, item: str, row: _Item, encoded: str | None, part: Part) -> RawSample:
        image = self._filed(item, row.image, part) if encoded is None else self._held(item, encoded)
        return RawSample(item, image, row.question, reference=row.reference, kind=row.kind)

    def _held(self, item: str, encoded: str) -> Image:
        place = f"{self.options.path}, {item}"
        if not encoded:
            raise InputError(f"{place}: no image in the table; set the option 'images' to the folder of COCO's images")
        try:
            return import_encoded(base64.b64decode(encoded, validate=True), place)
        except binascii.Error as error:
            raise InputError(f"{place}: the image is not base64 ({error}); take the file as it was released") from None

    def _filed(self, item: str, name: str, part: Part) -> Image:
        if not name:
            raise InputError(f"{self.options.path}, {item}: no image_url; leave the option 'images' out")
        folder = Path(str(self.options.images))
        path = folder / name
        if not path.is_file():
            raise InputError(f"{path}: no such image; set the option 'images' to the folder of COCO's images")
        image = self.options.checked(path, [folder], f"{self.options.path}, {item}")
        part.reads(image)
        return import_image(image)


def _rows(source: Path) -> Generator[tuple[str, str, Mapping[str, str]], None, None]:
    table = CsvFile(source, (), lambda row: row, strict=True)
    key = "qid" if "qid" in table.header else "index"
    missing = [column for column in (key, *COLUMNS) if column not in table.header]
    if missing:
        raise InputError(f"{source}: no column '{missing[0]}'; give 3dsrbench_v1_vlmevalkit.tsv as it was released")
    with closing(iter(table)) as rows:
        seen: set[str] = set()
        for row in rows:
            item = row.cells[key]
            if "-" in item:
                continue
            place = f"{source}, line {row.line}"
            if item in seen:
                raise InputError(f"{place}: question {item} stands there twice; take the file as it was released")
            seen.add(item)
            yield item, place, row.cells


def _item(place: str, row: Mapping[str, str]) -> _Item:
    options = {letter: row[letter].strip() for letter in LETTERS if row[letter].strip()}
    answer = row["answer"]
    if len(options) < 2 or answer not in options:
        allowed = ", ".join(options) or "none"
        raise InputError(f"{place}: the answer must be one of two to four options ({allowed}), but got {answer!r:.40}")
    question = f"{row['question'].strip()} Answer with one of these: {'; '.join(options.values())}."
    address = urlsplit(row.get("image_url") or "").path
    return _Item(question, options[answer], row["category"], Path(address).name)
