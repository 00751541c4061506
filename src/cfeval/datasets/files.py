"""Own images and questions, read where they lie or as they were filed: a CSV or JSONL file, or a folder of images.

Columns: `image` (a path, relative to the file), `question`; optional: `id` (else the row's number), `reference` (the
right answer), `kind`. `cfeval edct import` takes the same and files a copy of the images, which `FiledSamples` reads;
else a run reads the images themselves, and after a change to one of them the samples are made again.

An image that cannot be read is left out, which `init`, `doctor`, `estimate` and the report say; a list of `ids` and the
option `strict` refuse it. Images outside the folder of the file, or outside the folder of images, are refused.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from cfeval.core import plugin
from cfeval.core.errors import InputError, nearest
from cfeval.core.files import archive_of
from cfeval.core.ids import check_id, composed, ids_of
from cfeval.core.image_folders import (
    LeftOut,
    inside,
    left_out,
    list_images,
    not_a_file,
    read_fault,
    read_faults,
    summary,
)
from cfeval.core.images import folder_of, import_image, in_archive, load
from cfeval.core.jsonl import read_jsonl
from cfeval.core.record import uses
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import chosen, listed
from cfeval.core.text_files import csv_rows, parse_json, text_lines
from cfeval.datasets.sample import Dataset, OwnImages, Part, RawSample, Sample, as_frozen

_COLUMNS = ("id", "image", "question", "reference", "kind")
# Bytes of an id made of a file's name, at most; a hash may follow.
_LONGEST = 80


@dataclass(frozen=True)
class Row:
    """A sample without its image; `place` is where it stands, for errors."""

    place: str
    image: Path
    id: str
    question: str
    reference: str = ""
    kind: str = ""


class Plugin(OwnImages):
    """Where the images and questions are."""

    path: str
    """A .csv, .tsv or .jsonl file, or a folder of images."""
    question: str = ""
    """Asked about every image that brings no question of its own; needed for a folder."""
    ids: str | None = None
    """A list of ids, plain or frozen: exactly those, in that order. Without it the seed draws."""
    recursive: bool = False
    """Whether images in subfolders of the folder are taken too."""
    strict: bool = False
    """Whether an image that cannot be read ends the study; else it is left out, and said."""

    def dependencies(self) -> tuple[str, ...]:
        """The CSV or JSONL file and the images that it names, or the folder of images; the list of ids."""
        ids = (self.ids,) if self.ids else ()
        if Path(self.path).is_dir():
            return (f"{self.path.rstrip('/')}/", *ids)
        return (self.path, *self._images(), *ids)

    def read_by_item(self) -> tuple[str, ...]:
        """The images."""
        if Path(self.path).is_dir():
            return (f"{self.path.rstrip('/')}/",)
        return tuple(self._images())

    def diagnose(self) -> Iterator[Diagnostic]:
        """How many items can be used, and what is left out; every image is opened."""
        if all(Path(file).exists() for file in (self.path, self.ids) if file):  # a missing file is told as such
            files = Files(self)
            used, others = files.scan()
            files.refuse_losses(used, others)
            yield Diagnostic(True, f"items: {used}")
            if others:
                yield Diagnostic(True, f"{self.path}: {files.summary(used, others)}", warns=True)

    def build(self) -> Dataset:
        """The dataset."""
        return Files(self)

    def _images(self) -> Iterator[str]:
        """The images of all rows that are there; of a file that cannot be read none: it is told as such."""
        with suppress(InputError):
            images = dict.fromkeys(row.image for row in _table(Path(self.path), self.question))
            yield from (str(image) for image in images if not not_a_file(image))


class Files:
    """Reads all rows, then the images of those that are taken.

    `left_out` is what the last call of `samples` did not use.
    """

    def __init__(self, options: Plugin) -> None:
        self.options = options
        self.left_out: list[LeftOut] = []

    def samples(self, items: int, seed: int, part: Part | None = None) -> Iterator[RawSample]:
        """At most `items` rows, each with its image: the listed ones, else a draw by seed among those that can be used.

        Raises:
            InputError: one line: a row that cannot be used, two rows with the same id, like `chosen`, or no image left.
        """
        part = part or Part()
        rows, ids, source = self._rows(), self.options.ids, self.options.path
        if Path(source).is_dir():
            part.reads_names(source)
        self.left_out = [entry for entry in self.left_out if part.takes(entry.name)]
        if ids:
            taken = [rows[item] for item in chosen(rows, items, seed, Path(ids), source) if part.takes(item)]
            part.reads(*(row.image for row in taken))
            yield from as_frozen(map(sample_of, taken), ids)
        else:
            order = [rows[item] for item in chosen(rows, len(rows), seed, None, source)]
            yield from self.readable(order, items, part)

    def every(self) -> Iterator[RawSample]:
        """All rows that can be used, in their order; InputError like `samples`."""
        rows = self._rows()
        yield from self.readable(list(rows.values()), len(rows), Part())

    def readable(self, rows: Sequence[Row], items: int, part: Part) -> Iterator[RawSample]:
        """The first `items` rows whose image can be read, those of a part; its others before them are left out.

        An image that cannot be read makes room for a further row of whatever part: where there are further rows, the
        images of all parts are looked at.
        """
        given, own, of_others = 0, 0, list[Row]()
        for row in rows:
            if given == items:
                return
            if not part.takes(row.id):
                of_others.append(row)
                given += len(rows) <= items or self._is_readable(row, part)
                continue
            part.reads(*_may_be(row.image))
            try:
                sample = sample_of(row)
            except InputError:
                uses(*_may_be(row.image))  # once it is there, or mended, the samples are others
                self._leave_out(row)
                continue
            given, own = given + 1, own + 1
            yield sample
        used = own or any(self._is_readable(row, part) for row in of_others)
        if not used:
            self.left_out += [self._named(row, read_fault(row.image)) for row in of_others]
        self.refuse_losses(int(used), self.left_out)

    def _is_readable(self, row: Row, part: Part) -> bool:
        part.reads(*_may_be(row.image))
        return not read_fault(row.image)

    def count(self, items: int, seed: int) -> int:
        """How many samples `samples` gives; images are only checked. InputError like `samples`."""
        rows = self._rows()
        if self.options.ids:
            return len(listed(Path(self.options.ids), rows, self.options.path)[:items])
        readable = 0
        for item in chosen(rows, len(rows), seed, None, self.options.path):
            if readable == items:
                return readable
            if read_fault(rows[item].image):
                self._leave_out(rows[item])
            else:
                readable += 1
        self.refuse_losses(readable, self.left_out)
        return readable

    def scan(self) -> tuple[int, list[LeftOut]]:
        """How many items can be used, and what is left out: every image is opened. InputError like `samples`."""
        rows, ids = self._rows(), self.options.ids
        if ids:
            rows = {item: rows[item] for item in listed(Path(ids), rows, self.options.path)}
        _, broken = read_faults(list(dict.fromkeys(row.image for row in rows.values())))
        faults = dict(broken)
        used = [row for row in rows.values() if row.image not in faults]
        losses = [self._named(row, faults[row.image]) for row in rows.values() if row.image in faults]
        return len(used), [*losses, *self.left_out]

    def summary(self, used: int, others: Sequence[LeftOut]) -> str:
        """One line: how many items are used, and what is left out and why."""
        return summary(used, others, "image" if Path(self.options.path).is_dir() else "row")

    def refuse_losses(self, used: int, others: Sequence[LeftOut]) -> None:
        """Refuse to go on without an image, and with `strict`, or a list of ids, to go on without one of them.

        Raises:
            InputError: one line that says what is left out.
        """
        strict = self.options.strict or self.options.ids is not None
        if used and not (strict and any(entry.is_loss for entry in others)):
            return
        why = "no image can be used: " if not used else ""
        what = "" if not used else f"; {'take them out of the list' if self.options.ids else 'strict allows none'}"
        if not used and not others:
            raise InputError(f"{self.options.path}: holds no row, so there is no item to file")
        raise InputError(f"{self.options.path}: {why}{self.summary(used, others)}{what}")

    def _leave_out(self, row: Row) -> None:
        self.left_out.append(self._named(row, read_fault(row.image) or "broken image"))
        if self.options.strict:
            self.refuse_losses(1, self.left_out)

    def _named(self, row: Row, fault: str) -> LeftOut:
        source = Path(self.options.path)
        if source.is_dir():
            return left_out(row.image.relative_to(source), fault)
        name = row.image.relative_to(source.parent) if row.image.is_relative_to(source.parent) else row.image
        return left_out(name, fault)

    def _rows(self) -> dict[str, Row]:
        """All rows by id; sets `left_out` to what the folder holds besides."""
        rows: dict[str, Row] = {}
        all_rows, self.left_out = _read(self.options)
        for row in all_rows:
            if row.id in rows:
                raise InputError(f"{row.place}: id '{row.id}' stands at {rows[row.id].place} already; ids must differ")
            rows[row.id] = row
        return rows


def _may_be(image: Path) -> tuple[Path, ...]:
    """The image of a row, where it is a file or might become one; no pipe and no folder."""
    return (image,) if not_a_file(image) in ("", "no such file") else ()


def sample_of(row: Row) -> RawSample:
    """A row with its image; InputError where that is missing or no image."""
    try:
        image = import_image(row.image)
    except (InputError, ValueError) as error:
        raise InputError(f"{row.place}: {error}") from None
    return RawSample(row.id, image, row.question, reference=row.reference, kind=row.kind)


def _read(options: Plugin) -> tuple[Iterator[Row], list[LeftOut]]:
    """The rows of a CSV or JSONL file or of a folder of images, and what lies in the folder besides.

    Raises:
        InputError: one line that names the row and what is wrong with it.
    """
    source = Path(options.path)
    if source.is_dir():
        listing = list_images(source, options.recursive, options.allow_outside)
        if not listing.images:
            raise InputError(f"{source}: no images in this folder: {summary(0, listing.left_out)}")
        return _folder(source, listing.images, options.question), listing.left_out
    return (_inside(row, options) for row in _table(source, options.question)), []


def _inside(row: Row, options: Plugin) -> Row:
    if not options.allow_outside:
        inside(row.image, [Path(options.path).parent], row.place)
    return row


def _table(source: Path, question: str) -> Iterator[Row]:
    readers = {".csv": _csv, ".tsv": _csv, ".jsonl": _jsonl}
    if not source.exists():
        raise InputError(f"{source}: no such file or folder")
    if source.suffix.lower() not in readers:
        raise InputError(f"{source}: give a .csv, .tsv or .jsonl file or a folder of images")
    for place, row in readers[source.suffix.lower()](source):
        given = {column: value for column, value in row.items() if value is not None}
        yield _row(place, given | {"question": given.get("question") or question}, source)


def _folder(source: Path, images: Sequence[Path], question: str) -> Iterator[Row]:
    paths = [path.relative_to(source) for path in images]
    ids = ids_of({path.as_posix(): path.with_suffix("").as_posix() for path in paths}, _LONGEST, "image")
    for path in paths:
        yield _row(str(source / path), {"id": ids[path.as_posix()], "image": str(path), "question": question}, source)


def _csv(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in csv_rows(source):
        cells = {column: cell for column, cell in row.cells.items() if cell or column not in _COLUMNS}
        yield f"{source}, line {row.line}", {"id": f"{row.number:06d}"} | cells


def _jsonl(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text_lines(source), start=1):
        if not line.strip():
            continue
        place = f"{source}, line {number}"
        row = parse_json(line, place)
        if not isinstance(row, dict):
            raise InputError(f"{place}: an object with the keys {', '.join(_COLUMNS)} is needed")
        yield place, {"id": f"{number:06d}"} | {column: value for column, value in row.items() if value is not None}


def _row(place: str, row: dict[str, Any], source: Path) -> Row:
    for column, value in row.items():
        if column not in _COLUMNS:
            if not column:
                raise InputError(
                    f"{place}: a cell stands under a column without a name; name the column, or empty its cells"
                )
            raise InputError(f"{place}: unknown column {column!r}; {nearest(column, _COLUMNS)}")
        if not isinstance(value, str):
            raise InputError(f"{place}: {column} must be text, but got {value!r}")
    try:
        row["id"] = check_id(composed(row["id"]))
    except ValueError as error:
        raise InputError(f"{place}: {error}") from None
    if not row["question"].strip():
        raise InputError(
            f"{place}: the question is empty; fill it in, or give one for all (--question, or the option 'question')"
        )
    if not row.get("image") or "\0" in row["image"]:
        raise InputError(f"{place}: no image named; the column 'image' holds its path")
    base = source if source.is_dir() else source.parent
    return Row(place=place, image=base / row.pop("image"), **row)


class FiledSamples(plugin.Plugin):
    """Where the samples are."""

    path: str
    """The record file that the import wrote, such as data/mine.jsonl."""
    ids: str | None = None
    """A list of ids, plain or frozen: exactly those, in that order. Without it the file's first."""

    def dependencies(self) -> tuple[str, ...]:
        """The record file, the folder or archive of its images, and the list of ids."""
        folder = folder_of(Path(self.path))
        images = str(archive_of(folder)) if in_archive(folder) else f"{folder}/"
        return (self.path, images, *((self.ids,) if self.ids else ()))

    def read_by_item(self) -> tuple[str, ...]:
        """The folder of images; an archive is read as a whole."""
        return tuple(path for path in self.dependencies() if path.endswith("/"))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether records and ids can be read."""
        if all(Path(file).is_file() for file in (self.path, self.ids) if file):  # a missing file is told as such
            yield Diagnostic(True, f"items: {sum(1 for _ in self.build().available())}")

    def build(self) -> "Filed":
        """The dataset in a record file."""
        return Filed(Path(self.path), Path(self.ids) if self.ids else None)


class Filed:
    """Reads a record file; the seed changes nothing."""

    def __init__(self, path: Path, ids: Path | None = None) -> None:
        self.path, self.ids = path, ids

    def samples(self, items: int, seed: int, part: Part | None = None) -> Iterator[RawSample]:
        """At most `items` samples: the listed ones, else the first of the file, in its order."""
        del seed
        part = part or Part()
        with closing(self._each()) as each:
            taken = (sample for sample in islice(each, items) if part.takes(sample.id))
            opened = (self._opened(sample, part) for sample in taken)
            yield from as_frozen(opened, str(self.ids) if self.ids else None)

    def _each(self) -> Generator[Sample, None, None]:
        yield from self.available()

    def available(self) -> Iterable[Sample]:
        """The records of all that can be taken, in order; InputError where they or the ids cannot be read."""
        samples = read_jsonl(self.path, Sample)
        if self.ids is None:
            return samples
        available = {sample.id: sample for sample in samples}
        return [available[item] for item in listed(self.ids, available, self.path)]

    def _opened(self, sample: Sample, part: Part) -> RawSample:
        folder = folder_of(self.path)
        if not in_archive(folder):
            part.reads(folder / sample.image.path)
        return RawSample(
            id=sample.id,
            image=load(folder, sample.image),
            question=sample.question,
            reference=sample.reference,
            answers=sample.answers,
            scorer=sample.scorer,
            kind=sample.kind,
            metadata=sample.metadata,
        )
