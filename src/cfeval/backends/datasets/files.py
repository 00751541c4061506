"""Own images and questions, read where they lie: a CSV or JSONL file, or a folder of images.

Columns as of `cfeval edct import`, which files a copy of the images instead. Here a run reads the images themselves:
after a change to one of them, the samples are made again.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from cfeval.backends.datasets.base import Dataset
from cfeval.backends.registry import Diagnostic, PluginOptions
from cfeval.errors import InputError
from cfeval.io.frozen import as_frozen
from cfeval.io.own_data import Row, read_rows, sample_of
from cfeval.io.samples import RawSample
from cfeval.io.selection import chosen, listed


class Options(PluginOptions):
    """Where the images and questions are."""

    path: str
    """A .csv or .jsonl file, or a folder of images."""
    question: str = ""
    """Asked about every image that brings no question of its own; needed for a folder."""
    ids: str | None = None
    """A list of ids, plain or frozen: exactly those, in that order. Without it the seed draws."""


def files(options: Options) -> tuple[str, ...]:
    """The CSV or JSONL file and the images that it names, or the folder of images; the list of ids."""
    ids = (options.ids,) if options.ids else ()
    if Path(options.path).is_dir():
        return (f"{options.path.rstrip('/')}/", *ids)
    return (options.path, *_images(options), *ids)


def _images(options: Options) -> Iterator[str]:
    """The images of all rows; of a file that cannot be read none: it is told as such."""
    with contextlib.suppress(InputError):
        yield from dict.fromkeys(str(row.image) for row in read_rows(Path(options.path), options.question))


def examine(options: Options) -> Iterator[Diagnostic]:
    """Whether rows and ids can be read; images are read when they are taken."""
    if all(Path(file).exists() for file in (options.path, options.ids) if file):  # a missing file is told as such
        yield Diagnostic(True, f"items: {len(Files(options).known())}")


def build(options: Options) -> Dataset:
    """The data set."""
    return Files(options)


class Files:
    """Reads all rows, then the images of those that are taken."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def samples(self, items: int, seed: int) -> Iterator[RawSample]:
        """At most `items` samples: the listed ones, else a draw by seed.

        Raises:
            InputError: one line that names the row and what is wrong with it.
        """
        source, ids = Path(self.options.path), self.options.ids
        rows = self._rows()
        wanted = chosen(rows, items, seed, Path(ids) if ids else None, source)
        yield from as_frozen((sample_of(rows[item]) for item in wanted), ids)

    def known(self) -> list[str]:
        """The ids of all that can be taken; InputError like `samples`."""
        rows, ids = self._rows(), self.options.ids
        return listed(Path(ids), rows, self.options.path) if ids else list(rows)

    def _rows(self) -> dict[str, Row]:
        rows: dict[str, Row] = {}
        for row in read_rows(Path(self.options.path), self.options.question):
            if row.id in rows:
                raise InputError(f"{row.place}: id '{row.id}' stands at {rows[row.id].place} already; ids must differ")
            rows[row.id] = row
        return rows
