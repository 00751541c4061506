"""Samples that `cfeval edct import` filed: own images and questions."""

from collections.abc import Iterator
from pathlib import Path

from cfeval.backends.datasets.base import Dataset
from cfeval.backends.registry import PluginOptions
from cfeval.io.pictures import folder_of, load
from cfeval.io.records import read_jsonl
from cfeval.io.samples import RawSample
from cfeval.records.edct import Sample


class Options(PluginOptions):
    """Where the samples are."""

    path: str
    """The record file that the import wrote, such as data/mine.jsonl."""


def files(options: Options) -> tuple[str, ...]:
    """The record file; the pictures are named in it by their hashes."""
    return (options.path,)


def build(options: Options) -> Dataset:
    """The data set in a record file."""
    return Filed(Path(options.path))


class Filed:
    """Reads a record file; the seed changes nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def samples(self, items: int, seed: int) -> Iterator[RawSample]:
        """The first `items` samples of the file, in its order."""
        del seed
        for number, sample in enumerate(read_jsonl(self.path, Sample)):
            if number == items:
                return
            yield RawSample(
                id=sample.id,
                picture=load(folder_of(self.path), sample.image),
                question=sample.question,
                reference=sample.reference,
                kind=sample.kind,
                scene=sample.scene,
            )
